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
	$(PY) -m pytest -m "not slow"

test-slow: setup
	$(PY) -m pytest -m slow

lint: setup
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

# The main job on a small real model: every line below is a command of the README, printed before it runs.
QS := runs/quickstart
quickstart: setup
	$(PY) -m data_prep.convert --config configs/quickstart/records.yaml
	$(PY) -m train.embedded --output_dir $(QS)/base
	$(PY) -m train.sft --config configs/quickstart/train.yaml --language hi
	$(PY) -m train.sft --config configs/quickstart/train.yaml --language fr
	$(PY) -m merge.fold --adapter $(QS)/experts/hi --output_dir $(QS)/hi-full --if_exists overwrite
	$(PY) -m merge.fold --adapter $(QS)/experts/fr --output_dir $(QS)/fr-full --if_exists overwrite
	$(PY) -m merge.run --config configs/quickstart/linear.yaml
	$(PY) -m merge.run --config configs/quickstart/ties.yaml
	$(PY) -m eval.judge --config configs/quickstart/judge.yaml --model_name_or_path $(QS)/base --chat_template gemma --judge base --output $(QS)/judge-base
	$(PY) -m eval.judge --config configs/quickstart/judge.yaml --model_name_or_path $(QS)/hi-full --judge hi --min_scored 0.8 --output $(QS)/judge-hi
	$(PY) -m eval.judge --config configs/quickstart/judge.yaml --model_name_or_path $(QS)/fr-full --judge fr --min_scored 0.8 --output $(QS)/judge-fr
	$(PY) -m eval.judge --config configs/quickstart/judge.yaml --model_name_or_path $(QS)/linear --output $(QS)/judge-linear
	$(PY) -m eval.judge --config configs/quickstart/judge.yaml --model_name_or_path $(QS)/ties --output $(QS)/judge-ties
	$(PY) -m eval.agree --config configs/quickstart/agree.yaml
	$(PY) -m eval.directions --config configs/quickstart/directions.yaml --source hi --output $(QS)/directions-hi
	$(PY) -m eval.directions --config configs/quickstart/directions.yaml --source fr --output $(QS)/directions-fr
	$(PY) -m eval.summaries --config configs/quickstart/summaries.yaml
	$(PY) -m eval.report --config configs/quickstart/report.yaml

bench: setup
	for script in tests/benchmarks/bench_*.py; do $(PY) $$script; done

clean:
	rm -rf runs build
