"""A pico model and a few records to train it on: the verdict's score is the number of colours in the response."""

from pathlib import Path
from typing import Any

from core.records import JudgeRecord, write_records
from tests import pico
from tests.core.records_for_tests import record
from train.arguments import parse_arguments
from train.sft import main


def records(items: range, language: str = "hi") -> list[JudgeRecord]:
    return [
        record(
            id=f"q{item}-{language}-s{score}",
            item_id=f"q{item}",
            language=language,
            instruction=f"Name {item} colours.",
            response="red " * score,
            feedback="good feedback." if score > 2 else "bad feedback.",
            score=score,
        )
        for item in items
        for score in (1, 2, 4, 5)
    ]


def make_folder(folder: Path, **model: Any) -> Path:
    """base/ (the model), train.jsonl (16 rows, 4 of them French) and validation.jsonl (4 rows)."""
    pico.save(folder / "base", **model)
    write_records([*records(range(3)), *records(range(3, 4), "fr")], folder / "train.jsonl")
    write_records(records(range(9, 10)), folder / "validation.jsonl")
    return folder


def train(folder: Path, output: str, **changes: Any) -> Path:
    """Run train.sft in this process on a folder that ``make_folder`` made; a field of None is left out."""
    fields: dict[str, Any] = {
        "model_name_or_path": folder / "base",
        "train_file": folder / "train.jsonl",
        "output_dir": folder / output,
        "per_device_train_batch_size": 4,
        "learning_rate": 1e-2,
        "max_steps": 4,
        "logging_steps": 1,
        "gradient_checkpointing": False,
        "lora_dropout": 0.0,
    }
    fields |= changes
    main(
        parse_arguments(
            [word for name, value in fields.items() if value is not None for word in (f"--{name}", str(value))]
        )
    )
    return folder / output
