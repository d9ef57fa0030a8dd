# The whole developer interface; BUILD.md explains each command.
# A path with a space in it is fine: every recipe runs in the checkout's own directory.

PYTHON ?= python3
PYTHON_LEGACY ?= python3.11
VENV := .venv
VENV_LEGACY := .venv-legacy
WORKERS ?= 2

.PHONY: demo test test-legacy check format benchmarks clean

demo: $(VENV)/.installed
	$(VENV)/bin/python -m estimator_io.cli.main demo $(DEMO_ARGS)

test: $(VENV)/.installed check
	$(VENV)/bin/python -m pytest -n $(WORKERS) $(PYTEST_ARGS)

test-legacy: $(VENV_LEGACY)/.installed
	$(VENV_LEGACY)/bin/ruff format --check .
	$(VENV_LEGACY)/bin/ruff check .
	$(VENV_LEGACY)/bin/python -m pyright --pythonpath $(VENV_LEGACY)/bin/python
	$(VENV_LEGACY)/bin/python -m pytest -n $(WORKERS) $(PYTEST_ARGS)

check: $(VENV)/.installed
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/python -m pyright --pythonpath $(VENV)/bin/python

format: $(VENV)/.installed
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix .

benchmarks: $(VENV)/.installed
	$(VENV)/bin/python -m benchmarks.overlap

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --upgrade pip
	$(VENV)/bin/python -m pip install --quiet --editable '.[dev]'
	touch $@

# Newer pyarrow and pandas want NumPy 2, and TensorFlow 2.15 wants NumPy 1; newer
# tensorflow-metadata wants a newer protobuf than TensorFlow 2.15 takes, without telling pip.
$(VENV_LEGACY)/.installed: pyproject.toml
	$(PYTHON_LEGACY) -m venv $(VENV_LEGACY)
	$(VENV_LEGACY)/bin/python -m pip install --quiet --upgrade pip
	$(VENV_LEGACY)/bin/python -m pip install --quiet --editable '.[dev]' 'tensorflow==2.15.1' 'pyarrow<22' 'pandas<3' 'tensorflow-metadata<1.16'
	touch $@

clean:
	rm -rf $(VENV) $(VENV_LEGACY) build dist *.egg-info .pytest_cache .ruff_cache
