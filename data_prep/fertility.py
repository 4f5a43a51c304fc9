"""How many tokens a tokenizer makes of a language's texts: per word and per character, with intervals over items."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.agreement import Figure
from core.bootstrap import CHUNK_NUMBERS, Floats
from core.languages import language

# ISO 15924 codes of the scripts written without spaces between words.
_UNSPACED = ("Jpan", "Hans", "Hant", "Thai", "Laoo", "Khmr", "Mymr")
NO_WORDS = "written without spaces between words, so words are not counted"


@dataclass(frozen=True)
class Text:
    """A text and the item or document that it is of, which is what is resampled."""

    text: str
    cluster: str


@dataclass(frozen=True)
class Fertility:
    """Tokens a word and tokens a character: ratios of sums over all texts. ``n`` of each counts items or documents."""

    tokens_per_word: Figure
    tokens_per_character: Figure
    texts: int


def fertility(texts: Sequence[Text], code: str, tokenizer: Any, resamples: int = 2000, seed: int = 0) -> Fertility:
    """Words are what white space separates, characters are Unicode code points, white space included.

    Special tokens are not counted. The interval is the 95 % percentile bootstrap over clusters.
    """
    encoded = tokenizer([text.text for text in texts], add_special_tokens=False)["input_ids"]
    tokens = _by_cluster(texts, [len(ids) for ids in encoded])
    words = _by_cluster(texts, [len(text.text.split()) for text in texts])
    characters = _by_cluster(texts, [len(text.text) for text in texts])
    unspaced = NO_WORDS if language(code).script in _UNSPACED else None
    return Fertility(
        ratio(tokens, words, resamples, seed, unspaced), ratio(tokens, characters, resamples, seed), len(texts)
    )


def ratio(above: Floats, below: Floats, resamples: int, seed: int, reason: str | None = None) -> Figure:
    """The ratio of two sums over clusters, [n] each, with its interval; without a value where ``reason`` says why."""
    n = len(above)
    if reason is None and not below.sum():
        reason = "nothing to count"
    if reason is not None:
        return Figure.from_draws(np.empty(0), [], reason, n, 0)
    rng = np.random.default_rng(seed)
    draws = []
    for start in range(0, resamples if n > 1 else 0, chunk := max(1, CHUNK_NUMBERS // n)):
        drawn = rng.integers(0, n, size=(min(chunk, resamples - start), n))
        total = below[drawn].sum(axis=1)
        draws.append(np.divide(above[drawn].sum(axis=1), total, out=np.full(len(total), np.nan), where=total > 0))
    return Figure.from_draws(np.array([above.sum() / below.sum()]), draws, None, n, 0)


def _by_cluster(texts: Sequence[Text], counts: Sequence[int]) -> NDArray[np.float64]:
    sums: dict[str, int] = {}
    for text, count in zip(texts, counts, strict=True):
        sums[text.cluster] = sums.get(text.cluster, 0) + count
    return np.array(list(sums.values()), float)
