"""What can go wrong while a judge is trained: the process is killed, the disk is full, the Hub refuses the model."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import torch
from safetensors.torch import load_file

from core.errors import ConfigError, ModelError
from core.records import write_records
from core.run import read_manifest
from tests.conftest import REPO
from tests.hub_server import HubServer
from tests.train.doomed import train_until_doom
from tests.train.pico_training import make_folder, records
from tests.train.pico_training import train as run_training
from train import arguments as train_arguments
from train.checkpoint import is_complete
from train.load import check_model

# 6 records in batches of 2: 3 steps an epoch.
SETTINGS: dict[str, Any] = {
    "per_device_train_batch_size": 2,
    "max_steps": 5,
    "save_steps": 2,
    "save_total_limit": 1,
    "learning_rate": 1e-3,
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing happened to; its base and data stand beside it."""
    folder = make_folder(tmp_path_factory.mktemp("failures"))
    write_records(records(range(2))[:6], folder / "train.jsonl")
    return run_training(folder, "whole", **SETTINGS)


# The step that the resumed run goes on from: checkpoints are saved at steps 2, 4 and 5.
KILLS = {
    "in a step": 2,
    "while a checkpoint's weights are written": 2,
    "before a checkpoint is sealed": 2,
    "while the older checkpoint is removed": 4,
    "while the judge is written": 5,
}


@pytest.mark.slow
@pytest.mark.parametrize("when", KILLS)
def test_kill_9_then_resume_gives_the_same_weights(
    when: str, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("base", "train.jsonl"):
        (tmp_path / name).symlink_to(whole.parent / name)
    assert train_until_doom(tmp_path, "killed", when, SETTINGS) == -signal.SIGKILL
    resumed = run_training(tmp_path, "killed", if_exists="resume", **SETTINGS)
    assert f"resume: goes on from {resumed}/checkpoint-{KILLS[when]}" in capsys.readouterr().out
    assert_same(resumed, whole)
    assert [path.name for path in resumed.glob("checkpoint-*")] == ["checkpoint-5"]


def assert_same(run: Path, other: Path) -> None:
    ours, theirs = load_file(run / "model.safetensors"), load_file(other / "model.safetensors")
    assert [name for name in theirs if not torch.equal(ours[name], theirs[name])] == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own with room for one checkpoint and not for two; skipped where it cannot be made."""
    disk = tmp_path / "disk"
    disk.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=700k", "tmpfs", str(disk)]
    try:
        done = subprocess.run(words, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("no command mount")
    if done.returncode:
        pytest.skip(f"a small file system cannot be made here: {done.stderr.strip()}")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["file size limit", "full file system"])
def test_a_full_disk_is_one_line_and_keeps_the_previous_checkpoint(
    kind: str, whole: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    full = kind == "full file system"
    folder = request.getfixturevalue("small_disk") if full else tmp_path
    for name in ("base", "train.jsonl"):
        (folder / name).symlink_to(whole.parent / name)
    assert train_until_doom(folder, "out", kind, SETTINGS) == 1
    said = (folder.parent / "out.log").read_text()
    (line,) = [line for line in said.splitlines() if line.startswith("error: ")]
    assert line.startswith(f"error: no space left to write {folder}/out/checkpoint-4 (")
    assert "Traceback" not in said
    assert [path.name for path in (folder / "out").glob("checkpoint-*")] == ["checkpoint-2"]
    assert is_complete(folder / "out" / "checkpoint-2")
    manifest = read_manifest(folder / "out")
    assert manifest is not None
    assert manifest["status"] == "failed"
    if full:
        subprocess.run(["mount", "-o", "remount,size=10m", str(folder)], check=True)
    assert_same(run_training(folder, "out", if_exists="resume", **SETTINGS), whole)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    constants = huggingface_hub.constants
    with HubServer() as server:
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "ENDPOINT", server.endpoint)
        template = f"{server.endpoint}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        yield server


def test_a_model_that_the_hub_does_not_give_is_one_line_at_once(hub: HubServer) -> None:
    hub.add("model", "meta/llama", {"config.json": b"{}"}, gated=True)
    hub.add("model", "me/private", {"config.json": b"{}"}, private=True)
    hub.add("model", "me/open", {"config.json": b"{}"})
    hub.add("model", "me/empty", {})
    hub.fail()
    with pytest.raises(
        ModelError, match=r"model meta/llama is gated; ask for access at http.*/meta/llama, then log in"
    ):
        check_model("meta/llama")
    for name in ("me/private", "me/typo"):
        with pytest.raises(
            ModelError, match=f"the Hub has no model {name} for this login; correct the name, or log in"
        ):
            check_model(name)
    with pytest.raises(ModelError, match=r"model me/open has no revision v9; name a branch, tag or commit of it"):
        check_model("me/open", revision="v9")
    with pytest.raises(ModelError, match=r"model me/empty on the Hub has no config\.json"):
        check_model("me/empty", whole=True)
    check_model("me/open")
    assert len([asked for asked in hub.requests if asked.startswith("HEAD")]) == 6  # none is asked twice
    hub.fail(at=1)
    with pytest.raises(ModelError, match=r"the Hub refused model me/open \(403\)"):
        check_model("me/open")
    hub.fail(at=1, how="lost")
    with pytest.raises(ModelError, match="model me/open is no folder, and the Hub cannot be reached"):
        check_model("me/open")


@pytest.mark.slow
def test_a_gated_model_is_told_before_any_data_is_read(hub: HubServer, tmp_path: Path) -> None:
    hub.add("model", "meta/llama", {"config.json": b"{}"}, gated=True)
    words = ["--model_name_or_path", "meta/llama", "--train_file", "absent.jsonl", "--output_dir", "out"]
    done = subprocess.run(
        [sys.executable, "-m", "train.sft", *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(REPO), "HF_HUB_OFFLINE": "0", "HF_ENDPOINT": hub.endpoint,
             "HF_HOME": str(tmp_path / "home"), "HF_TOKEN": ""},
        capture_output=True,
        text=True,
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert line.startswith("error: model meta/llama is gated")
    assert not (tmp_path / "out").exists()


def test_bf16_on_a_gpu_without_it_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)  # a GPU, and an old one
    monkeypatch.setattr(train_arguments, "is_torch_bf16_gpu_available", lambda: False)
    words = ["--model_name_or_path", "m", "--train_file", "t", "--output_dir", "out", "--bf16", "true"]
    with pytest.raises(ConfigError, match="bf16 is asked for and this GPU has none; set fp16: true, or bf16: false"):
        train_arguments.parse_arguments(words)


def test_fp16_on_a_cpu_is_refused_before_data_is_read(tmp_path: Path) -> None:
    make_folder(tmp_path)
    with pytest.raises(ConfigError, match="fp16 needs a GPU"):
        run_training(tmp_path, "judge", fp16=True, use_cpu=True)
    assert not (tmp_path / "judge").exists()
