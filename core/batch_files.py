"""Batch files: requests as OpenAI's batch JSON Lines, which `vllm run-batch` reads too, and their results in any order.

A folder holds ``translate-instruction.hi.001.requests.jsonl``, ... (task, language, number) and, under any other name that
ends in .jsonl, results: output files and error files. Rows are joined by custom_id, the request's key, and by nothing else.
"""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from core.answer_store import AnswerStore, file_name
from core.errors import AnswersMissing, DataError
from core.jsonl import dumps, read_jsonl
from core.lock import FolderLock
from core.progress import say, warn
from core.request import Answer, Request, read_completion

REQUESTS = ".requests.jsonl"
MOST_REQUESTS, MOST_BYTES = 50_000, 200_000_000
FAILURES_SHOWN = 10


class RequestFile(NamedTuple):
    """A file of requests, and what its name and rows say of them."""

    path: Path
    task: str
    language: str | None
    model: str


class BatchFolder:
    """The requests that wait in a folder, those that are added to them, and the results beside them.

    Raises RunFolderError where another run uses the folder, DataError for a file that cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.needed: Counter[Path] = Counter()  # how many requests of this run wait in each file
        self.failures: dict[str, str] = {}
        self._added: set[str] = set()
        self._parts: dict[str, _Part] = {}
        self._shown = 0
        self._lock = FolderLock(folder)
        self._files: list[RequestFile] = []
        self._tries: dict[str, list[int]] = {}  # key: numbers, in self._files, of the files that ask for it
        self._answered: set[int] = set()
        for path in sorted(folder.glob(f"*{REQUESTS}")):
            self._index(path)

    def collect(self, store: AnswerStore) -> None:
        """Read all results into the store, and say what they were. Safe to repeat."""
        rows: Counter[str] = Counter()
        faults: Counter[str] = Counter()
        new = store.extend(self._read_results(rows, faults))
        for key, count in rows.items():
            # A request that failed is asked for again in a later file: its n-th result is that of its n-th file.
            self._answered.update(self._tries[key][:count])
        if rows or faults:
            notes = "".join(f", {count} {what}" for what, count in sorted(faults.items()))
            say(f"batch results in {self.folder}: {new} new answers, {len(self.failures)} failed{notes}")

    def add(self, request: Request, key: str, model: str) -> None:
        """Have the request wait: in the file where it waits already, or in a new one."""
        if key in self._added:
            return
        self._added.add(key)
        if key in self.failures:
            self._tell_failure(request, key)
        if key in self._tries and (last := self._tries[key][-1]) not in self._answered:
            self.needed[self._files[last].path] += 1
            return
        line = dumps({"custom_id": key, "method": "POST", "url": "/v1/chat/completions", "body": request.body(model)})
        stem = file_name(request.task, request.language)
        part = self._parts.get(stem)
        if part is None or not part.has_room(line):
            if part is not None:
                part.publish()
            part = self._parts[stem] = _Part(self._next_path(stem))
        part.add(line)
        self.needed[part.path] += 1

    def publish(self) -> None:
        """Give the files that were written their names."""
        for part in self._parts.values():
            part.publish()
        self._parts = {}

    def missing(self, model: str) -> AnswersMissing:
        """The line that says what waits, and where."""
        paths = sorted(self.needed)
        others = f" and {len(paths) - 1} more files" if len(paths) > 1 else ""
        return AnswersMissing(
            f"{sum(self.needed.values())} requests wait in {paths[0]}{others}; have each file answered into {self.folder} "
            f"(vllm run-batch --model {model} -i FILE -o FILE.output.jsonl, or an upload to a batch service), "
            "then run this command again"
        )

    def close(self) -> None:
        """Drop what was not published, and let other runs in."""
        for part in self._parts.values():
            part.drop()
        self._lock.release()

    def _index(self, path: Path) -> None:
        number = len(self._files)
        model = ""
        try:
            task, language, _ = path.name.removesuffix(REQUESTS).split(".")
            for _, row in read_jsonl(path):
                model = row["body"]["model"]
                self._tries.setdefault(row["custom_id"], []).append(number)
        except (ValueError, KeyError, TypeError):
            raise DataError(f"{path} is no batch file that this project wrote; move it out of the folder") from None
        self._files.append(RequestFile(path, task, None if language == "any" else language, model))

    def _read_results(self, rows: "Counter[str]", faults: "Counter[str]") -> Iterator[Answer]:
        """The answers among the results; counts the rows of each key, and the rows that are none of ours."""
        answered: set[str] = set()
        for path in sorted(self.folder.glob("*.jsonl")):
            if path.name.endswith(REQUESTS):
                continue
            for _, row in read_jsonl(path):
                key = row.get("custom_id")
                if key not in self._tries:
                    faults["unknown custom_ids (ignored)"] += 1
                    continue
                rows[key] += 1
                file = self._files[self._tries[key][0]]
                answer = read_result(row, file)
                if answer.error is not None:
                    self.failures[key] = answer.error
                elif key in answered:
                    faults["given twice (the first counts)"] += 1
                else:
                    answered.add(key)
                    yield answer
        for key in answered:
            self.failures.pop(key, None)

    def _next_path(self, stem: str) -> Path:
        numbers = [int(path.name.split(".")[2]) for path in self.folder.glob(f"{stem}.*{REQUESTS}")]
        return self.folder / f"{stem}.{max(numbers, default=0) + 1:03d}{REQUESTS}"

    def _tell_failure(self, request: Request, key: str) -> None:
        self._shown += 1
        if self._shown <= FAILURES_SHOWN:
            warn(f"{request.id} failed in the batch: {self.failures[key]}; it is asked for again")
        elif self._shown == FAILURES_SHOWN + 1:
            warn(f"{len(self.failures)} requests failed in the batch in all")


def read_result(row: dict[str, Any], file: RequestFile) -> Answer:
    """One row of an output or error file; a failure has its message in ``error``."""
    key = row["custom_id"]
    given = row.get("response")
    response: dict[str, Any] = given if isinstance(given, dict) else {}
    body = response.get("body")
    fault = row.get("error") or (body.get("error") if isinstance(body, dict) else None)
    if fault is None and response.get("status_code") == 200:
        try:
            return read_completion(body, key, file.task, file.language, file.model)
        except ValueError as error:
            fault = str(error)
    if isinstance(fault, dict):
        fault = fault.get("error", fault)  # vLLM puts the whole error response here
    message = (fault.get("message") or fault.get("code")) if isinstance(fault, dict) else fault
    reason = " ".join(str(message or f"status {response.get('status_code')}").split())[:300]
    return Answer(key, file.task, file.language, file.model, error=reason)


class _Part:
    """A file of requests being written. It has its name when it is whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._draft = path.with_name(f".{path.name}")
        self._requests = self._bytes = 0
        try:
            self._handle: IO[bytes] = open(self._draft, "wb")  # noqa: SIM115 (closed by publish or drop)
        except OSError as error:
            raise DataError(f"batch file {path} cannot be written ({error.strerror}); name another batch_dir") from None

    def has_room(self, line: str) -> bool:
        return self._requests < MOST_REQUESTS and self._bytes + len(line.encode()) + 1 <= MOST_BYTES

    def add(self, line: str) -> None:
        self._requests += 1
        self._bytes += self._handle.write(f"{line}\n".encode())

    def publish(self) -> None:
        self._handle.flush()
        os.fsync(self._handle.fileno())
        self._handle.close()
        os.replace(self._draft, self.path)

    def drop(self) -> None:
        self._handle.close()
        self._draft.unlink(missing_ok=True)
