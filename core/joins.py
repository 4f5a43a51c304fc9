"""Joins of rows: by id where there is one, by NFC text where there is none, always one to one and never in silence."""

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from core.errors import DataError
from core.records import check_unique

L = TypeVar("L")
R = TypeVar("R")


def nfc(text: str) -> str:
    """Text as it is compared: Unicode NFC, so that é equals e + ´ and U+0958 equals U+0915 U+093C. Files keep theirs."""
    return unicodedata.normalize("NFC", text)


def join(
    left: Sequence[L],
    right: Sequence[R],
    left_key: Callable[[L], str],
    right_key: Callable[[R], str],
    names: tuple[str, str],
    partial: bool = False,
) -> list[tuple[L, R]]:
    """Each left row with the right row of the same key (compared in NFC); rows out = rows of ``left``, in its order.

    ``names`` say what the two sides are in errors. With ``partial``, right rows without a left one are allowed.
    Raises DataError for a key that occurs twice on a side, and for rows without their counterpart.
    """
    left_keys = [nfc(left_key(row)) for row in left]
    right_keys = [nfc(right_key(row)) for row in right]
    check_unique(left_keys, names[0])
    check_unique(right_keys, names[1])
    by_key = dict(zip(right_keys, right, strict=True))
    _check_none_alone(left_keys, by_key, *names)
    if not partial:
        _check_none_alone(right_keys, set(left_keys), *reversed(names))
    return [(row, by_key[key]) for row, key in zip(left, left_keys, strict=True)]


def _check_none_alone(keys: Iterable[str], others: Iterable[str], here: str, there: str) -> None:
    alone = [key for key in keys if key not in others]
    if alone:
        some = ", ".join(alone[:5]) + (", …" if len(alone) > 5 else "")
        raise DataError(
            f"{here}: {len(alone)} rows have no counterpart in {there} ({some}); give both files the same ids"
        )
