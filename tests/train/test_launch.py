"""Under accelerate launch: two processes train as one does, one makes the folder, and both hear of wrong input."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml
from safetensors.torch import load_file

from core.errors import DataError
from tests.conftest import REPO
from tests.train.pico_training import make_folder
from train.check import check_checkpoint
from train.launch import on_main, open_run

SETTINGS = {
    "model_name_or_path": "base",
    "train_file": "train.jsonl",
    "max_steps": 8,
    "learning_rate": 1e-3,
    "lora_dropout": 0.0,
    "logging_steps": 1,
    "save_strategy": "no",
}


def launch(folder: Path, launcher: list[str], **changes: Any) -> subprocess.CompletedProcess[str]:
    fields = SETTINGS | changes
    flags = [word for name, value in fields.items() for word in (f"--{name}", str(value))]
    return subprocess.run(
        [sys.executable, *launcher, "-m", "train.sft", *flags],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPO), "OMP_NUM_THREADS": "1", "DS_ACCELERATOR": "cpu"},
        capture_output=True,
        text=True,
        timeout=300,
    )


def accelerate(config: Path) -> list[str]:
    return ["-m", "accelerate.commands.launch", "--config_file", str(config)]


def losses(folder: Path) -> list[float]:
    log = json.loads((folder / "trainer_state.json").read_text())["log_history"]
    return [entry["loss"] for entry in log if "loss" in entry]


def test_one_process_is_the_main_one(tmp_path: Path) -> None:
    def refuse() -> None:
        raise DataError("no rows")

    assert on_main(lambda: 3) == 3
    with pytest.raises(DataError, match="no rows"):
        on_main(refuse)
    with open_run(tmp_path / "run", "train.sft", {}) as run:
        assert not run.resumed
    assert (tmp_path / "run" / "manifest.json").is_file()


@pytest.mark.slow
def test_two_processes_train_to_the_loss_of_one(tmp_path: Path) -> None:
    make_folder(tmp_path)
    one = launch(tmp_path, [], output_dir="one", per_device_train_batch_size=4)
    assert one.returncode == 0, one.stderr
    two = launch(
        tmp_path, accelerate(REPO / "configs/accelerate/cpu.yaml"), output_dir="two", per_device_train_batch_size=2
    )
    assert two.returncode == 0, two.stderr
    assert len(losses(tmp_path / "two")) == 8
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "one"), abs=1e-3)
    assert losses(tmp_path / "two")[-1] < losses(tmp_path / "two")[0] - 0.1
    assert two.stdout.count("first example, read by the model") == 1  # only rank 0 speaks
    weights = load_file(tmp_path / "two" / "model.safetensors")
    for name, tensor in load_file(tmp_path / "one" / "model.safetensors").items():
        assert (weights[name] - tensor).abs().max() < 1e-3, name


@pytest.mark.slow
@pytest.mark.skipif(find_spec("deepspeed") is None, reason="the extra `deepspeed` is not installed")
@pytest.mark.parametrize("use_peft", [False, True])
def test_zero3_on_two_processes_saves_whole_weights(
    use_peft: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = yaml.safe_load((REPO / "accelerate_config.yaml").read_text()) | {"num_processes": 2, "use_cpu": True}
    (tmp_path / "zero3.yaml").write_text(yaml.safe_dump(config))
    make_folder(tmp_path)
    settings = {"use_peft": use_peft, "learning_rate": 1e-2 if use_peft else 1e-3}
    done = launch(
        tmp_path, accelerate(tmp_path / "zero3.yaml"), output_dir="z", per_device_train_batch_size=2, **settings
    )
    assert done.returncode == 0, done.stderr
    one = launch(tmp_path, [], output_dir="one", per_device_train_batch_size=4, **settings)
    assert one.returncode == 0, one.stderr
    assert losses(tmp_path / "z") == pytest.approx(losses(tmp_path / "one"), abs=1e-2)  # bf16 against float32
    assert check_checkpoint(tmp_path / "z").tensors == (28 if use_peft else 21)
    name = "adapter_model.safetensors" if use_peft else "model.safetensors"
    saved, expected = load_file(tmp_path / "z" / name), load_file(tmp_path / "one" / name)
    assert {key: tensor.shape for key, tensor in saved.items()} == {
        key: tensor.shape for key, tensor in expected.items()
    }


@pytest.mark.slow
def test_wrong_input_is_said_once_and_no_process_goes_on(tmp_path: Path) -> None:
    make_folder(tmp_path)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "thesis.tex").touch()
    done = launch(tmp_path, accelerate(REPO / "configs/accelerate/cpu.yaml"), output_dir="taken")
    assert done.returncode != 0
    assert done.stderr.count("error: output taken exists; name another") == 1
    assert [path.name for path in (tmp_path / "taken").iterdir()] == ["thesis.tex"]
