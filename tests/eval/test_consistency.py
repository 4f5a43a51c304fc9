"""Consistency over languages: pairs by hand, unscored sides, several rows of an item, and intervals over items."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eval.consistency import consistency
from eval.judged import JudgedItem
from tests.eval.predictions_for_tests import GOLD, JUDGE, rows, run


def items(scores: dict[str, list[int | None]], **changes: Any) -> list[JudgedItem]:
    """Row n of each language is of item n, with gold 3."""
    return [
        JudgedItem(f"{code}{n}", f"i{n}", code, 3.0, score)._replace(**changes)
        for code, own in scores.items()
        for n, score in enumerate(own)
    ]


def test_pairs_by_hand() -> None:
    # hi-te: |1−1|, |2−4|, |3−3| and an unscored pair; bn judged the first item only: |5−1| twice.
    found = consistency({"j": items({"te": [1, 4, 3, 2], "hi": [1, 2, 3, None], "bn": [5]})}, 200, 0)
    assert found.notes == []
    judge = found.by_judge["j"]
    assert list(judge["pairs"]) == ["bn-hi", "bn-te", "hi-te"]
    hi_te = judge["pairs"]["hi-te"]
    assert hi_te["mean_absolute_difference"]["value"] == pytest.approx(2 / 3)
    assert hi_te["equal"]["value"] == pytest.approx(2 / 3)
    assert (hi_te["equal"]["n"], hi_te["equal"]["n_unscored"]) == (3, 1)
    assert judge["pairs"]["bn-hi"]["mean_absolute_difference"]["value"] == 4
    assert judge["pairs"]["bn-hi"]["equal"]["low"] is None  # one item
    # All: 0, 2, 0, 4, 4 over five pairs.
    assert judge["mean_absolute_difference"]["value"] == pytest.approx(2)
    assert judge["equal"]["value"] == pytest.approx(0.4)


def test_pairs_of_an_item_are_resampled_together() -> None:
    # Three languages, 40 items, equal everywhere on half of them: the share varies as one of 40 does, not of 120 pairs.
    scores: list[int | None] = [3] * 40
    odd: list[int | None] = [3] * 20 + [4] * 20
    far: list[int | None] = [3] * 20 + [5] * 20
    equal = consistency({"j": items({"bn": scores, "hi": odd, "te": far})}, 10_000, 0).by_judge["j"]["equal"]
    half = 1.96 * np.sqrt(0.25 / 40)
    assert equal["value"] == 0.5
    assert [equal["low"], equal["high"]] == pytest.approx([0.5 - half, 0.5 + half], abs=0.02)


def test_several_rows_of_an_item_are_matched_by_system_then_by_gold() -> None:
    both = {"hi": [1, 2], "te": [1, 4]}
    by_system = items(both, system="a") + items({"hi": [5, 5], "te": [3, 5]}, system="b")
    # Within a: 0, 2; within b: 2, 0.
    found = consistency({"j": by_system}, 10, 0)
    assert found.by_judge["j"]["mean_absolute_difference"]["value"] == 1
    by_gold = items(both) + items({"hi": [5, 5], "te": [3, 5]}, gold=5.0)
    assert consistency({"j": by_gold}, 10, 0).by_judge == found.by_judge
    same = items(both) + items({"hi": [5]})
    # Item 0 has two Hindi rows that nothing tells apart: only item 1 is left, 2 and 4.
    left = consistency({"j": same}, 10, 0)
    assert left.by_judge["j"]["mean_absolute_difference"]["n"] == 1
    assert left.notes == ["j: 2 rows are several of one item in a language; consistency leaves them out"]


def test_a_judge_of_one_language_or_of_other_items_has_none(tmp_path: Path) -> None:
    hindi = [row.model_copy(update={"id": f"hi{row.id}"}) for row in rows(JUDGE[::-1], GOLD, "k", "hi")]
    metrics = run(tmp_path, rows(JUDGE, GOLD), rows(JUDGE, GOLD, "k"), hindi)
    assert list(metrics["consistency"]) == ["k"]
    difference = np.abs(np.subtract(JUDGE, JUDGE[::-1]))
    assert metrics["consistency"]["k"]["pairs"]["fr-hi"]["equal"]["value"] == pytest.approx(np.mean(difference == 0))
    assert metrics["consistency"]["k"]["mean_absolute_difference"]["value"] == pytest.approx(difference.mean())


def test_pairs_without_scores_are_null_with_a_reason() -> None:
    found = consistency({"j": items({"hi": [None, None], "te": [1, 2]})}, 10, 0).by_judge["j"]
    assert (found["equal"]["value"], found["equal"]["n_unscored"]) == (None, 2)
    assert found["equal"]["reason"] == "no pair has a score in both languages"
