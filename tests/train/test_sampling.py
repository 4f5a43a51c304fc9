"""Length-grouped batches: like lengths together, every row once an epoch, the same order in every process."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from datasets import Dataset

from core.prompt_spec import PromptSpec
from core.records import read_records
from tests.conftest import REPO
from tests.train.pico_training import make_folder, records
from train.arguments import parse_arguments
from train.dataset import encode
from train.load import load_model, load_tokenizer
from train.sampling import LengthGroupedOrder, lengths_of
from train.trainer import JudgeTrainer

LENGTHS = np.random.default_rng(0).lognormal(6.5, 0.5, 1000).astype(int)


def useful_share(order: list[int], batch: int) -> float:
    batches = [LENGTHS[order[start : start + batch]] for start in range(0, len(order), batch)]
    return float(LENGTHS[order].sum() / sum(lengths.max() * len(lengths) for lengths in batches))


def test_every_row_once_an_epoch_in_an_order_that_follows_from_seed_and_epoch() -> None:
    epoch = 0
    order = LengthGroupedOrder(LENGTHS, group=4, seed=1, epoch=lambda: epoch)
    first = list(order)
    assert sorted(first) == list(range(1000))
    assert len(order) == 1000
    assert list(order) == first
    epoch = 1
    assert list(order) != first
    assert list(LengthGroupedOrder(LENGTHS, 4, seed=2, epoch=lambda: 0)) != first


def test_batches_hold_little_padding_and_a_step_of_many_is_of_all_lengths() -> None:
    order = list(LengthGroupedOrder(LENGTHS, group=4, seed=0, epoch=lambda: 0))
    assert useful_share(order, 4) > 0.95
    assert useful_share(np.random.default_rng(0).permutation(1000).tolist(), 4) < 0.75
    # Of 64 records drawn at random the mean length scatters by 1/8 of their scatter; of 64 of one length, by all of it.
    means = [LENGTHS[order[start : start + 64]].mean() for start in range(0, 960, 64)]
    assert np.std(means) < 0.35 * LENGTHS.std()


def test_the_longest_record_comes_first_and_an_incomplete_batch_last() -> None:
    lengths = np.array([5, 1, 2, 9, 3, 4, 8])
    order = list(LengthGroupedOrder(lengths, group=2, seed=3, epoch=lambda: 0))
    # Sorted 9 8 5 4 3 2 1: groups {9, 8}, {5, 4}, {3, 2}, and 1 is left.
    assert sorted(lengths[order[:2]]) == [8, 9]
    assert lengths[order[-1]] == 1
    assert {tuple(sorted(lengths[order[at : at + 2]])) for at in (2, 4)} == {(4, 5), (2, 3)}


def test_fewer_rows_than_a_batch() -> None:
    assert sorted(LengthGroupedOrder(np.array([3, 1, 2]), group=8, seed=0, epoch=lambda: 0)) == [0, 1, 2]


def test_lengths_are_those_of_the_rows_also_of_a_selection() -> None:
    dataset = Dataset.from_dict({"input_ids": [[1, 2, 3], [1], [1, 2]]})
    assert lengths_of(dataset).tolist() == [3, 1, 2]
    assert lengths_of(dataset.select([2, 0])).tolist() == [2, 3]


def trainer(folder: Path, *flags: str) -> JudgeTrainer:
    base = folder / "base"
    given = ["--model_name_or_path", str(base), "--train_file", str(folder / "train.jsonl")]
    arguments = parse_arguments([*given, "--output_dir", str(folder / "out"), "--report_to", "none", *flags])
    tokenizer = load_tokenizer(base)
    rows = [*read_records(folder / "train.jsonl"), *records(range(20, 24))]
    longer = [row.model_copy(update={"response": row.response * (1 + 5 * (at % 4))}) for at, row in enumerate(rows)]
    dataset = encode(longer, tokenizer, PromptSpec(), "training").dataset
    return JudgeTrainer(arguments, model=load_model(base), train_dataset=dataset, processing_class=tokenizer)


def padding(batches: list[Any]) -> float:
    return float(np.mean([(batch["attention_mask"] == 0).float().mean() for batch in batches]))


@pytest.mark.filterwarnings("ignore")
def test_the_trainer_groups_by_default_and_takes_each_row_once(tmp_path: Path) -> None:
    make_folder(tmp_path)
    grouped = trainer(tmp_path, "--per_device_train_batch_size", "4")
    batches = list(grouped.get_train_dataloader())
    read = sorted(tuple(row[mask == 1].tolist()) for batch in batches for row, mask in zip(batch["input_ids"], batch["attention_mask"], strict=True))  # fmt: skip
    assert read == sorted(tuple(row) for row in grouped.train_dataset["input_ids"])
    random = trainer(tmp_path, "--per_device_train_batch_size", "4", "--train_sampling_strategy", "random")
    assert padding(batches) < 0.5 * padding(list(random.get_train_dataloader()))


ONE_OF_TWO = """
import json, os, sys, torch
from pathlib import Path
from tests.train.test_sampling import trainer
trained = trainer(Path(sys.argv[1]), "--per_device_train_batch_size", "2", "--use_cpu", "true")
epochs = []
for epoch in (0.0, 1.0):
    torch.rand(7 * int(os.environ["RANK"]))  # as dropout does, the processes draw unequally
    trained.state.epoch = epoch
    loader = trained.get_train_dataloader()
    epochs.append([[row[mask == 1].tolist() for row, mask in zip(batch["input_ids"], batch["attention_mask"])] for batch in loader])
Path(sys.argv[1], f"rank{os.environ['RANK']}.json").write_text(json.dumps(epochs))
"""


@pytest.mark.slow
def test_two_processes_share_the_rows_and_wait_little_for_each_other(tmp_path: Path) -> None:
    make_folder(tmp_path)  # 16 rows, and 16 more in trainer()
    (tmp_path / "one.py").write_text(ONE_OF_TWO)
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "29537"]
    done = subprocess.run(
        [*command, str(tmp_path / "one.py"), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(REPO), "OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    first, second = (json.loads((tmp_path / f"rank{rank}.json").read_text()) for rank in (0, 1))
    orders = []
    for ours, theirs in zip(first, second, strict=True):
        rows = [tuple(row) for batch in [*ours, *theirs] for row in batch]
        assert len(rows) == len(set(rows)) == 32
        orders.append(rows)
        # Taken at the same moment, batches of both processes are of like length.
        apart = [abs(max(map(len, one)) - max(map(len, other))) for one, other in zip(ours, theirs, strict=True)]
        assert np.mean(apart) < 0.1 * np.std([len(row) for row in rows])
    assert orders[0] != orders[1]
    assert set(orders[0]) == set(orders[1])
