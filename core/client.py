"""One way to ask a model anything: bounded concurrency, retries, and a store that never lets a text be paid for twice.

    with Client(options) as client:
        for item, result in client.map(items, handle, "translate", total=len(items)): ...
        client.finish()

where ``async def handle(item)`` awaits ``client.answer(request)`` as often as it needs.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from core.answer_store import AnswerStore
from core.batch_files import BatchFolder
from core.batch_jobs import unfinished, work_through
from core.errors import AnswersMissing, ConfigError, DataError
from core.pool import Pool
from core.progress import Progress
from core.request import QUEUED, Answer, Message, Request
from core.server import NoAnswer, Server, ServerOptions

__all__ = ["QUEUED", "Answer", "Client", "Counters", "Message", "Request", "ServerOptions"]

T = TypeVar("T")
R = TypeVar("R")
HANDLERS_PER_SLOT = 2  # enough that a request is always ready when a slot comes free
REFUSALS_AT_START = 8


@dataclass
class Counters:
    """What was asked of the server and what the store had. Tokens are of asked requests, the ones that cost."""

    asked: int = 0
    from_store: int = 0
    retried: int = 0
    failed: int = 0
    queued: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Client:
    """Asks one model. Use as a context manager; raises ConfigError where the options cannot work."""

    def __init__(self, options: ServerOptions) -> None:
        self.options = options
        self.counters = Counters()
        if options.batch != "none" and options.batch_dir is None:
            raise ConfigError(f"batch is {options.batch} and batch_dir is not set: name the folder of the batch files")
        self._store = AnswerStore(options.store)
        self._asking: dict[str, asyncio.Future[Answer]] = {}
        self._failures_in_row = self._refusals_in_row = 0
        self._succeeded = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._runner = asyncio.Runner()
        self._server = Server(options)
        self._batches: BatchFolder | None = None
        if options.batch_dir is not None and options.batch != "none":
            self._open_batches(options.batch_dir)

    def stored(self, request: Request) -> Answer | None:
        """The answer in the store, or None. Asks nobody."""
        return self._store.get(request.task, request.language, request.key(self.options.model))

    async def answer(self, request: Request) -> Answer:
        """The answer: from the store, or asked for and then stored. On disk when this returns.

        A request that the server refuses (HTTP 400) or that fails after all tries comes back with ``error`` and is not stored.
        Raises ServerError (StoreError) where the run cannot go on: key refused, no such model, server gone, disk full;
        DataError for a message that no server can be sent.
        """
        key = request.key(self.options.model)
        if key in self._asking:
            self.counters.from_store += 1
            return await asyncio.shield(self._asking[key])
        found = self._store.get(request.task, request.language, key)
        if found is None:
            self._store.claim(request.task, request.language)
            found = self._store.get(request.task, request.language, key)
        if found is not None:
            self.counters.from_store += 1
            return found
        _check_sendable(request)
        if self._batches is not None:
            self.counters.queued += 1
            self._batches.add(request, key, self.options.model)
            return self._no_answer(request, key, QUEUED)
        return await self._ask_once(request, key)

    def map(
        self, items: Iterable[T], handle: Callable[[T], Awaitable[R]], what: str, total: int | None = None
    ) -> Iterator[tuple[T, R]]:
        """Run ``handle`` for the items and yield (item, result) as they come, in any order; items are drawn lazily.

        At most ``concurrency`` requests are in flight. Handlers run between two yields only, so that they and the caller's
        loop never race. The first exception of a handler ends the rest and is raised. Not for use inside an event loop.
        """
        pool = Pool(self._runner, handle, HANDLERS_PER_SLOT * self.options.concurrency)
        with Progress(total, what) if total is not None else nullcontext() as progress:
            for pair in pool.results(items):
                if progress is not None:
                    progress.update()
                yield pair

    def finish(self) -> None:
        """At the end of a command: in batch mode, see to the requests that wait. Raises AnswersMissing where any did.

        The command has to be run again then, and finds the answers. Does nothing where nothing waits.
        """
        if self._batches is None or not self._batches.needed:
            return
        self._batches.publish()
        if self.options.batch == "files":
            raise self._batches.missing(self.options.model)
        files = sorted(self._batches.needed)
        self._runner.run(self._work_through(files))
        raise AnswersMissing(
            f"the batches of {len(files)} files have ended; run this command again to use their answers"
        )

    def close(self) -> None:
        """End what still runs, write what has come, and let other runs write to the store."""
        if self._loop is self._runner.get_loop():
            self._runner.run(self._wind_down())
        self._runner.close()
        self._store.close()
        if self._batches is not None:
            self._batches.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _ask_once(self, request: Request, key: str) -> Answer:
        """Ask, while equal requests that come meanwhile wait for this one's answer."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._asking[key] = future
        try:
            answer = await self._ask(request, key)
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError):
                future.cancel()
            else:
                future.set_exception(error)
                future.exception()  # marked as seen: there may be no equal request
            raise
        else:
            future.set_result(answer)
            return answer
        finally:
            del self._asking[key]

    async def _ask(self, request: Request, key: str) -> Answer:
        async with self._slot():
            try:
                answer = await self._server.ask(request, key)
            except NoAnswer as fault:
                self._count_failure(fault)
                return self._no_answer(request, key, str(fault), fault.refused)
            finally:
                self.counters.retried = self._server.retried
            self._count_success(answer)
            self._store.append(answer)
        await self._store.synced(answer.task, answer.language)
        return answer

    def _no_answer(self, request: Request, key: str, error: str, refused: bool = False) -> Answer:
        return Answer(key, request.task, request.language, self.options.model, error=error, refused=refused)

    def _open_batches(self, folder: Path) -> None:
        """Read the results that have come; first wait for batches that an earlier run started."""
        self._batches = BatchFolder(folder)
        try:
            if self.options.batch == "submit" and (files := unfinished(folder)):
                self._runner.run(self._work_through(files))
            self._batches.collect(self._store)
        except BaseException:
            self.close()
            raise

    async def _work_through(self, files: list[Path]) -> None:
        async with self._slot():
            await work_through(files, self._server.api)

    async def _wind_down(self) -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._server.close()

    def _slot(self) -> asyncio.Semaphore:
        """The bound on requests in flight. Connections and semaphores belong to one event loop."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            if self._loop is not None:
                self._server = Server(self.options)
            self._loop, self._slots = loop, asyncio.Semaphore(self.options.concurrency)
        return self._slots

    def _count_success(self, answer: Answer) -> None:
        self._succeeded, self._failures_in_row = True, 0
        self.counters.asked += 1
        self.counters.prompt_tokens += answer.prompt_tokens or 0
        self.counters.completion_tokens += answer.completion_tokens or 0

    def _count_failure(self, fault: NoAnswer) -> None:
        """Raises ServerError where nothing works any more: as many failures in a row as there are workers."""
        self.counters.asked += 1
        self.counters.failed += 1
        if fault.refused:
            self._failures_in_row = 0
            self._refusals_in_row += 1
            # A parameter that the server does not take fails every request; rows at fault come among good ones.
            if not self._succeeded and self._refusals_in_row >= max(REFUSALS_AT_START, self.options.concurrency):
                raise self._server.gone(self._refusals_in_row, fault)
            return
        self._failures_in_row += 1
        if self._failures_in_row >= self.options.concurrency:
            raise self._server.gone(self._failures_in_row, fault)


def _check_sendable(request: Request) -> None:
    """Raises DataError for half of a surrogate pair, which JSON can name (\\ud800) and UTF-8 cannot hold."""
    try:
        for message in request.messages:
            message["content"].encode()
    except UnicodeEncodeError:
        raise DataError(
            f"{request.id}: its text holds half of a character (a lone surrogate); mend the input"
        ) from None
