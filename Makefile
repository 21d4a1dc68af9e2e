# Four targets are enough to start: setup, run, test, bench. The others are for daily work.
# `make run` and `make test` install everything themselves.

PYTHON ?= python3
UV_VERSION := 0.13.9
PY := .venv/bin/python
UV := .venv/bin/uv
WORKERS := --numprocesses=2 --dist=loadscope --no-loadscope-reorder

# Lists the targets.
help:
	@sed -n 's/^\([a-z-]*\):.*/  make \1/p' Makefile | sort -u

.PHONY: help setup run test test-fast pure coverage bench lab hops kills lint fix chromium lock clean sbom images schema contract

setup: .venv/.done node_modules/.done

.venv/.done: uv.lock
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("middle-core needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Set PYTHON=/path/to/python3.11.")'
	test -x $(PY) || $(PYTHON) -m venv .venv
	$(PY) -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	$(UV) export --quiet --frozen --all-extras --no-emit-project --output-file .venv/requirements.txt
	$(UV) pip install --quiet --python $(PY) --require-hashes --requirements .venv/requirements.txt
	touch $@

node_modules/.done: package-lock.json
	node -e 'if (+process.versions.node.split(".")[0] < 20) { console.error("middle-core needs Node 20 or newer; this is " + process.version); process.exit(1) }'
	npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	touch $@

# The page is built again only when something of it changed: not for its tests, and not for what Next and TypeScript write beside it.
# Of the graph page's modules the chat's panel takes those that fold and lay out a run's graph.
PAGE_SOURCES := package.json package-lock.json $(wildcard middle_core/graph_page/*.js) $(shell find frontend_core -type f -not -path '*/.next/*' -not -path '*/testing/*' \
	-not -name '*.test.ts' -not -name '*.test.tsx' -not -name next-env.d.ts -not -name '*.tsbuildinfo' 2>/dev/null)

frontend_core/.next/.done: node_modules/.done $(PAGE_SOURCES)
	npm run --silent build
	touch $@

run: setup frontend_core/.next/.done
	$(PY) -m middle_core dev

# Everything: rules, types, unit, contracts, scenarios, the page in a real browser. Two workers, a module at a time, in the order of the
# folders: the slow ones come first. Each worker with browser tests has a site and a browser of its own.
test: lint frontend_core/.next/.done chromium hops pure
	npm run --silent test:unit
	$(PY) -m pytest $(WORKERS) -m "not e2e"
	$(PY) -m pytest $(WORKERS) -m e2e

# Every branch of the pure packages has to be reached by their own tests. The laws of the gate run in `make test`; here they add nothing.
PURE := middle_core/agui/*,middle_core/eventlog/*,middle_core/events.py,middle_core/errors.py
pure: setup
	$(PY) -m coverage run --data-file=.coverage.pure -m pytest --quiet --ignore=tests/unit/agui/test_gate_laws.py \
		tests/unit/agui tests/unit/eventlog tests/unit/test_events.py
	$(PY) -m coverage report --data-file=.coverage.pure --include='$(PURE)' --fail-under=100

# What all tests but the browser's reach of middle_core, the servers that they start included. A report without a limit.
coverage: setup frontend_core/.next/.done hops
	$(PY) -m coverage erase
	$(PY) -m coverage run --parallel-mode -m pytest $(WORKERS) -m "not e2e"
	$(PY) -m coverage combine --quiet
	$(PY) -m coverage report

# The quick part of `make test`.
test-fast: setup
	$(PY) -m pytest $(WORKERS) -m "not slow" tests/architecture tests/unit tests/contracts

lint: setup
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	.venv/bin/lint-imports
	$(PY) -m mypy
	$(PY) -m infra.checks
	npm run --silent typecheck
	npm run --silent lint

fix: setup
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

bench: setup frontend_core/.next/.done chromium
	$(PY) -m benchmarks

# Envoy as Container Apps' ingress, nginx and HAProxy in front of Next and middle-core; writes the table in infra/ingress-lab/README.md.
lab: frontend_core/.next/.done hops
	$(PY) -m pytest --lab-table tests/integration

# Finds nginx, HAProxy and PgBouncer: the system's, or Debian's packages unpacked into .lab/. If there are none, it says what will not be tested.
hops: setup
	@$(PY) -m tests.integration.hops

# Writes the published schemas and the golden bytes of /chat from the code; see tests/schema.py.
schema: setup
	$(PY) -m tests.schema

# Writes the contract of middle_core/contract for TypeScript and for the graph page; see tests/typescript.py.
contract: setup
	$(PY) -m tests.typescript

# Shows what other versions of the CopilotKit SDK would change. Not part of `make test`. See docs/drift.md.
drift: setup
	$(PY) -m tests.corpus.drift $(VERSIONS)

# kill -9 around approved actions, fifty times at each point of time; `make test` does ten. Takes ten minutes on two cores.
kills: setup
	$(PY) -m tests.scenarios.kills

# Finds a Chromium: an installed one, Debian's if we are root, or Playwright's own. If there is none, it says what to run.
chromium: setup
	@$(PY) -m tests.e2e.chromium

# Writes what the images hold as CycloneDX bills of materials, from the lock files. npm marks what is not shipped as `development`.
# It is not left out, because npm would then also leave out React, which a development tool needs as well.
sbom: .venv/.done
	mkdir -p .sbom
	$(UV) export --quiet --frozen --no-dev --all-extras --no-emit-project --format cyclonedx1.5 --output-file .sbom/middle_core.cdx.json
	npm sbom --package-lock-only --sbom-format cyclonedx > .sbom/frontend_core.cdx.json

# Needs buildah, and a registry with the base images.
images:
	buildah build --file infra/images/middle_core.Dockerfile --tag middle-core/api .
	buildah build --file infra/images/frontend_core.Dockerfile --tag middle-core/web .

# The lock file keeps versions and hashes, but no addresses, so it installs from whichever index is configured.
lock:
	$(UV) lock
	sed -i -E -e 's|source = \{ registry = "[^"]+" \}|source = { registry = "." }|' -e 's|url = "[^"]*/([^/"]+)"|path = "\1"|' uv.lock

clean:
	rm -rf .venv .coverage* .drift .sbom .lab node_modules frontend_core/.next .data
