"""A merge that is killed, or whose disk is full, leaves nothing that looks finished, and the same command then works."""

import os
import resource
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from core.config import exit_status
from merge.recipe import MergeConfig
from merge.run import main
from tests.merge.checkpoints import adapter, judge, read

KILLS = 12


def in_child(work: Callable[[], int]) -> int:
    """Start ``work`` in a process of its own, which exits with what it returns; its id."""
    child = os.fork()
    if child == 0:
        torch.set_num_threads(1)  # the parent's threads are not there, and a parallel sum would wait for them for ever
        try:
            os._exit(work())
        except BaseException:
            os._exit(99)
    return child


def recipe(tmp_path: Path, output: str, resume: bool = False) -> MergeConfig:
    return MergeConfig.model_validate(
        {
            "merge_method": "ties",
            "experts": {"hi": str(tmp_path / "hi"), "fr": str(tmp_path / "fr")},
            "base_model": str(tmp_path / "base"),
            "weight": 0.5,
            "density": 0.5,
            "dtype": "float32",
            "tokenizer_from": "hi",
            "max_new_tokens": 4,
            "output_dir": str(tmp_path / output),
            "if_exists": "resume" if resume else "fail",
        }
    )


@pytest.fixture
def models(tmp_path: Path) -> Path:
    base = judge(tmp_path / "base")
    judge(tmp_path / "hi", seed=1)
    adapter(tmp_path / "fr", base)
    return tmp_path


def files(output: Path) -> dict[str, bytes]:
    return {
        path.relative_to(output).as_posix(): path.read_bytes()
        for path in output.rglob("*")
        if path.is_file() and path.name not in ("manifest.json", ".lock")
    }


@pytest.mark.slow
def test_kill_9_at_any_moment_leaves_no_model_and_the_next_run_is_whole(models: Path) -> None:
    start = time.monotonic()
    assert os.waitpid(in_child(lambda: exit_status(lambda: main(recipe(models, "whole")))), 0)[1] == 0
    seconds, whole = time.monotonic() - start, files(models / "whole")
    unfinished = 0
    for kill in range(KILLS):
        output = models / f"killed-{kill}"
        child = in_child(lambda at=output.name: exit_status(lambda: main(recipe(models, at))))  # type: ignore[misc]
        time.sleep(seconds * (kill + 0.5) / KILLS)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        done = output.exists() and read(output / "manifest.json")["status"] == "done"
        if (output / "config.json").exists():  # it loads, so it has to be whole
            assert files(output) == whole
        elif output.exists():
            unfinished += 1
            with pytest.raises((OSError, ValueError)):
                AutoModelForCausalLM.from_pretrained(output)
        assert done <= (output / "config.json").exists()
        main_again = exit_status(lambda at=output.name: main(recipe(models, at, resume=True)))  # type: ignore[misc]
        assert (main_again, files(output)) == (0, whole)
        assert read(output / "manifest.json")["status"] == "done"
    assert unfinished >= KILLS // 4  # the folder is there from the checks on, which come first


def test_a_full_disk_is_said_and_leaves_no_model(models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def full() -> int:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
        return exit_status(lambda: main(recipe(models, "merged")))

    assert os.waitstatus_to_exitcode(os.waitpid(in_child(full), 0)[1]) == 1
    assert "error: no space left to write" in capfd.readouterr().err
    assert [path.name for path in (models / "merged").iterdir()] == ["manifest.json"]
    assert exit_status(lambda: main(recipe(models, "merged", resume=True))) == 0
    assert (models / "merged" / "config.json").exists()
