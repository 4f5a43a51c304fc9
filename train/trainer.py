"""trl's SFTTrainer as this project uses it: progress in plain lines, no half-filled model card, a fast head on CPU."""

import sys
import time
from typing import Any

import trl.trainer.utils
from transformers import PrinterCallback, TrainerCallback
from trl import SFTTrainer

from core.progress import say
from train.arguments import Arguments


class JudgeTrainer(SFTTrainer):
    """SFTTrainer on examples that come tokenized and labelled."""

    def __init__(self, arguments: Arguments, **kwargs: Any) -> None:
        if not sys.stderr.isatty():
            arguments.training.disable_tqdm = True
        super().__init__(args=arguments.training, **kwargs)
        if arguments.training.disable_tqdm:
            self.remove_callback(PrinterCallback)
            self.add_callback(PlainProgress())

    def compute_loss(self, *args: Any, **kwargs: Any) -> Any:
        if self.accelerator.device.type == "cpu":
            # Without Triton trl computes the logits of masked tokens too, on a 262k vocabulary most of a step's work.
            trl.trainer.utils._use_triton = lambda device: True
        return super().compute_loss(*args, **kwargs)

    def create_model_card(self, *args: Any, **kwargs: Any) -> None:
        """None: a judge's card needs what merge.publish knows."""


class PlainProgress(TrainerCallback):
    """One line a log: step, loss, seconds a step, time left."""

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._start, self._first_step = time.monotonic(), state.global_step

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any], **kwargs: Any) -> None:
        shown = {name: logs[name] for name in ("loss", "eval_loss", "learning_rate") if name in logs}
        if not shown:
            return
        seconds = (time.monotonic() - self._start) / max(state.global_step - self._first_step, 1)
        values = ", ".join(f"{name} {value:.4g}" for name, value in shown.items())
        left = seconds * (state.max_steps - state.global_step)
        say(f"train: step {state.global_step}/{state.max_steps}, {values}, {seconds:.2f} s a step, {left:.0f} s left")
