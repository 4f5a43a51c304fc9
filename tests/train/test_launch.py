"""Under accelerate launch: two processes train as one does, save whole weights, stop and go on together, fail together."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
import yaml
from safetensors.torch import load_file

from core.errors import DataError
from core.run import read_manifest
from tests.conftest import REPO
from tests.train.pico_training import make_folder, train
from train.checkpoint import is_complete
from train.launch import on_main, open_run

# 16 records, 4 a step: 4 steps an epoch.
SETTINGS: dict[str, Any] = {
    "max_steps": 8,
    "save_steps": 3,
    "learning_rate": 1e-3,
    "lora_dropout": 0.0,
    "logging_steps": 1,
    "per_device_train_batch_size": 2,
}
CPU = REPO / "configs/accelerate/cpu.yaml"
SHARDED = {
    "zero2": REPO / "configs/accelerate/zero2.yaml",
    "zero3": REPO / "accelerate_config.yaml",
    "fsdp2": REPO / "configs/accelerate/fsdp2.yaml",
}


def start(folder: Path, config: Path, output: str, **changes: Any) -> "subprocess.Popen[bytes]":
    """Start a training of two processes under accelerate launch; what it says goes to OUTPUT.log."""
    fields = {"model_name_or_path": "base", "train_file": "train.jsonl", "output_dir": output, **SETTINGS, **changes}
    flags = [word for name, value in fields.items() for word in (f"--{name}", str(value))]
    with open(folder / f"{output}.log", "wb") as log:
        return subprocess.Popen(
            [
                sys.executable,
                "-m",
                "accelerate.commands.launch",
                "--config_file",
                str(config),
                "-m",
                "train.sft",
                *flags,
            ],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(REPO), "OMP_NUM_THREADS": "1", "DS_ACCELERATOR": "cpu"},
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def launch(folder: Path, config: Path, output: str, **changes: Any) -> tuple[int, str]:
    """The exit status of a training, and what it said."""
    status = start(folder, config, output, **changes).wait(timeout=600)
    return status, (folder / f"{output}.log").read_text()


def wait_for(text: str, folder: Path, output: str, seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while text not in (folder / f"{output}.log").read_text():
        assert time.monotonic() < end, (folder / f"{output}.log").read_text()
        time.sleep(0.02)


def losses(run: Path) -> list[float]:
    log = json.loads((run / "trainer_state.json").read_text())["log_history"]
    return [entry["loss"] for entry in log if "loss" in entry]


def weights(run: Path) -> dict[str, torch.Tensor]:
    (file,) = run.glob("*model.safetensors")
    return load_file(file)


def assert_same(run: Path, other: Path) -> None:
    ours, theirs = weights(run), weights(other)
    assert [name for name in theirs if not torch.equal(ours[name], theirs[name])] == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("launch"))


@pytest.fixture(scope="module")
def one(folder: Path) -> Callable[[bool], Path]:
    """The run of a single process, full or LoRA, made when first asked for."""

    def run(use_peft: bool) -> Path:
        output = folder / f"one-{use_peft}"
        changes = {"per_device_train_batch_size": 4, "save_strategy": "no", "use_peft": use_peft}
        return output if output.exists() else train(folder, output.name, **SETTINGS | changes)

    return run


@pytest.fixture(scope="module")
def two(folder: Path) -> Path:
    """The run of two processes, full."""
    status, said = launch(folder, CPU, "two")
    assert status == 0, said
    assert said.count("first example, read by the model") == 1  # only rank 0 speaks
    return folder / "two"


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
def test_two_processes_train_to_the_loss_of_one(two: Path, one: Callable[[bool], Path]) -> None:
    assert len(losses(two)) == 8
    assert losses(two) == pytest.approx(losses(one(False)), abs=1e-3)
    assert losses(two)[-1] < losses(two)[0] - 0.1
    expected = weights(one(False))
    for name, tensor in weights(two).items():
        assert (expected[name] - tensor).abs().max() < 1e-3, name


@pytest.mark.slow
def test_sigterm_to_the_launcher_saves_and_both_go_on_to_the_same_weights(two: Path) -> None:
    folder = two.parent
    process = start(folder, CPU, "told")
    wait_for("train: step 4/8", folder, "told")  # the next step is in the second epoch
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=120) != 0
    said = (folder / "told.log").read_text()
    (step,) = re.findall(
        r"stopped as asked after step (\d) of 8, with a checkpoint; .* --if_exists resume goes on", said
    )
    manifest = read_manifest(folder / "told")
    assert manifest is not None
    assert manifest["status"] == "interrupted"
    assert is_complete(folder / "told" / f"checkpoint-{step}")
    status, said = launch(folder, CPU, "told", if_exists="resume")
    assert status == 0, said
    assert f"resume: goes on from told/checkpoint-{step}" in said
    assert_same(folder / "told", two)


@pytest.mark.slow
def test_where_one_of_two_is_killed_the_other_ends_with_a_message(folder: Path) -> None:
    process = start(folder, CPU, "orphan", max_steps=10_000, save_strategy="no")
    wait_for("train: step 1/", folder, "orphan")
    ranks = {child.environ()["RANK"]: child for child in psutil.Process(process.pid).children()}
    killed = time.monotonic()
    ranks["1"].kill()
    assert process.wait(timeout=60) != 0
    assert time.monotonic() - killed < 60
    assert not ranks["0"].is_running()
    assert f"Signal 9 (SIGKILL) received by PID {ranks['1'].pid}" in (folder / "orphan.log").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("use_peft", [False, True], ids=["full", "LoRA"])
@pytest.mark.parametrize("strategy", SHARDED)
def test_shared_out_training_has_the_loss_of_one_process_and_saves_whole_weights(
    strategy: str, use_peft: bool, folder: Path, one: Callable[[bool], Path]
) -> None:
    if strategy != "fsdp2" and find_spec("deepspeed") is None:
        pytest.skip("the extra `deepspeed` is not installed")
    config, output = folder / f"{strategy}.yaml", f"{strategy}-{use_peft}"
    values = yaml.safe_load(SHARDED[strategy].read_text()) | {"num_processes": 2, "use_cpu": True}
    config.write_text(yaml.safe_dump(values))
    status, said = launch(folder, config, output, use_peft=use_peft)
    assert status == 0, said
    run = folder / output
    assert losses(run) == pytest.approx(losses(one(use_peft)), abs=1e-2)  # bf16 against float32
    saved, expected = weights(run), weights(one(use_peft))
    assert {name: tensor.shape for name, tensor in saved.items()} == {
        name: tensor.shape for name, tensor in expected.items()
    }
    # A weight moves by up to the learning rate a step; those that never move have another value than one process gave.
    for name, tensor in saved.items():
        assert (tensor.float() - expected[name]).abs().max() < 8 * 1e-3, name
    assert f"checked {output}: {28 if use_peft else 21} tensors finite" in said
    if (strategy, use_peft) not in (("zero3", False), ("fsdp2", True)):  # the others resumed alike when tried
        return
    shutil.copytree(run, folder / "kept")
    shutil.rmtree(run / "checkpoint-8")
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps({**manifest, "status": "running"}))
    status, said = launch(folder, config, output, use_peft=use_peft, if_exists="resume")
    assert status == 0, said
    assert f"resume: goes on from {output}/checkpoint-6" in said  # in the middle of the second epoch
    assert_same(run, folder / "kept")
    shutil.rmtree(folder / "kept")


@pytest.mark.slow
def test_wrong_input_is_said_once_and_no_process_goes_on(folder: Path) -> None:
    (folder / "taken").mkdir()
    (folder / "taken" / "thesis.tex").touch()
    status, said = launch(folder, CPU, "taken")
    assert status == 1  # the launcher's, whatever its processes ended with
    assert said.count("error: output taken exists; name another") == 1
    assert "exitcode  : 2" in said
    assert [path.name for path in (folder / "taken").iterdir()] == ["thesis.tex"]
