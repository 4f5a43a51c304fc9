"""Cells: what is a score, and what is refused."""

from typing import Any

import pytest

from core.errors import DataError
from data_prep.values import score_list, text_ids, whole_score


@pytest.mark.parametrize(
    ("cell", "score"), [(4, 4), ("4", 4), (4.0, 4), (" 4.0 ", 4), ("४", 4), ("", None), (None, None)]
)
def test_whole_scores(cell: Any, score: int | None) -> None:
    assert whole_score(cell, "line 1") == score


@pytest.mark.parametrize("cell", [4.5, "4.5", "four", True, "nan", float("inf"), [4]])
def test_what_is_no_whole_score_is_refused(cell: Any) -> None:
    with pytest.raises(DataError, match="line 1: score"):
        whole_score(cell, "line 1")


@pytest.mark.parametrize(
    ("cell", "scores"),
    [("[4, 2]", [4, 2]), ("['3', '-1']", [3, -1]), ([2, 3], [2, 3]), ("2.5", [2.5]), ("", []), (None, []), ("[]", [])],
)
def test_score_lists_in_both_encodings(cell: Any, scores: list[float]) -> None:
    assert score_list(cell, "line 1") == scores


@pytest.mark.parametrize("cell", ["3;4", "[3, x]", "['good']", "[3"])
def test_what_is_no_list_of_scores_is_refused(cell: str) -> None:
    with pytest.raises(DataError, match="line 1"):
        score_list(cell, "line 1")


def test_ids_become_text_and_empty_ones_go() -> None:
    assert text_ids({"id": 7, "item_id": "", "n": 7}) == {"id": "7", "n": 7}
