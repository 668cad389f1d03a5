# demo, test, check, bench: each sets up what it needs, once: .venv, made by the python3 found (3.11 or newer).
PYTHON ?= python3
VENV := .venv
READY := $(VENV)/.armbroker-ready

.PHONY: demo test check bench
demo: $(READY)
	$(VENV)/bin/armbroker demo

test: $(READY)
	scripts/test

check: $(READY)
	scripts/check

bench: $(READY)
	for each in bench/*.py; do echo "== $$each" && $(VENV)/bin/python "$$each" || exit; done

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is older than 3.11: make PYTHON=/path/to/python3.11 ..."; exit 1; }
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,demo]'
	touch $@
