"""The loss is the mean over supervised tokens, and on CPU no logits of any other are computed."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import trl.trainer.utils

from core.prompt_spec import PromptSpec
from core.records import read_records
from tests.train.pico_training import make_folder, records, train
from train.arguments import parse_arguments
from train.dataset import MASKED, encode
from train.load import load_model, load_tokenizer
from train.trainer import JudgeTrainer


def test_a_step_over_all_rows_is_the_mean_over_their_supervised_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_folder(tmp_path)
    model, tokenizer = load_model(tmp_path / "base"), load_tokenizer(tmp_path / "base")
    total, tokens = 0.0, 0
    for row in encode(read_records(tmp_path / "train.jsonl"), tokenizer, PromptSpec(), "training").dataset:
        labels = torch.tensor(row["labels"][1:])
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([row["input_ids"]])).logits[0, :-1]
        total += float(torch.nn.functional.cross_entropy(logits, labels, ignore_index=MASKED, reduction="sum"))
        tokens += int((labels != MASKED).sum())

    positions = []
    head = trl.trainer.utils._ChunkedLogProbFunction

    class Watched:
        @staticmethod
        def apply(hidden: torch.Tensor, *rest: Any) -> Any:
            positions.append(hidden.shape[0])
            return head.apply(hidden, *rest)

    monkeypatch.setattr(trl.trainer.utils, "_ChunkedLogProbFunction", Watched)
    output = train(tmp_path, "out", max_steps=1, per_device_train_batch_size=16, save_strategy="no")
    (logged,) = [
        entry["loss"]
        for entry in json.loads((output / "trainer_state.json").read_text())["log_history"]
        if "loss" in entry
    ]
    assert logged == pytest.approx(total / tokens, abs=1e-4)
    assert positions == [tokens]


@pytest.mark.parametrize("strategy", ["group_by_length", "random"])
def test_languages_that_come_file_by_file_are_mixed(strategy: str, tmp_path: Path) -> None:
    make_folder(tmp_path)
    tokenizer = load_tokenizer(tmp_path / "base")
    dataset = encode(
        [*records(range(10, 20)), *records(range(20, 30), "fr")], tokenizer, PromptSpec(), "training"
    ).dataset
    flags = {"model_name_or_path": "base", "train_file": "t", "output_dir": tmp_path / "out"}
    flags |= {"train_sampling_strategy": strategy, "per_device_train_batch_size": 4}
    arguments = parse_arguments([word for name, value in flags.items() for word in (f"--{name}", str(value))])
    trainer = JudgeTrainer(
        arguments, model=load_model(tmp_path / "base"), train_dataset=dataset, processing_class=tokenizer
    )
    french = [
        "Name 2" in tokenizer.decode(row) for batch in trainer.get_train_dataloader() for row in batch["input_ids"]
    ]
    assert (len(french), sum(french)) == (80, 40)
    # Each quarter of an epoch has both.
    assert all(2 <= sum(french[start : start + 20]) <= 18 for start in range(0, 80, 20))
