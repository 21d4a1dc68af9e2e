# The targets a person needs: setup, run, test, bench. The rest is for daily work.
# `make run` and `make test` do all of the set-up themselves.

PYTHON ?= python3
UV_VERSION := 0.13.9
PY := .venv/bin/python
UV := .venv/bin/uv

.PHONY: setup run test test-fast bench lint fix lock clean

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

# The lock file keeps versions and hashes, not addresses: it installs from whichever index is configured.
lock:
	$(UV) lock
	sed -i -E -e 's|source = \{ registry = "[^"]+" \}|source = { registry = "." }|' -e 's|url = "[^"]*/([^/"]+)"|path = "\1"|' uv.lock

clean:
	rm -rf .venv node_modules frontend_core/.next .data
