"""What the trainer hands to the model: every verdict whole, after all that trl does to the examples on the way.

trl may pack, cut or drop rows, and its collator makes the labels that the loss sees.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray

from train.dataset import MASKED

ROWS_AT_ONCE = 64


class Learned(NamedTuple):
    """What labels hold: verdicts (runs of supervised tokens), those that end with the stop token, and all their tokens."""

    verdicts: int
    whole: int
    tokens: int


def check_received(
    received: Dataset, collate: Callable[[list[dict[str, Any]]], Any], encoded: Dataset, stop: int
) -> None:
    """Compare the labels that ``collate`` makes of ``received`` with those of ``encoded``, the examples as they were made.

    Raises RuntimeError where a verdict is cut or missing, as in a row without a label.
    """
    made = _total(learned(np.concatenate(list(rows["labels"])), stop) for rows in _slices(encoded))
    seen = _total(learned(collate(_examples(rows))["labels"].flatten().numpy(), stop) for rows in _slices(received))
    if not made == seen or made.whole != len(encoded):
        raise RuntimeError(
            f"{len(encoded)} examples have {made.tokens} tokens to learn, and the trainer makes {seen.verdicts} verdicts "
            f"({seen.whole} whole) of {seen.tokens} tokens of them"
        )


def learned(labels: NDArray[Any], stop: int) -> Learned:
    """Count verdicts in labels [tokens]; one ends where the next example's prompt, which is masked, begins."""
    supervised = labels != MASKED
    last = supervised & ~np.append(supervised[1:], False)
    return Learned(int(last.sum()), int((labels[last] == stop).sum()), int(supervised.sum()))


def _total(parts: Iterator[Learned]) -> Learned:
    return Learned(*(sum(counts) for counts in zip(*parts, strict=True)))


def _slices(dataset: Dataset) -> Iterator[dict[str, Any]]:
    rows = dataset.with_format("numpy")
    return (rows[start : start + ROWS_AT_ONCE] for start in range(0, len(rows), ROWS_AT_ONCE))


def _examples(columns: dict[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
