"""The attention kernel that a training gets: the one it names where that is installed, PyTorch's own (sdpa) otherwise."""

import torch
from transformers.utils import is_flash_attn_2_available, is_flash_attn_3_available

from core.errors import ConfigError
from core.progress import say

_NEEDS = {"flash_attention_2": is_flash_attn_2_available, "flash_attention_3": is_flash_attn_3_available}


def attention(name: str | None, packing: bool) -> str | None:
    """The implementation to load the model with; says in one line where it is not the one asked for.

    Raises ConfigError for packing without a kernel of variable length: records would attend to one another; and for a
    kernel that cannot train here.
    """
    if name == "flex_attention" and not torch.accelerator.is_available():
        raise ConfigError("flex_attention has no gradients on a CPU; use sdpa")
    needed = _NEEDS.get(name or "")
    if needed is None or needed():
        return name
    if packing:
        raise ConfigError(
            f"packing needs {name}, which this machine lacks; install the extra flash-attn on a machine with a GPU, "
            "or set packing: false"
        )
    say(f"attention: {name} is not on this machine, so sdpa is used (the same values, somewhat slower)")
    return "sdpa"
