"""What the scripted server says: answers from a table, a stated share of them spoilt on purpose, the same in every run."""

import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BAD_KINDS = ("refusal", "cut", "empty", "echo", "null")
_PREFIX = 24


@dataclass
class Answers:
    """``table`` maps source to answer: the longest source within the last user message wins; or a function of the body.

    A message without a row gets ``default``; where that is None, HTTP 400. ``bad_share`` of the answers is bad, of the
    ``bad_kinds`` in turn by chance; a message asked again may fare better, but always the same for the same ``seed``.
    """

    table: Mapping[str, str] | Callable[[dict[str, Any]], str | None] = field(default_factory=dict)
    default: str | None = None
    bad_share: float = 0.0
    bad_kinds: Sequence[str] = BAD_KINDS
    seed: int = 0
    times_asked: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._by_prefix: dict[str, list[str]] = {}
        for source in [] if callable(self.table) else self.table:
            self._by_prefix.setdefault(source[:_PREFIX], []).append(source)
        self._lengths = sorted({len(prefix) for prefix in self._by_prefix})

    def completion(self, body: dict[str, Any]) -> dict[str, Any] | None:
        """A chat completion, or None where the table has no row for the message."""
        message = last_user_message(body)
        source, text = self._look_up(message, body)
        if text is None:
            return None
        self.times_asked[message] += 1
        choice: dict[str, Any] = {"content": text, "finish_reason": "stop"}
        chance = random.Random(f"{self.seed} {self.times_asked[message]} {message}")
        if chance.random() < self.bad_share:
            choice = spoil(chance.choice(self.bad_kinds), source, text)
        reason = choice.pop("finish_reason")
        words = len(str(choice["content"] or "").split())
        asked = sum(len(str(turn["content"]).split()) for turn in body["messages"])
        return {
            "id": f"chatcmpl-{hashlib.sha256(message.encode()).hexdigest()[:12]}",
            "object": "chat.completion",
            "created": 0,
            "model": body.get("model"),
            "choices": [{"index": 0, "message": {"role": "assistant", **choice}, "finish_reason": reason}],
            "usage": {"prompt_tokens": asked, "completion_tokens": words, "total_tokens": asked + words},
        }

    def _look_up(self, message: str, body: dict[str, Any]) -> tuple[str, str | None]:
        if callable(self.table):
            answer = self.table(body)
            return message, self.default if answer is None else answer
        found = {
            source
            for length in self._lengths
            for start in range(len(message) - length + 1)
            for source in self._by_prefix.get(message[start : start + length], ())
            if message.startswith(source, start)
        }
        source = max(found, key=len, default=None)
        return (message, self.default) if source is None else (source, self.table[source])


def spoil(kind: str, source: str, text: str) -> dict[str, Any]:
    """A bad answer of one kind, with the finish reason that a server gives with it."""
    spoilt: dict[str, dict[str, Any]] = {
        "refusal": {"content": "I'm sorry, but I can't help with that.", "finish_reason": "stop"},
        "refusal_field": {"content": None, "refusal": "I can't help with that.", "finish_reason": "stop"},
        "cut": {"content": text[: len(text) // 2], "finish_reason": "length"},
        "empty": {"content": "", "finish_reason": "stop"},
        "echo": {"content": source, "finish_reason": "stop"},
        "null": {"content": None, "finish_reason": "content_filter"},
    }
    return spoilt[kind]


def last_user_message(body: dict[str, Any]) -> str:
    return next((str(turn["content"]) for turn in reversed(body["messages"]) if turn["role"] == "user"), "")


def read_table(path: str | Path) -> dict[str, str]:
    """Rows {"source": text, "answer": text}."""
    with open(path, encoding="utf-8") as handle:
        rows = [json.loads(line) for line in handle if line.strip()]
    return {row["source"]: row["answer"] for row in rows}
