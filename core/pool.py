"""Run a coroutine for each of many items from a plain loop: bounded, lazy, results as they come."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from itertools import islice
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Pool(Generic[T, R]):
    """At most ``size`` calls of ``handle`` at once. They run while the next result is waited for, and at no other time."""

    def __init__(self, runner: asyncio.Runner, handle: Callable[[T], Awaitable[R]], size: int) -> None:
        self._runner, self._handle, self._size = runner, handle, size
        self._running: set[asyncio.Task[tuple[T, R]]] = set()
        self._finished: deque[asyncio.Task[tuple[T, R]]] = deque()
        self._event = asyncio.Event()

    def results(self, items: Iterable[T]) -> Iterator[tuple[T, R]]:
        """Yield (item, result) in the order of their end. The first exception cancels the rest and is raised."""
        waiting = iter(items)
        try:
            while True:
                batch = list(islice(waiting, self._size - len(self._running)))
                if not batch and not self._running:
                    return
                self._runner.run(self._step(batch))
                while self._finished:
                    yield self._finished.popleft().result()
        finally:
            if self._running or self._finished:
                self._runner.run(self._cancel())

    async def _step(self, batch: list[T]) -> None:
        """Start the items of ``batch``; return when some call has ended."""
        self._event.clear()
        for item in batch:
            task = asyncio.create_task(self._pair(item))
            self._running.add(task)
            task.add_done_callback(self._end)
        if not self._finished:  # a call may have ended as the last step did, after its results were read
            await self._event.wait()

    async def _pair(self, item: T) -> tuple[T, R]:
        return item, await self._handle(item)

    def _end(self, task: "asyncio.Task[tuple[T, R]]") -> None:
        self._running.discard(task)
        self._finished.append(task)
        self._event.set()

    async def _cancel(self) -> None:
        tasks = [*self._running, *self._finished]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)  # also reads the errors that nobody will ask for
