"""The device that a model of eval runs on, as a field of a config."""

from typing import Annotated

import torch
from pydantic import AfterValidator


def _there(device: str | None) -> str | None:
    """Raises ValueError, which a config tells as one line, for a device that this machine has not."""
    if device is not None:
        try:
            torch.empty(0, device=device)
        except (RuntimeError, AssertionError):  # the latter where torch was built without CUDA
            raise ValueError(f"this machine has no device {device}; take cpu, or cuda with a GPU") from None
    return device


# None leaves the choice to the command.
Device = Annotated[str | None, AfterValidator(_there)]
