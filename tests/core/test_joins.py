"""Joins: one to one or refused (case 28), by NFC text (case 30)."""

import unicodedata

import pytest

from core.agreement import agreement
from core.errors import DataError
from core.joins import join, nfc

NAMES = ("predictions", "records")


def identity(text: str) -> str:
    return text


def test_case_28_duplicate_ids_are_refused_and_named() -> None:
    # A plain merge of ids 1, 1, 2 with themselves gives 2*2 + 1 = 5 rows and a Pearson of 0.0 where the truth is 1.0.
    human = [("1", 5), ("1", 1), ("2", 3)]
    with pytest.raises(DataError, match=r"predictions: 1 ids occur more than once \(1\)"):
        join(human, human, lambda row: row[0], lambda row: row[0], NAMES)
    with pytest.raises(DataError, match=r"records: 1 ids occur more than once \(1\)"):
        join(human[1:], human, lambda row: row[0], lambda row: row[0], NAMES)


def test_case_28_with_ids_of_their_own_rows_out_are_rows_in() -> None:
    human, judge = [("a", 5), ("b", 1), ("c", 3)], [("c", 3), ("a", 5), ("b", 1)]
    pairs = join(human, judge, lambda row: row[0], lambda row: row[0], NAMES)
    assert [(left[0], right[0]) for left, right in pairs] == [("a", "a"), ("b", "b"), ("c", "c")]
    figures = agreement([left[1] for left, _ in pairs], [right[1] for _, right in pairs], resamples=10)
    assert figures.pearson.value == pytest.approx(1.0)


def test_rows_without_a_counterpart_are_named() -> None:
    with pytest.raises(DataError, match=r"predictions: 1 rows have no counterpart in records \(b\)"):
        join(["a", "b"], ["a"], identity, identity, NAMES)
    with pytest.raises(DataError, match=r"records: 1 rows have no counterpart in predictions \(b\)"):
        join(["a"], ["a", "b"], identity, identity, NAMES)
    assert join(["a"], ["a", "b"], identity, identity, NAMES, partial=True) == [("a", "a")]


def test_case_30_nfc_and_nfd_forms_are_the_same_key() -> None:
    left = ["café", "naïve", "plain", "\u0958"]
    right = [unicodedata.normalize("NFD", text) for text in left]
    assert len(set(left) & set(right)) == 1
    assert len(join(left, right, identity, identity, NAMES)) == 4
    assert nfc("\u0958") == nfc("\u0915\u093c") == "\u0915\u093c"
