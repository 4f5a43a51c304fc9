"""What reaches the model after trl's packing and collating: every verdict whole, or the run stops."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from datasets import Dataset
from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

from core.chat import stop_token_id
from core.prompt_spec import PromptSpec
from tests import pico
from tests.train.pico_training import make_folder, records
from train.arguments import parse_arguments
from train.dataset import MASKED, encode
from train.load import load_model, load_tokenizer
from train.received import check_received, learned
from train.trainer import JudgeTrainer

COLLATE = DataCollatorForLanguageModeling(0)
STOP = 6


def encoded() -> Dataset:
    return encode(records(range(3)), pico.tokenizer(), PromptSpec(), "training").dataset


def changed(change: Any) -> Dataset:
    rows = [dict(row) for row in encoded()]
    change(rows)
    return Dataset.from_list(rows)


def test_verdicts_are_runs_of_supervised_tokens() -> None:
    # Two verdicts, 7 6 and 8 6, and one cut before its stop token 6: five tokens.
    assert learned(np.array([-100, 7, 6, -100, -100, 8, 6, -100, 9]), 6) == (3, 2, 5)


def test_examples_pass_as_they_were_made() -> None:
    check_received(encoded(), COLLATE, encoded(), STOP)


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        (lambda rows: rows[1].update(labels=[MASKED] * len(rows[1]["labels"])), "11 verdicts (11 whole)"),  # case 2
        (lambda rows: rows.pop(), "11 verdicts (11 whole)"),  # case 2
        (
            lambda rows: rows[0].update({name: rows[0][name][:-2] for name in rows[0]}),
            "12 verdicts (11 whole)",
        ),  # case 1
        (lambda rows: rows[0].update(labels=rows[0]["input_ids"]), "12 verdicts (12 whole)"),  # case 3: more to learn
    ],
)
def test_a_lost_cut_or_unmasked_example_stops_the_run(change: Any, seen: str) -> None:
    with pytest.raises(RuntimeError, match=f"12 examples have .*{seen}".replace("(", r"\(").replace(")", r"\)")):
        check_received(changed(change), COLLATE, encoded(), STOP)


def test_a_collator_that_masks_the_stop_token_stops_the_run() -> None:  # case 6
    def as_by_pad_id(rows: list[dict[str, Any]]) -> dict[str, Any]:
        batch = COLLATE(rows)
        batch["labels"][batch["labels"] == STOP] = MASKED
        return batch

    with pytest.raises(RuntimeError, match=r"12 verdicts \(0 whole\)"):
        check_received(encoded(), as_by_pad_id, encoded(), STOP)


def test_packing_keeps_every_verdict_and_keeps_records_apart(tmp_path: Path) -> None:  # cases 1 and 2
    make_folder(tmp_path)
    tokenizer = load_tokenizer(tmp_path / "base")
    dataset = encoded()
    longest = max(map(len, dataset["input_ids"]))
    # No room to spare: the longest record fills a packed row by itself.
    flags = {"packing": True, "attn_implementation": "flash_attention_2", "max_length": max(longest, 513)}
    flags |= {"model_name_or_path": "base", "train_file": "t", "output_dir": tmp_path / "out"}
    arguments = parse_arguments([word for name, value in flags.items() for word in (f"--{name}", str(value))])
    trainer = JudgeTrainer(
        arguments, model=load_model(tmp_path / "base"), train_dataset=dataset, processing_class=tokenizer
    )
    check_received(trainer.train_dataset, trainer.data_collator, dataset, stop_token_id(tokenizer))
    assert sum(map(len, trainer.train_dataset["seq_lengths"])) == 12
    batch = trainer.data_collator(list(trainer.train_dataset))
    assert (batch["position_ids"] == 0).sum() == 12  # each record starts anew


def test_packing_that_cuts_is_found(tmp_path: Path) -> None:
    from trl import pack_dataset

    shorter = min(map(len, encoded()["input_ids"]))
    cut = pack_dataset(encoded(), shorter, "bfd")
    with pytest.raises(RuntimeError, match="12 examples have"):
        check_received(cut, DataCollatorForLanguageModeling(0, padding_free=True), encoded(), STOP)
