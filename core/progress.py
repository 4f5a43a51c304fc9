"""Progress with rate and time left: a bar on a terminal, a plain line every so often in a log. Only rank 0 speaks."""

import os
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from tqdm.auto import tqdm

T = TypeVar("T")
SECONDS_BETWEEN_LINES = 10.0


def is_main_process() -> bool:
    """Whether this process is rank 0 of its launch (a single process is)."""
    return os.environ.get("RANK", "0") == "0"


def say(text: str) -> None:
    """Print one line on standard output, from rank 0 alone."""
    if is_main_process():
        print(text, flush=True)


def warn(text: str) -> None:
    """Print one line on standard error, from rank 0 alone."""
    if is_main_process():
        print(f"warning: {text}", file=sys.stderr, flush=True)


class Progress:
    """Counts work done. ``with Progress(total, "judge") as progress: progress.update(n)``."""

    def __init__(self, total: int, what: str) -> None:
        self.total, self.what, self.done = total, what, 0
        self._start = self._last = time.monotonic()
        self._bar = tqdm(total=total, desc=what) if is_main_process() and sys.stderr.isatty() else None

    def update(self, count: int = 1) -> None:
        self.done += count
        if self._bar is not None:
            self._bar.update(count)
        elif is_main_process() and time.monotonic() - self._last >= SECONDS_BETWEEN_LINES:
            self._last = time.monotonic()
            print(self.line(), file=sys.stderr, flush=True)

    def line(self) -> str:
        """``judge: 40/120 (33 %), 1.20/s, 67 s left``."""
        rate = self.done / max(time.monotonic() - self._start, 1e-9)
        left = f"{(self.total - self.done) / rate:.0f} s left" if rate > 0 else "time left unknown"
        return f"{self.what}: {self.done}/{self.total} ({100 * self.done / max(self.total, 1):.0f} %), {rate:.2f}/s, {left}"

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
        elif is_main_process() and self.done:
            print(f"{self.line()}, {time.monotonic() - self._start:.1f} s in all", file=sys.stderr, flush=True)


def track(items: Iterable[T], total: int, what: str) -> Iterator[T]:
    """Yield the items, counting each as done when the next is asked for."""
    with Progress(total, what) as progress:
        for item in items:
            yield item
            progress.update()
