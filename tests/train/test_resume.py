"""A training that was killed or told to stop goes on to the weights, bit for bit, of one that never was."""

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from safetensors.torch import load_file
from transformers import TrainerCallback

from core.errors import Interrupted, RunFolderError
from core.records import write_records
from core.run import read_manifest
from tests.train.pico_training import make_folder, records, train
from train.checkpoint import SEAL, is_complete, last_checkpoint, seal
from train.resumable import EpochOrder

# 6 records in batches of 2: 3 steps an epoch. 7 steps end in the middle of one.
LONG: dict[str, Any] = {"max_steps": 7, "save_steps": 1, "save_total_limit": 20, "per_device_train_batch_size": 2}
SETTINGS: dict[str, dict[str, Any]] = {
    "full": {"learning_rate": 1e-3, "validation_file": "validation.jsonl", "eval_strategy": "epoch",
             "train_sampling_strategy": "random", "validation_samples": 0},
    "LoRA": {"use_peft": True, "lora_r": 4, "lora_dropout": 0.2, "per_device_train_batch_size": 1,
             "gradient_accumulation_steps": 2},
}  # fmt: skip


class Whole(NamedTuple):
    """A run that was never stopped, with all of its checkpoints, and what it was told."""

    run: Path
    settings: dict[str, Any]


@pytest.fixture(scope="module", params=SETTINGS)
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    folder = make_folder(tmp_path_factory.mktemp("whole"), attention_dropout=0.2)
    write_records(records(range(2))[:6], folder / "train.jsonl")
    write_records(records(range(9, 10))[:2], folder / "validation.jsonl")
    settings = LONG | SETTINGS[request.param]
    if "validation_file" in settings:
        settings["validation_file"] = folder / "validation.jsonl"
    return Whole(train(folder, "whole", **settings), settings)


def crash(run: Path, step: int, output: str) -> Path:
    """The folder as a kill after the given step leaves it."""
    crashed = run.parent / output
    shutil.copytree(run, crashed)
    for path in crashed.glob("*"):
        if path.is_dir() and int(path.name.split("-")[1]) > step:
            shutil.rmtree(path)
        elif path.is_file() and path.name != "manifest.json":
            path.unlink()
    manifest = json.loads((crashed / "manifest.json").read_text())
    (crashed / "manifest.json").write_text(json.dumps({**manifest, "status": "running"}))
    return crashed


def weights(run: Path) -> dict[str, torch.Tensor]:
    (file,) = run.glob("*model.safetensors")
    return load_file(file)


def steps(run: Path) -> list[int]:
    log = json.loads((run / "trainer_state.json").read_text())["log_history"]
    return [entry["step"] for entry in log if "loss" in entry]


def assert_same(run: Path, other: Path) -> None:
    ours, theirs = weights(run), weights(other)
    assert ours.keys() == theirs.keys()
    assert [name for name in ours if not torch.equal(ours[name], theirs[name])] == []


# In the first epoch, at its end, in a later one, and after the last step but before the judge was saved.
@pytest.mark.parametrize("step", [1, 3, 5, 7])
def test_a_killed_run_goes_on_to_the_same_weights(step: int, whole: Whole) -> None:  # case 12
    run = whole.run
    resumed = train(run.parent, crash(run, step, f"killed-{step}").name, if_exists="resume", **whole.settings)
    assert_same(resumed, run)
    assert steps(resumed) == list(range(1, 8))
    evaluated = figures(resumed, "eval_loss")
    if step == 7 and evaluated:
        assert evaluated.pop() == evaluated[-1]  # measured anew by the process that saves the judge
    assert evaluated == figures(run, "eval_loss")


def test_a_run_told_to_stop_saves_says_how_to_go_on_and_does(whole: Whole, monkeypatch: pytest.MonkeyPatch) -> None:
    told = {1: signal.SIGTERM, 5: signal.SIGUSR1}  # in the middle of an epoch; in the last step of one

    def tell(self: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if number := told.pop(state.global_step, None):
            os.kill(os.getpid(), number)

    monkeypatch.setattr(TrainerCallback, "on_step_begin", tell)
    settings = whole.settings | {"save_strategy": "epoch", "save_total_limit": 1}
    settings.pop("save_steps")
    folder = whole.run.parent
    for step in (2, 6):
        with pytest.raises(Interrupted, match=f"after step {step} of 7, with a checkpoint; .* --if_exists resume"):
            train(folder, "told", if_exists="resume", **settings)
        manifest = read_manifest(folder / "told")
        assert manifest is not None
        assert manifest["status"] == "interrupted"
        assert [path.name for path in (folder / "told").glob("checkpoint-*")] == [f"checkpoint-{step}"]
    assert_same(train(folder, "told", if_exists="resume", **settings), whole.run)
    assert figures(folder / "told", "eval_loss") == figures(whole.run, "eval_loss")
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_another_number_of_processes_is_another_run(whole: Whole, monkeypatch: pytest.MonkeyPatch) -> None:
    crashed = crash(whole.run, 3, "processes")
    manifest = json.loads((crashed / "manifest.json").read_text())
    assert manifest["config"]["num_processes"] == 1
    manifest["config"]["num_processes"] = 2
    (crashed / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(RunFolderError, match=r"other config \(num_processes\), so it cannot be resumed"):
        train(whole.run.parent, crashed.name, if_exists="resume", **whole.settings)


def cut(checkpoint: Path) -> None:
    os.truncate(checkpoint / "shard" / "optimizer.pt", 5)


def lose(checkpoint: Path) -> None:  # killed while an old checkpoint was being removed
    (checkpoint / "model.safetensors").unlink()


def unseal(checkpoint: Path) -> None:  # killed before all was on disk
    (checkpoint / SEAL).unlink()


def cut_seal(checkpoint: Path) -> None:
    os.truncate(checkpoint / SEAL, 4)


@pytest.mark.parametrize("damage", [cut, lose, unseal, cut_seal])
def test_a_checkpoint_cut_off_by_a_crash_does_not_count_and_goes(
    damage: Callable[[Path], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for step in (9, 10, 11):
        checkpoint = tmp_path / f"checkpoint-{step}"
        (checkpoint / "shard").mkdir(parents=True)
        (checkpoint / "model.safetensors").write_bytes(bytes(8))
        (checkpoint / "shard" / "optimizer.pt").write_bytes(bytes(9))
        (checkpoint / "trainer_state.json").write_text("{}")
        seal(checkpoint)
        assert is_complete(checkpoint)
    damage(tmp_path / "checkpoint-11")
    assert last_checkpoint(tmp_path) == str(tmp_path / "checkpoint-10")
    assert not (tmp_path / "checkpoint-11").exists()
    assert "checkpoint-11 was not written to its end; removed" in capsys.readouterr().out
    assert last_checkpoint(tmp_path / "checkpoint-10") is None


def test_the_order_of_records_follows_from_seed_and_epoch_alone() -> None:
    epoch = 0
    order = EpochOrder(50, seed=7, epoch=lambda: epoch)
    first = list(order)
    assert sorted(first) == list(range(50))
    torch.rand(3)
    assert list(order) == first
    epoch = 1
    assert list(order) != first
    assert list(order) != list(EpochOrder(50, seed=8, epoch=lambda: 1))


def figures(run: Path, name: str) -> list[float]:
    log = json.loads((run / "trainer_state.json").read_text())["log_history"]
    return [entry[name] for entry in log if name in entry]
