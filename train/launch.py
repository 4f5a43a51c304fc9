"""Run folders under ``accelerate launch``: the main process makes or refuses one, the others wait and do as it did."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from accelerate import PartialState
from accelerate.utils import broadcast_object_list

from core.errors import AlreadyDone, UserError
from core.run import Run

# Processes finish at different times; the default of ten minutes is shorter than the spread of a long run.
LONGEST_WAIT = timedelta(days=7)


def on_main(action: Callable[[], Any]) -> Any:
    """Run ``action`` in the main process alone. Every process gets what it returned, or raises what it raised."""
    outcome: list[Any] = [None]
    if PartialState().is_main_process:
        try:
            outcome = [action()]
        except (UserError, AlreadyDone) as refused:
            outcome = [refused]
    broadcast_object_list(outcome)
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return outcome[0]


def open_run(*args: Any, **kwargs: Any) -> Run:
    """``core.run.Run(*args, **kwargs)`` once for all processes. Every process raises what the main one raised."""
    run: Run | None = None

    def make() -> bool:
        nonlocal run
        run = Run(*args, **kwargs)
        return run.resumed

    resumed = on_main(make)
    if run is None:
        run = Run(*args, **{**kwargs, "writes": False})
        run.resumed = resumed
    return run
