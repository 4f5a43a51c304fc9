# Each target sets up .venv by itself. `make quickstart` and `make test` are all a newcomer needs.
PYTHON ?= python3
PY := .venv/bin/python
export TOKENIZERS_PARALLELISM := false
export DS_BUILD_OPS := 0
# Spinning OpenMP threads slow each other down many times over when a core is taken by something else.
export OMP_WAIT_POLICY := passive

.PHONY: setup quickstart test test-slow lint bench soak clean

setup: .venv/.ready

.venv/.ready: requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(PY) -m pip install --quiet --upgrade "setuptools>=77" wheel
	$(PY) -m pip install --quiet --constraint requirements.lock --editable ".[dev]"
	touch $@

test: setup
	$(PY) -m pytest -m "not slow and not soak"

test-slow: setup
	$(PY) -m pytest -m slow

lint: setup
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

quickstart: setup
	$(PY) configs/quickstart/run.py

bench: setup
	for script in tests/benchmarks/bench_*.py; do $(PY) $$script || exit 1; done

soak: setup
	$(PY) -m pytest -m soak

clean:
	rm -rf runs build
