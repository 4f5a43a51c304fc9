"""The length policy: what is shortened, in which order and how visibly, the same in training and judging.

The prompt's budget is ``max_length`` − 512, which leaves 512 tokens for the verdict. A prompt over it has its
reference answer shortened first, to 256 tokens at the least, then its response, to 256, at a boundary, with a visible
mark. Instruction, rubric and verdict stay whole; what still does not fit is refused.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from core.chat import encode_prompt
from core.prompt import build_messages
from core.records import JudgeRecord

VERDICT_TOKENS = 512
SHORTEST_FIELD = 256
MARK = " […]"
TOO_LONG = "too long"


class Fitted(NamedTuple):
    """A record's prompt within the budget. ``prompt`` is None where the record was refused as too long.

    ``record`` holds the texts as shown; ``tokens`` is the length of the prompt as it would be shown.
    """

    record: JudgeRecord
    prompt: list[int] | None
    tokens: int
    shortened: bool


def fit(
    record: JudgeRecord, tokenizer: Any, max_length: int, template: str = "default", with_reference: bool = True
) -> Fitted:
    """Fit one record's prompt into ``max_length`` − 512 tokens, or refuse it.

    Raises DataError for a record without reference under a template with one.
    """
    budget = max_length - VERDICT_TOKENS

    def encode(shown: JudgeRecord) -> list[int]:
        return encode_prompt(tokenizer, build_messages(shown, template, with_reference))

    shown, prompt = record, encode(record)
    for field in ("reference_answer", "response") if with_reference else ("response",):
        if len(prompt) > budget:
            shown, prompt = _shorten_field(shown, field, prompt, budget, tokenizer, encode)
    shortened = shown is not record
    return Fitted(shown, prompt if len(prompt) <= budget else None, len(prompt), shortened)


def _shorten_field(
    record: JudgeRecord,
    field: str,
    prompt: list[int],
    budget: int,
    tokenizer: Any,
    encode: Callable[[JudgeRecord], list[int]],
) -> tuple[JudgeRecord, list[int]]:
    """Shorten one field by what the prompt is over, a little more each time tokens merge unluckily at the cut."""
    length = count_tokens(getattr(record, field), tokenizer)
    keep = length
    while len(prompt) > budget and keep > SHORTEST_FIELD:
        keep = max(SHORTEST_FIELD, min(keep - 1, keep - (len(prompt) - budget)))
        record = record.model_copy(update={field: shorten(getattr(record, field), keep, tokenizer)})
        prompt = encode(record)
    return record, prompt


def shorten(text: str, max_tokens: int, tokenizer: Any) -> str:
    """The text cut to ``max_tokens`` tokens, mark included, at the last sentence or word boundary of its final fifth.

    Returns the text itself where it fits. Boundaries are those of any script: 。 । ؟ . ! ? and white space.
    """
    if count_tokens(text, tokenizer) <= max_tokens:
        return text
    text = text.removesuffix(MARK)
    encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    room = max(1, max_tokens - count_tokens(MARK, tokenizer))
    end = encoded["offset_mapping"][:room][-1][1]
    while True:
        cut = text[:end]
        sentence = [match.end() for match in re.finditer(r"[.!?。！？।॥؟۔…](?=\s|$)|[。！？]|\n", cut)]
        word = [match.start() for match in re.finditer(r"\s", cut)]
        at = next((ends[-1] for ends in (sentence, word) if ends and ends[-1] >= 0.8 * end), end)
        short = cut[:at].rstrip() + MARK
        if count_tokens(short, tokenizer) <= max_tokens or end <= 1:
            return short
        end -= 1


def count_tokens(text: str, tokenizer: Any) -> int:
    """Tokens of a text alone, special tokens not counted."""
    return len(tokenizer(text, add_special_tokens=False)["input_ids"])
