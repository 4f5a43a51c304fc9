"""trl's SFTTrainer as this project uses it: verdicts beside the loss, plain progress, no half-filled model card."""

import math
import sys
import time
from typing import Any

import trl.trainer.utils
from transformers import EarlyStoppingCallback, PrinterCallback, TrainerCallback

from core.errors import ConfigError
from core.progress import say
from train.arguments import Arguments
from train.randomness import untouched_randomness
from train.resumable import ResumableTrainer
from train.validation import VerdictValidation

SHOWN = ("loss", "eval_loss", "eval_kappa", "eval_unscored", "learning_rate")


class JudgeTrainer(ResumableTrainer):
    """SFTTrainer on examples that come tokenized and labelled; ``validation`` adds its figures to each evaluation's loss."""

    def __init__(self, arguments: Arguments, validation: VerdictValidation | None = None, **kwargs: Any) -> None:
        self.validation = validation
        self._evaluated: tuple[int, dict[str, float]] = (-1, {})
        training = arguments.training
        training.logging_nan_inf_filter = False  # it writes a finite loss in the place of one that is none
        if not sys.stderr.isatty():
            training.disable_tqdm = True
        super().__init__(args=training, **kwargs)
        if training.early_stopping_patience:
            self.add_callback(EarlyStoppingCallback(training.early_stopping_patience))
        if training.disable_tqdm:
            self.remove_callback(PrinterCallback)
            self.add_callback(PlainProgress())

    def log(self, logs: dict[str, float], *args: Any, **kwargs: Any) -> None:
        """Raises ConfigError for a loss that is no number: every step after it would be lost."""
        lost = {
            name: logs[name] for name in ("loss", "train_loss", "eval_loss") if not math.isfinite(logs.get(name, 0.0))
        }
        for name, value in lost.items():
            raise ConfigError(
                f"{name} is {value} at step {self.state.global_step}; lower learning_rate "
                f"({self.args.learning_rate:g}), or train in bf16 or float32, and see that the base is sound "
                "(python -m train.check --is_judge false --model_name_or_path BASE)"
            )
        super().log(logs, *args, **kwargs)

    def compute_loss(self, *args: Any, **kwargs: Any) -> Any:
        if self.accelerator.device.type == "cpu":
            # Without Triton trl computes the logits of masked tokens too, on a 262k vocabulary most of a step's work.
            trl.trainer.utils._use_triton = lambda device: True
        return super().compute_loss(*args, **kwargs)

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        with untouched_randomness():
            self._evaluated = self.state.global_step, super().evaluate(*args, **kwargs)
        return self._evaluated[1]

    def final_metrics(self) -> dict[str, float]:
        """The evaluation of the judge as it is saved: the last one, where no better checkpoint was loaded since."""
        step, metrics = self._evaluated
        swapped = self.args.load_best_model_at_end and self.state.best_global_step != self.state.global_step
        return self.evaluate() if swapped or step != self.state.global_step else metrics

    def evaluation_loop(self, *args: Any, **kwargs: Any) -> Any:
        output = super().evaluation_loop(*args, **kwargs)
        if self.validation:
            figures = self.validation(self.model, self.accelerator)
            output.metrics.update({f"eval_{name}": value for name, value in figures.items()})
        return output

    def create_model_card(self, *args: Any, **kwargs: Any) -> None:
        """None: a judge's card needs what merge.publish knows."""


class PlainProgress(TrainerCallback):
    """One line a log: step, loss, seconds a step, time left; one an evaluation, with its kappa."""

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._start, self._first_step = time.monotonic(), state.global_step

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any], **kwargs: Any) -> None:
        shown = {name: logs[name] for name in SHOWN if name in logs}
        if not shown:
            return
        seconds = (time.monotonic() - self._start) / max(state.global_step - self._first_step, 1)
        values = ", ".join(f"{name} {value:.4g}" for name, value in shown.items())
        left = seconds * (state.max_steps - state.global_step)
        say(f"train: step {state.global_step}/{state.max_steps}, {values}, {seconds:.2f} s a step, {left:.0f} s left")
