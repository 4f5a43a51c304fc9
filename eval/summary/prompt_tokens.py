"""Token ids of what a metric's prompt is made of, tokenized apart so that no token spans a boundary, cut visibly to fit."""

from collections.abc import Callable
from typing import Any, NamedTuple

from core.length import count_tokens, shorten

# A text that would have to be shorter than this is not shortened; its summary is unscored.
SHORTEST_TEXT = 64


class FittedText(NamedTuple):
    """Token ids with a text within them; ``shortened`` where the text was cut."""

    ids: list[int]
    shortened: bool


def text_ids(text: str, tokenizer: Any) -> list[int]:
    """Token ids of a text alone. One that spells a control token is read as the characters that it is made of."""
    return list(tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"])


def opening_ids(tokenizer: Any) -> list[int]:
    """BOS, where the tokenizer puts one before a text."""
    bos = tokenizer.bos_token_id
    return [bos] if bos in tokenizer("")["input_ids"] else []


def fit_text(text: str, room: int, tokenizer: Any, encode: Callable[[str], list[int]]) -> FittedText | None:
    """``encode(text)``, of the text shortened to where that has at most ``room`` tokens; None where it cannot be."""
    ids = encode(text)
    keep = length = count_tokens(text, tokenizer)
    # Tokens may merge unluckily at the cut: the next try is then one shorter.
    while len(ids) > room and keep > SHORTEST_TEXT:
        keep = max(SHORTEST_TEXT, min(keep - 1, keep - (len(ids) - room)))
        ids = encode(shorten(text, keep, tokenizer))
    return FittedText(ids, keep < length) if len(ids) <= room else None


def longest_input(model: Any, max_length: int) -> int:
    """``max_length`` within the positions that the model knows."""
    longest = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    return min(max_length, longest or max_length)
