# demo, test, check, bench, site: each sets up what it needs, once: .venv, made by the python3 found (3.11 or newer), and for
# the tests .venv-ros, where the ROS library is kept apart from everything else.
PYTHON ?= python3
VENV := .venv
ROS_VENV := .venv-ros
PIP := -m pip install --quiet --disable-pip-version-check

.PHONY: demo test check bench site
demo: $(VENV)/.ready
	$(VENV)/bin/armbroker demo

test: $(VENV)/.ready-dev $(ROS_VENV)/.ready
	scripts/check
	scripts/test

check: $(VENV)/.ready-dev
	scripts/check

site: $(VENV)/.ready-dev
	$(VENV)/bin/mkdocs build --strict

bench: $(VENV)/.ready-dev $(ROS_VENV)/.ready
	for each in bench/*.py; do echo "== $$each" && PYTHONPATH=. $(VENV)/bin/python "$$each" || exit; done

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is older than 3.11: make PYTHON=/path/to/python3.11 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.ready: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python $(PIP) --editable '.[demo]'
	touch $@

$(VENV)/.ready-dev: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python $(PIP) --editable '.[dev,demo,plot,top]'
	touch $@ $(VENV)/.ready

$(ROS_VENV)/.ready: Makefile
	$(PYTHON) -m venv $(ROS_VENV)
	$(ROS_VENV)/bin/python $(PIP) 'ros-rclpy[fastrtps]'
	touch $@
