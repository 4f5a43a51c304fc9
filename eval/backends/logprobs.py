"""The probabilities of 1 to 5 from the log-probabilities of a chat completion, in the same form as the in-process backend's."""

import math
import re
from typing import Any

from eval.backends.completion import SCORES, DigitStep

_SPECIAL = re.compile(rb"<[^<>\s]+>")


def digit_steps(text: str, logprobs: Any) -> list[DigitStep]:
    """The digits from 1 to 5 in ``text`` that are one token each, with the listed probabilities of 1 to 5 at that token.

    ``logprobs`` is a choice's, as OpenAI and vLLM give it: ``content``, one entry a token with its ``top_logprobs``. A
    score that is not among these counts as probability 0. Empty where there are none, or none that spell the text.
    """
    entries = (logprobs.get("content") if isinstance(logprobs, dict) else None) or []
    pieces = [_bytes(entry) for entry in entries]
    wanted = text.encode()
    if wanted not in b"".join(pieces):  # servers leave special tokens out of the text
        pieces = [b"" if _SPECIAL.fullmatch(piece) else piece for piece in pieces]
    start = b"".join(pieces).rfind(wanted)  # before it: reasoning, or a space that the server took off
    if not text or start < 0:
        return []
    found, at = [], -start
    for entry, piece in zip(entries, pieces, strict=True):
        digit = piece.decode(errors="replace").strip()
        offset = at + piece.find(digit.encode())
        at += len(piece)
        if _is_score(digit) and 0 <= offset < len(wanted):
            probabilities = _probabilities(entry, digit)
            if sum(probabilities) > 0:
                found.append(DigitStep(len(wanted[:offset].decode()), probabilities))
    return found


def _is_score(digit: str) -> bool:
    return len(digit) == 1 and digit.isdecimal() and int(digit) in SCORES


def _probabilities(entry: dict[str, Any], digit: str) -> tuple[float, ...]:
    """Those of the five tokens of the same form (leading space, script) as the one that was written."""
    listed: dict[str, float] = {}
    for token in (entry, *(entry.get("top_logprobs") or [])):
        # Tokens that differ in what is not shown can print alike; the likeliest of them comes first.
        listed.setdefault(_bytes(token).decode(errors="replace"), token["logprob"])
    zero = ord(digit) - int(digit)
    written = _bytes(entry).decode()
    same_form = [written.replace(digit, chr(zero + score)) for score in SCORES]
    return tuple(math.exp(min(0.0, listed[token])) if token in listed else 0.0 for token in same_form)


def _bytes(token: dict[str, Any]) -> bytes:
    """A token's bytes: they are given because a token may be a part of a character only."""
    given = token.get("bytes")
    return str(token["token"]).encode() if given is None else bytes(given)
