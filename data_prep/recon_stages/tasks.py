"""One part to be made: asked for, read strictly, asked again with the reason, and kept in its stage's file."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from core.client import Client
from core.jsonl import Appender, read_jsonl
from core.request import Answer, Request

PartTexts = dict[str, str]
"""The texts of one part by their names, e.g. response and feedback."""


class BadAnswer(Exception):
    """An answer that cannot be used. The message says why, in words that the model is told too."""


@dataclass(frozen=True)
class Task:
    """A part of an item: what is kept of it, and the request for what is missing (None: nothing is).

    ``read`` takes the answer's text apart and raises BadAnswer where it cannot be used; ``facts`` go to the row as they are.
    """

    id: str
    kept: Mapping[str, str]
    request: Request | None
    read: Callable[[str], PartTexts]
    facts: Mapping[str, Any]


class Rejected(NamedTuple):
    """A part that could not be made, with the reason of each attempt."""

    id: str
    stage: str
    reasons: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """A row of rejected.jsonl."""
        return {"id": self.id, "stage": self.stage, "reasons": list(self.reasons)}


class Made(NamedTuple):
    """What came of one task: its parts, or None with the reason of each attempt. ``queued``: it waits in a batch file."""

    parts: PartTexts | None
    reasons: tuple[str, ...] = ()
    queued: bool = False


def stage_rows(path: Path) -> dict[str, dict[str, Any]]:
    """The rows that a stage has finished, by id."""
    return {row["id"]: row for _, row in read_jsonl(path)} if path.exists() else {}


def run_stage(
    stage: str, tasks: Sequence[Task], client: Client, path: Path, attempts: int
) -> tuple[dict[str, dict[str, Any]], list[Rejected]]:
    """Finish a stage: (its rows by id, what could not be made). Rows are appended to ``path`` as they come.

    Rows hold id, the parts, the task's facts and ``made``, the names of the parts that are not kept ones. Where requests
    wait in batch files, ``client.finish()`` is the caller's to call. Raises ServerError where the server is gone.
    """
    rows, rejected = stage_rows(path), []
    waiting = [task for task in tasks if task.id not in rows]
    with Appender(path) as file:

        def done(task: Task, parts: PartTexts) -> None:
            made = [name for name in parts if name not in task.kept]
            rows[task.id] = {"id": task.id, **parts, **task.kept, **task.facts, "made": made}
            file.write(rows[task.id])

        for task in waiting:
            if task.request is None:
                done(task, {})
        asked = [task for task in waiting if task.request is not None]
        for task, made in client.map(asked, lambda task: make(client, task, attempts), stage, len(asked)):
            if made.parts is not None:
                done(task, made.parts)
            elif not made.queued:
                rejected.append(Rejected(task.id, stage, made.reasons))
    return rows, sorted(rejected)


async def make(client: Client, task: Task, attempts: int) -> Made:
    """Ask until the answer can be read, at most ``attempts`` times."""
    reasons: list[str] = []
    assert task.request is not None
    asked = task.request
    for _ in range(attempts):
        answer = await client.answer(asked)
        if answer.queued:
            return Made(None, tuple(reasons), queued=True)
        try:
            return Made(task.read(answer_text(answer)))
        except BadAnswer as fault:
            reasons.append(str(fault))
        if answer.error:  # the client has tried all it can
            break
        asked = _asked_again(task.request, reasons)
    return Made(None, tuple(reasons))


def answer_text(answer: Answer) -> str:
    """The text of a whole answer. Raises BadAnswer for one that failed, was refused, was cut or is empty."""
    if answer.error:
        raise BadAnswer(f"the request failed ({answer.error})")
    if answer.refusal or answer.finish_reason == "content_filter":
        raise BadAnswer("the model refused")
    if not answer.text or not answer.text.strip():
        raise BadAnswer("the answer is empty")
    if answer.finish_reason == "length":
        raise BadAnswer("the answer was cut at the token limit")
    return answer.text


def _asked_again(request: Request, reasons: Sequence[str]) -> Request:
    """The request with what was wrong with the answers so far, which also gives it a key of its own."""
    faults = "\n".join(f"- {reason}" for reason in reasons)
    *before, last = request.messages
    asked = f"{last['content']}\n\nEarlier answers could not be used:\n{faults}\nKeep exactly to the format asked for."
    return replace(request, messages=(*before, {**last, "content": asked}))


def tagged(text: str, names: Iterable[str]) -> PartTexts:
    """The texts between <name> and </name>, which follow each other in this order with nothing around them.

    One line break after an opening and before a closing tag belongs to the tags. Raises BadAnswer for anything else.
    """
    parts, rest = {}, text.strip()
    wanted = list(names)
    for place, name in enumerate(wanted):
        opening, closing = f"<{name}>", f"</{name}>"
        if not rest.startswith(opening):
            raise BadAnswer(f"{opening} is expected where the answer has {rest[:30]!r}")
        # The text itself may hold tags of the same name: the last closing one before the next part ends it.
        after = rest.rfind(f"<{wanted[place + 1]}>") if place + 1 < len(wanted) else len(rest)
        end = rest.rfind(closing, 0, after if after >= 0 else len(rest))
        if end < 0:
            raise BadAnswer(f"{closing} is missing")
        body = rest[len(opening) : end].removeprefix("\n").removesuffix("\n")
        if not body.strip():
            raise BadAnswer(f"{opening} is empty")
        parts[name] = body
        rest = rest[end + len(closing) :].strip()
    if rest:
        raise BadAnswer(f"there is more after {closing}: {rest[:30]!r}")
    return parts
