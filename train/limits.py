"""The least and the greatest value of the numbers that a training is told.

The libraries take a rate below zero or no step at all, and fail after weights are loaded, or call it a success.
"""

import math
from dataclasses import fields
from typing import Any

from core.errors import ConfigError

_ANY = math.inf
# Field → least and greatest value. Any other number has only to be finite.
LIMITS: dict[str, tuple[float, float]] = {
    "max_refused": (0, 1),
    "per_device_train_batch_size": (1, _ANY),
    "per_device_eval_batch_size": (1, _ANY),
    "gradient_accumulation_steps": (1, _ANY),
    "effective_batch_size": (1, _ANY),
    "validation_samples": (0, _ANY),
    "max_new_tokens": (1, _ANY),
    "early_stopping_patience": (1, _ANY),
    "max_grad_norm": (0, _ANY),
    "learning_rate": (0, _ANY),
    "weight_decay": (0, _ANY),
    "seed": (0, 2**32 - 1),
    "data_seed": (0, 2**32 - 1),
    "save_total_limit": (1, _ANY),
    "lora_r": (1, _ANY),
    "lora_alpha": (1, _ANY),
    "lora_dropout": (0, 0.99),
}
_ABOVE_ZERO = ("num_train_epochs", "max_steps", "logging_steps", "save_steps", "eval_steps")


def check_limits(settings: Any) -> None:
    """Raises ConfigError for the first number of a dataclass that is not finite or outside its limits."""
    for name in (one.name for one in fields(settings)):
        value = getattr(settings, name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if not math.isfinite(value):
            raise ConfigError(f"{name} is {value}; give a finite number")
        least, greatest = LIMITS.get(name, (-_ANY, _ANY))
        if not least <= value <= greatest:
            within = f"{least} or more" if greatest == _ANY else f"a number from {least} to {greatest}"
            raise ConfigError(f"{name} is {value}; give {within}")
        if name in _ABOVE_ZERO and value <= 0 and not _left_open(name, value, settings):
            raise ConfigError(f"{name} is {value}, so that nothing would be done; give a number above 0")


def _left_open(name: str, value: float, settings: Any) -> bool:
    """Whether the value is transformers' word for "not set": -1 steps, or epochs where the steps are set."""
    return (name == "max_steps" and value == -1) or (name == "num_train_epochs" and settings.max_steps > 0)
