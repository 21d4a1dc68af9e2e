# The targets a person needs: setup, run, test, bench. The rest is for daily work.
# `make run` and `make test` do all of the set-up themselves.

PYTHON ?= python3
UV_VERSION := 0.13.9
PY := .venv/bin/python
UV := .venv/bin/uv
WORKERS := --numprocesses=2 --dist=loadscope --no-loadscope-reorder

# What there is.
help:
	@sed -n 's/^\([a-z-]*\):.*/  make \1/p' Makefile | sort -u

.PHONY: help setup run test test-fast bench lab hops kills lint fix chromium lock clean sbom images schema contract

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
PAGE_SOURCES := package.json package-lock.json $(shell find frontend_core -type f -not -path '*/.next/*' -not -path '*/testing/*' \
	-not -name '*.test.ts' -not -name '*.test.tsx' -not -name next-env.d.ts -not -name '*.tsbuildinfo' 2>/dev/null)

frontend_core/.next/.done: node_modules/.done $(PAGE_SOURCES)
	npm run --silent build
	touch $@

run: setup frontend_core/.next/.done
	$(PY) -m middle_core dev

# Everything: rules, types, unit, contracts, scenarios, the page in a real browser. Two workers, a module at a time, in the order of the
# folders: the slow ones come first. Each worker with browser tests has a site and a browser of its own.
test: lint frontend_core/.next/.done chromium hops
	npm run --silent test:unit
	$(PY) -m pytest $(WORKERS) -m "not e2e"
	$(PY) -m pytest $(WORKERS) -m e2e

# The quick part, below a minute.
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

# nginx and HAProxy of the system, else Debian's packages unpacked into .lab/; else it says what will not be tested.
hops: setup
	@$(PY) -m tests.integration.hops

# The published schemas and the golden bytes of /chat, made again from the code; see tests/schema.py.
schema: setup
	$(PY) -m tests.schema

# The contract of middle_core/contract, again as browsers read it; see tests/typescript.py.
contract: setup
	$(PY) -m tests.typescript

# What other versions of the CopilotKit SDK would change; not part of `make test`. See docs/drift.md.
drift: setup
	$(PY) -m tests.corpus.drift $(VERSIONS)

# kill -9 around approved actions, fifty times for each window; `make test` has ten. Ten minutes on two cores.
kills: setup
	$(PY) -m tests.scenarios.kills

# An installed Chromium, else Debian's where we are root, else Playwright's own; else it says what to run.
chromium: setup
	@$(PY) -m tests.e2e.chromium

# What the images hold, as CycloneDX bills of materials, from the lock files alone. npm's says `development` of what is not shipped;
# left out, it would leave out React, too, which a development tool needs as well.
sbom: .venv/.done
	mkdir -p .sbom
	$(UV) export --quiet --frozen --no-dev --all-extras --no-emit-project --format cyclonedx1.5 --output-file .sbom/middle_core.cdx.json
	npm sbom --package-lock-only --sbom-format cyclonedx > .sbom/frontend_core.cdx.json

# Needs buildah, and a registry with the bases.
images:
	buildah build --file infra/images/middle_core.Dockerfile --tag middle-core/api .
	buildah build --file infra/images/frontend_core.Dockerfile --tag middle-core/web .

# The lock file keeps versions and hashes, not addresses: it installs from whichever index is configured.
lock:
	$(UV) lock
	sed -i -E -e 's|source = \{ registry = "[^"]+" \}|source = { registry = "." }|' -e 's|url = "[^"]*/([^/"]+)"|path = "\1"|' uv.lock

clean:
	rm -rf .venv .drift .sbom .lab node_modules frontend_core/.next .data
