"""SIGTERM, as a scheduler sends it before it takes the machine: the step ends, a checkpoint is saved, training stops.

transformers' enable_jit_checkpoint does not do: it saves before the optimizer's step, whose gradients are then lost,
each process decides by itself at which step, and it leaves a run that was stopped looking like one that is done.
"""

import signal
from types import FrameType
from typing import Any

import torch
from transformers import TrainerCallback

from core.errors import DataError, Interrupted
from core.progress import say

# SIGUSR1 too: a launcher that got SIGTERM itself leaves its processes 30 s to save, see train/README.md.
SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGUSR1") if hasattr(signal, name)]


class StopSignal:
    """``with StopSignal() as stop``: the signals are taken note of in ``asked`` and do not end the process."""

    def __init__(self) -> None:
        self.asked = False

    def __enter__(self) -> "StopSignal":
        self._before = {number: signal.signal(number, self._note) for number in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.asked = True


class StopAndSave(TrainerCallback):
    """Stops at the end of the first step before which any process was asked to, with a checkpoint saved.

    A save that falls on the last step of an epoch, or of all, waits until the epoch is ended: a training that goes on
    from there does not do again what ends an epoch, such as the evaluation.
    """

    def __init__(self, stop: StopSignal) -> None:
        self.stop = stop
        self.stopped = False  # before the last step
        self._waiting = False

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        last = state.global_step >= state.max_steps
        if not last and any_process(self.stop.asked, args.device):
            self.stopped = control.should_save = True
        self._waiting = control.should_save and (last or float(state.epoch).is_integer())
        if self._waiting:
            control.should_save = False

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._waiting:
            control.should_save = True
        elif self.stopped:  # in the middle of the epoch
            control.should_save = control.should_evaluate = control.should_log = False
        self._waiting = False

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.stopped:  # only now: a checkpoint that says so is one of a training that had ended
            control.should_training_stop = True


def train_until(trainer: Any, stop: StopSignal, checkpoint: str | None) -> dict[str, float]:
    """Train, from a checkpoint where there is one, and return the metrics. Raises Interrupted where it was stopped, and
    DataError where no batch is full and such ones are dropped.
    """
    records, together = len(trainer.train_dataset), trainer.args.train_batch_size * trainer.args.world_size
    if trainer.args.dataloader_drop_last and records < together:
        raise DataError(
            f"{records} records fill no batch of {together}, so all are dropped; leave dataloader_drop_last out"
        )
    callback = StopAndSave(stop)
    trainer.add_callback(callback)
    if checkpoint:
        say(f"resume: goes on from {checkpoint}")
    metrics = trainer.train(resume_from_checkpoint=checkpoint).metrics
    if callback.stopped:
        raise Interrupted(
            f"stopped as asked after step {trainer.state.global_step} of {trainer.state.max_steps}, with a checkpoint; "
            "the same command with --if_exists resume goes on from there"
        )
    return dict(metrics)


def any_process(flag: bool, device: torch.device) -> bool:
    """Whether the flag is set in any of the processes. All of them call it."""
    if not torch.distributed.is_initialized():
        return flag
    count = torch.tensor(float(flag), device=device)
    torch.distributed.all_reduce(count)
    return bool(count > 0)
