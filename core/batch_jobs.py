"""Batch files worked through by the server itself: upload, start, wait, fetch the results; after a kill, wait on.

Beside each file FILE stands FILE.batch.json with the id of its batch, written before anything is uploaded, so that a file
is not paid for twice.
"""

import asyncio
import hashlib
import json
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, TypeVar

import openai

from core.errors import ServerError
from core.jsonl import write_json
from core.progress import say, warn

T = TypeVar("T")
FIRST_POLL, LONGEST_POLL = 1.0, 60.0
RETRIES = 6
_ENDED = ("completed", "failed", "expired", "cancelled")
_MARK = "requests_sha256"


def unfinished(folder: Path) -> list[Path]:
    """The request files whose batch was started and not seen to end."""
    records = sorted(folder.glob("*.batch.json"))
    return [path.with_name(path.name.removesuffix(".batch.json")) for path in records if not _record(path).get("ended")]


async def work_through(files: list[Path], api: openai.AsyncOpenAI) -> None:
    """Start what is not started, wait for all, and put the results beside the files.

    Raises ServerError where the server takes no batches, or one failed, expired or was cancelled; what it had done is kept.
    """
    api = api.with_options(max_retries=RETRIES)
    batches = {file: await _known_or_started(file, api) for file in files}
    faults = []
    pause = FIRST_POLL
    while batches:
        for file, name in list(batches.items()):
            batch = await _call(api.batches.retrieve(name))
            if batch.status not in _ENDED:
                continue
            del batches[file]
            if fault := await _fetch(file, batch, api):
                warn(fault)
                faults.append(fault)
        if batches:
            await asyncio.sleep(pause)
            pause = min(LONGEST_POLL, pause * 1.5)
    if faults:
        raise ServerError(faults[0])


async def _known_or_started(file: Path, api: openai.AsyncOpenAI) -> str:
    record_path = _record_path(file)
    record = _record(record_path)
    if record.get("batch_id"):
        return str(record["batch_id"])
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    name = await _started_before(digest, api) if record_path.exists() else None
    if name is None:
        write_json({"batch_id": None}, record_path)
        uploaded = await _call(api.files.create(file=file, purpose="batch"))
        batch = await _call(
            api.batches.create(
                input_file_id=uploaded.id,
                endpoint="/v1/chat/completions",
                completion_window="24h",
                metadata={_MARK: digest},
            )
        )
        name = batch.id
    write_json({"batch_id": name}, record_path)
    say(f"{file}: batch {name} runs; killing this command does not stop it, and the next run waits on")
    return name


async def _started_before(digest: str, api: openai.AsyncOpenAI) -> str | None:
    """The batch of a run that was killed before it could write the id down."""
    page = await _call(api.batches.list(limit=100))
    return next((batch.id for batch in page.data if (batch.metadata or {}).get(_MARK) == digest), None)


async def _fetch(file: Path, batch: Any, api: openai.AsyncOpenAI) -> str | None:
    """Put the batch's results beside the file; the fault in one line where the batch did not complete."""
    for file_id, kind in ((batch.output_file_id, "output"), (batch.error_file_id, "errors")):
        if file_id:
            content = await _call(api.files.content(file_id))
            target = file.with_name(f"{file.name}.{kind}.jsonl")
            draft = target.with_name(f".{target.name}")
            draft.write_bytes(content.content)
            draft.replace(target)
    has_results = bool(batch.output_file_id or batch.error_file_id)
    if batch.status == "completed" and has_results:
        write_json({"batch_id": batch.id, "ended": batch.status}, _record_path(file))
        return None
    _record_path(file).unlink()  # so that the next run starts it anew
    errors = batch.errors.data if batch.errors and batch.errors.data else []
    reason = f": {errors[0].message}" if errors else ""
    ended = f"ended as {batch.status}" if batch.status != "completed" else "completed without any result"
    kept = "what it had answered is kept; " if has_results else ""
    return f"batch {batch.id} of {file} {ended}{reason}; {kept}run this command again to ask for the rest"


async def _call(call: Awaitable[T]) -> T:
    try:
        return await call
    except openai.APIError as error:
        reason = " ".join(error.message.split())[:300]
        raise ServerError(
            f"batch: {reason}; check base_url and key, and that the server takes batches (else --batch files)"
        ) from None


def _record_path(file: Path) -> Path:
    return file.with_name(f"{file.name}.batch.json")


def _record(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}
