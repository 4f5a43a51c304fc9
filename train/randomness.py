"""Random states put back, so that a training does the same whether it is evaluated on the way or not."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


@contextmanager
def untouched_randomness() -> Iterator[None]:
    """Restore the states of Python's, numpy's and torch's random numbers (CPU and this process's device) at the end.

    An evaluation draws from them: each pass over a data loader takes its seed there.
    """
    python, numpy = random.getstate(), np.random.get_state()
    device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    drawn_on = [] if device is None else [torch.accelerator.current_device_index()]
    with torch.random.fork_rng(drawn_on, device_type="cuda" if device is None else device.type):
        yield
    random.setstate(python)
    np.random.set_state(numpy)
