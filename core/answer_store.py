"""Answers that were paid for, kept so that none is asked for twice: a folder of JSON Lines, one file a task and language.

In memory stand only the keys and where each answer lies. A row that ``append`` took survives the death of the process, one
that ``synced`` waited for that of the machine; syncing is done for many rows at once, off the caller's event loop. One run
writes a file at a time; any number may read it meanwhile.
"""

import asyncio
import json
import os
import re
import threading
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import Future
from pathlib import Path

from filelock import FileLock, Timeout

from core.errors import StoreError
from core.jsonl import dumps, make_folder
from core.progress import warn
from core.request import Answer

_NAME = re.compile(r"[\w-]+")


class AnswerStore:
    """The store below ``folder``. Files are opened when first needed, so that a run reads only its own tasks and languages."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._files: dict[str, _AnswerFile] = {}
        self._syncer = _Syncer()

    def get(self, task: str, language: str | None, key: str) -> Answer | None:
        """The stored answer, or None."""
        return self._file(task, language).get(key)

    def claim(self, task: str, language: str | None) -> None:
        """Become the one run that writes this file, before anything is paid for. Raises StoreError where another run does."""
        self._file(task, language).claim()

    def append(self, answer: Answer) -> None:
        """Write one answer. Raises StoreError where the disk takes no more; what the file holds is whole then too."""
        self._file(answer.task, answer.language).append(answer)

    async def synced(self, task: str, language: str | None) -> None:
        """Returns when all that was appended to this file is on disk. Raises StoreError where the disk fails."""
        await asyncio.wrap_future(self._syncer.add(self._file(task, language)))

    def extend(self, answers: Iterable[Answer]) -> int:
        """Append those that are new, synced, and return their number."""
        written: Counter[_AnswerFile] = Counter()
        for answer in answers:
            file = self._file(answer.task, answer.language)
            file.claim()
            if answer.key not in file:
                file.append(answer)
                written[file] += 1
        for file in written:
            file.sync()
        return written.total()

    def close(self) -> None:
        """Wait for what is being written, and let other runs write."""
        self._syncer.close()
        for file in self._files.values():
            file.close()
        self._files = {}

    def _file(self, task: str, language: str | None) -> "_AnswerFile":
        name = f"{task}.{language or 'any'}"
        if name not in self._files:
            self._files[name] = _AnswerFile(self.folder / f"{file_name(task, language)}.jsonl")
        return self._files[name]


def file_name(task: str, language: str | None) -> str:
    """``translate-instruction.hi``: what store and batch files of one task and language are called."""
    for part in (task, language or ""):
        if part and not _NAME.fullmatch(part):
            raise ValueError(f"task or language {part!r} cannot be part of a file name")
    return f"{task}.{language or 'any'}"


class _AnswerFile:
    """One file and the index of its answers."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._index: dict[bytes, int] = {}
        self._end = 0
        self._output = -1
        self._lock: FileLock | None = None
        self._read_on()

    def __contains__(self, key: str) -> bool:
        return bytes.fromhex(key) in self._index

    def get(self, key: str) -> Answer | None:
        offset = self._index.get(bytes.fromhex(key))
        if offset is None:
            return None
        with open(self.path, "rb") as handle:
            handle.seek(offset)
            return Answer(**json.loads(handle.readline()))

    def claim(self) -> None:
        if self._lock is not None:
            return
        make_folder(self.path.parent)
        lock = FileLock(self.path.with_name(f".{self.path.name}.lock"))
        try:
            lock.acquire(blocking=False)
            self._output = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        except Timeout:
            raise StoreError(
                f"answers {self.path} are being written by another run; wait for its end, or name another --store"
            ) from None
        except OSError as error:
            raise StoreError(
                f"answers {self.path} cannot be written ({error.strerror}); name another --store"
            ) from None
        self._lock = lock
        self._read_on()  # what another run wrote since
        os.ftruncate(self._output, self._end)  # drops a last line that a crash cut

    def append(self, answer: Answer) -> None:
        """The whole row or nothing of it."""
        line = f"{dumps(answer._asdict())}\n".encode()
        try:
            _write_all(self._output, line)
        except OSError as error:
            os.ftruncate(self._output, self._end)
            raise self._fault(error) from None
        self._index[bytes.fromhex(answer.key)] = self._end
        self._end += len(line)

    def sync(self) -> None:
        try:
            os.fsync(self._output)
        except OSError as error:
            raise self._fault(error) from None

    def close(self) -> None:
        if self._lock is not None:
            os.close(self._output)
            self._lock.release()
            self._lock = None

    def _fault(self, error: OSError) -> StoreError:
        return StoreError(
            f"answers {self.path} cannot be written ({error.strerror}); what it holds is whole: "
            "make room or mend the disk, then run the command again"
        )

    def _read_on(self) -> None:
        """Index the whole lines from where reading stopped."""
        if not self.path.exists():
            return
        with open(self.path, "rb") as handle:
            handle.seek(self._end)
            for line in handle:
                if not line.endswith(b"\n"):
                    break
                try:
                    self._index[bytes.fromhex(Answer(**json.loads(line)).key)] = self._end
                except (ValueError, TypeError):
                    warn(f"{self.path}: the line at byte {self._end} is no answer and was left out")
                self._end += len(line)


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


class _Syncer:
    """A thread that syncs files, once for all who came while it synced before."""

    def __init__(self) -> None:
        self._waiting: dict[_AnswerFile, list[Future[None]]] = {}
        self._wake = threading.Condition()
        self._closing = False
        self._thread: threading.Thread | None = None

    def add(self, file: _AnswerFile) -> "Future[None]":
        done: Future[None] = Future()
        done.set_running_or_notify_cancel()  # who stops waiting does not stop the sync
        with self._wake:
            self._waiting.setdefault(file, []).append(done)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="answers", daemon=True)
                self._thread.start()
            self._wake.notify()
        return done

    def close(self) -> None:
        with self._wake:
            self._closing = True
            self._wake.notify()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._waiting or self._closing)
                waiting, self._waiting = self._waiting, {}
            if not waiting:
                return
            for file, futures in waiting.items():
                _sync(file, futures)


def _sync(file: _AnswerFile, futures: "list[Future[None]]") -> None:
    try:
        file.sync()
    except StoreError as fault:
        for done in futures:
            done.set_exception(fault)
    else:
        for done in futures:
            done.set_result(None)
