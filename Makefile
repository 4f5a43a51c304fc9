# Each target sets up .venv by itself. `make quickstart` and `make test` are all a newcomer needs.
PYTHON ?= python3
PY := .venv/bin/python
export TOKENIZERS_PARALLELISM := false
export DS_BUILD_OPS := 0

.PHONY: setup quickstart test test-slow lint bench soak clean

setup: .venv/.ready

.venv/.ready: requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(PY) -m pip install --quiet --upgrade "setuptools>=77" wheel
	$(PY) -m pip install --quiet --constraint requirements.lock --editable ".[dev]"
	touch $@

test: setup
	$(PY) -m pytest -m "not slow"

test-slow: setup
	$(PY) -m pytest -m slow

lint: setup
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

bench: setup
	for script in tests/benchmarks/bench_*.py; do $(PY) $$script; done

clean:
	rm -rf runs build
