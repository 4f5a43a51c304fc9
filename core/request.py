"""One request to a model and its answer, and the key by which an answer is found again."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from core.jsonl import finite

Message = dict[str, str]
QUEUED = "queued"
_GIVEN_UP = ("error", "abort")  # finish reasons of routers and of vLLM for an answer that they did not end


@dataclass(frozen=True)
class Request:
    """What is asked. ``task`` and ``prompt_version`` name our prompt; a change of its wording changes the version.

    ``id`` is what errors call the request; ``parameters`` (temperature, max_tokens, response_format, ...) are sent as they are.
    """

    id: str
    messages: tuple[Message, ...]
    task: str
    prompt_version: str
    language: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def key(self, model: str) -> str:
        """SHA-256, as 64 hexadecimal digits, of everything that decides the answer; ``id`` does not."""
        parts = [self.messages, self.task, self.language, self.prompt_version, model, dict(self.parameters)]
        return hashlib.sha256(json.dumps(parts, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    def body(self, model: str) -> dict[str, Any]:
        """The request as the server reads it, in a call and in a batch file alike."""
        return {"model": model, "messages": list(self.messages), **self.parameters}


class Answer(NamedTuple):
    """What a server gave, as the store keeps it. ``text`` is None where it gave none; ``error`` says why nothing was stored, ``refused``
    that the server found fault with the request itself.

    An answer is complete, not good: cut (``finish_reason`` length), filtered and refused ones are the caller's to judge.
    """

    key: str
    task: str
    language: str | None
    model: str
    text: str | None = None
    finish_reason: str | None = None
    refusal: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    logprobs: Any = None
    error: str | None = None
    refused: bool = False

    @property
    def queued(self) -> bool:
        """Whether the request waits in a batch file."""
        return self.error == QUEUED


def read_completion(completion: Any, key: str, task: str, language: str | None, model: str) -> Answer:
    """The first choice of a chat completion. Raises ValueError where it is none: cut, an error in disguise, or given up midway."""
    try:
        choice = completion["choices"][0]
        message = choice["message"]
        usage = completion.get("usage") or {}
        if choice.get("finish_reason") in _GIVEN_UP:
            raise KeyError
        return Answer(
            key=key,
            task=task,
            language=language,
            model=model,
            text=_writable(message.get("content")),
            finish_reason=choice.get("finish_reason"),
            refusal=_writable(message.get("refusal")),
            prompt_tokens=usage.get("prompt_tokens"),
            completion_tokens=usage.get("completion_tokens"),
            logprobs=_finite(choice.get("logprobs")),
        )
    except (KeyError, IndexError, TypeError, AttributeError):
        raise ValueError(f"no chat completion: {str(completion)[:200]!r}") from None


def _writable(text: str | None) -> str | None:
    """The text, with U+FFFD for half of a surrogate pair: what is left of a character that was cut, and no file takes it."""
    return None if text is None else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _finite(value: Any) -> Any:
    """The value with None for NaN and infinity, which JSON has not."""
    if isinstance(value, float):
        return finite(value)
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list) else value
