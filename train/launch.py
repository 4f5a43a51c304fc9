"""Run folders under ``accelerate launch``: the main process makes or refuses the folder, the others wait and do as it did."""

from typing import Any

from accelerate import PartialState
from accelerate.utils import broadcast_object_list

from core.errors import AlreadyDone, UserError
from core.run import Run


def open_run(*args: Any, **kwargs: Any) -> Run:
    """``core.run.Run(*args, **kwargs)`` once for all processes. Every process raises what the main one raised."""
    outcome: list[Any] = [None]
    run: Run | None = None
    if PartialState().is_main_process:
        try:
            run = Run(*args, **kwargs)
            outcome = [run.resumed]
        except (UserError, AlreadyDone) as refused:
            outcome = [refused]
    broadcast_object_list(outcome)
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    if run is None:
        run = Run(*args, **{**kwargs, "writes": False})
        run.resumed = outcome[0]
    return run
