"""Trainings in a process of their own that something happens to: killed at a chosen moment, or left without disk.

The processes fork from a server that has the libraries loaded and never trained, which a fork would not survive.
"""

import multiprocessing
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import transformers.modeling_utils
from transformers import TrainerCallback

import train.resumable
from core.config import exit_status
from tests.train.pico_training import train as run_training

SERVER = multiprocessing.get_context("forkserver")


def train_until_doom(folder: Path, output: str, doom: str, settings: dict[str, Any]) -> int:
    """Train as `pico_training.train` does, in a child; its exit status, or minus the signal that ended it. What it says
    goes to OUTPUT.log.
    """
    SERVER.set_forkserver_preload([__name__])
    child = SERVER.Process(target=_child, args=(folder, output, doom, settings))
    child.start()
    child.join()
    assert child.exitcode is not None
    return child.exitcode


def _child(folder: Path, output: str, doom: str, settings: dict[str, Any]) -> None:
    log = os.open(folder.parent / f"{output}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    DOOMS[doom]()

    def command() -> None:
        run_training(folder, output, **settings)

    sys.exit(exit_status(command))


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _in_a_step() -> None:
    def on_step_begin(self: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step == 3:
            _die()

    TrainerCallback.on_step_begin = on_step_begin  # type: ignore[method-assign]


def _while_weights_are_written(where: str) -> Callable[[], None]:
    """Half of the file is there."""

    def doom() -> None:
        save = transformers.modeling_utils.safe_save_file

        def cut(tensors: Any, file: str, *rest: Any, **kwargs: Any) -> None:
            save(tensors, file, *rest, **kwargs)
            if Path(file).parent.name == where:
                os.truncate(file, Path(file).stat().st_size // 2)
                _die()

        transformers.modeling_utils.safe_save_file = cut

    return doom


def _before_the_seal() -> None:
    seal = train.resumable.seal
    train.resumable.seal = lambda folder: _die() if folder.name == "checkpoint-4" else seal(folder)


def _while_the_older_one_is_removed() -> None:
    def cut(output: str, *_: Any) -> None:
        if Path(output, "checkpoint-4").exists():
            Path(output, "checkpoint-2", "optimizer.pt").unlink()
            _die()

    train.resumable.rotate_checkpoints = cut


def _no_file_over_20_kb() -> None:
    """From the first checkpoint on: the weights of the next do not fit, a manifest does."""

    def on_save(*_: Any, **__: Any) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    TrainerCallback.on_save = on_save  # type: ignore[method-assign]


DOOMS = {
    "in a step": _in_a_step,
    "while a checkpoint's weights are written": _while_weights_are_written("checkpoint-4"),
    "before a checkpoint is sealed": _before_the_seal,
    "while the older checkpoint is removed": _while_the_older_one_is_removed,
    "while the judge is written": _while_weights_are_written("killed"),
    "file size limit": _no_file_over_20_kb,
    "full file system": lambda: None,
}
