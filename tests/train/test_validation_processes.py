"""Verdicts during training under accelerate launch: two processes, weights whole or sharded, write those of one process."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from core.records import Prediction, read_rows, write_records
from tests.eval.pico_judge import RECORDS, SPEC, save_judge
from tests.train.pico_training import records, train
from tests.train.test_launch import CPU, SHARDED, launch

CONFIGS = {"ddp": CPU, **SHARDED}


@pytest.mark.slow
@pytest.mark.parametrize("use_peft", [False, True])
@pytest.mark.parametrize("kind", CONFIGS)
def test_two_processes_write_the_verdicts_of_one(kind: str, use_peft: bool, tmp_path: Path) -> None:
    if kind.startswith("zero") and find_spec("deepspeed") is None:
        pytest.skip("the extra `deepspeed` is not installed")
    save_judge(tmp_path / "base")  # so that the verdicts differ from prompt to prompt
    write_records(records(range(4)), tmp_path / "train.jsonl")
    known = [one.model_copy(update={"feedback": "good feedback."}) for one in RECORDS]
    write_records([*known, known[0].model_copy(update={"id": "again"})], tmp_path / "validation.jsonl")
    # In float32, so that rounding parts no verdicts.
    config = yaml.safe_load(CONFIGS[kind].read_text()) | {"num_processes": 2, "use_cpu": True, "mixed_precision": "no"}
    (tmp_path / "two.yaml").write_text(yaml.safe_dump(config))

    # Five prompts in batches of two: one process has two batches, the other one and joins in a second. The second
    # evaluation follows a step, with checkpointing on in training.
    settings: dict[str, Any] = {"eval_strategy": "steps", "eval_steps": 1, "max_steps": 2, "save_strategy": "no"}
    settings |= {
        "validation_file": tmp_path / "validation.jsonl",
        "per_device_eval_batch_size": 2,
        "use_peft": use_peft,
    }
    settings |= {"reference": "none", "max_length": SPEC.max_length, "max_new_tokens": 12, "learning_rate": 1e-6}
    settings |= {"gradient_checkpointing": True, "bf16": False}
    one = train(tmp_path, "one", per_device_train_batch_size=4, **settings)
    status, said = launch(tmp_path, tmp_path / "two.yaml", "two", per_device_train_batch_size=2, **settings)
    assert status == 0, said
    alone, together = (read_rows(output / "validation.jsonl", Prediction) for output in (one, tmp_path / "two"))
    assert [(row.id, row.raw) for row in together] == [(row.id, row.raw) for row in alone]
    assert [row.score for row in together] == [1, 4, 5, 2, 1]
