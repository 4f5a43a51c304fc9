"""Where arithmetic runs, checked before anything loads."""

import re
from typing import Annotated

import torch
from pydantic import AfterValidator


def _there(device: str) -> str:
    named = re.fullmatch(r"auto|cpu|cuda(?::(\d+))?", device)
    if named is None or (device.startswith("cuda") and int(named[1] or 0) >= torch.cuda.device_count()):
        raise ValueError(f"this machine has no device {device}; take cpu, cuda (with a GPU) or auto")
    return device


Device = Annotated[str, AfterValidator(_there)]
