"""Comparisons: Holm over the table, by language, on common rows, and inputs that leave nothing to compare."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.agreement import agreement
from core.multiple_tests import holm
from core.records import Prediction
from tests.eval.predictions_for_tests import GOLD, JUDGE, records, rows, run


def two_languages(scores: list[int | None], judge: str) -> list[Prediction]:
    hindi = [row.model_copy(update={"id": f"hi{row.id}"}) for row in rows(scores[::-1], GOLD[::-1], judge, "hi")]
    return rows(scores, GOLD, judge) + hindi


def test_p_is_corrected_over_the_whole_table(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    gold = rng.integers(1, 6, 40).tolist()
    worse = np.where(rng.random(40) < 0.5, rng.integers(1, 6, 40), gold).tolist()
    judges = rows(gold, gold, "a"), rows(worse, gold, "b"), rows([3] * 40, gold, "c")
    metrics = run(tmp_path, *judges, judged=records(gold), resamples=500)
    table = metrics["comparisons"]
    # Three pairs of judges, three judges with the length baseline.
    assert [(row["a"], row["b"]) for row in table] == [
        ("a", "b"), ("a", "c"), ("b", "c"), ("a", "length baseline"), ("b", "length baseline"), ("c", "length baseline")
    ]  # fmt: skip
    assert [row["p_holm"] for row in table] == holm([row["p"] for row in table])
    assert table[0]["p"] == table[0]["p_smallest"] < table[0]["p_holm"]
    assert {row["group"] for row in table} == {"all"}


def test_languages_are_compared_apart_too(tmp_path: Path) -> None:
    a, b = two_languages(JUDGE, "a"), two_languages([3, 3, 2, 4, 5, 3, 1, 4, 5, 1], "b")
    metrics = run(tmp_path, a, b)
    table = {row["group"]: row for row in metrics["comparisons"]}
    assert list(table) == ["all", "fr", "hi"]
    assert [row["n"] for row in table.values()] == [20, 10, 10]
    french = [agreement(GOLD, scores, resamples=0).kappa.value for scores in (JUDGE, [3, 3, 2, 4, 5, 3, 1, 4, 5, 1])]
    assert table["fr"]["difference"]["value"] == pytest.approx(french[0] - french[1])  # type: ignore[operator]
    text = (tmp_path / "out" / "table.md").read_text()
    assert "| difference (* p, Holm ≤ .05) |" in text
    # The plain table holds the comparison over all rows only.
    assert sum(line.startswith("| a − b") for line in text.splitlines()) == 2


def test_a_language_that_only_one_judge_has_is_not_compared(tmp_path: Path) -> None:
    metrics = run(tmp_path, two_languages(JUDGE, "a"), rows(JUDGE[::-1], GOLD, "b"))
    assert [row["group"] for row in metrics["comparisons"]] == ["all"]
    assert metrics["comparisons"][0]["n"] == 10
    assert "a (20 rows) and b (10) are compared on 10 in common" in metrics["notes"]
    assert "ranks are over the 10 rows that all 2 judges have" in metrics["notes"]


@pytest.mark.parametrize(
    ("scores", "kappa", "pearson"),
    [
        ([3] * 10, 0.0, "constant scores"),
        # Each unscored row stands farthest from gold: 5 for gold 1 to 3, 1 for 4 and 5.
        ([None] * 10, "value", "value"),
    ],
)
def test_a_constant_or_unscored_judge_is_compared(tmp_path: Path, scores: Any, kappa: Any, pearson: Any) -> None:
    metrics = run(tmp_path, rows(JUDGE, GOLD, "a"), rows(scores, GOLD, "b"), judged=records(GOLD))
    figures = metrics["judges"]["b"]["all"]
    if kappa == "value":
        placed = [5 if score <= 3 else 1 for score in GOLD]
        known = agreement(GOLD, placed, resamples=0)
        assert figures["kappa"]["value"] == pytest.approx(known.kappa.value)
        assert figures["pearson"]["value"] == pytest.approx(known.pearson.value)
        assert figures["kappa_scored"]["reason"] == figures["generosity"]["reason"] == "no items"
        assert figures["unscored_rate"]["value"] == 1
        assert figures["score_distribution"]["score"] == [0] * 5
    else:
        assert figures["kappa"]["value"] == pytest.approx(kappa)
        assert figures["pearson"]["reason"] == pearson
    assert metrics["comparisons"][0]["p"] < 0.05


def test_a_language_with_two_rows(tmp_path: Path) -> None:
    few = [row.model_copy(update={"id": f"hi{n}"}) for n, row in enumerate(rows([1, 5], [1, 4], language="hi"))]
    metrics = run(tmp_path, rows(JUDGE, GOLD) + few)
    hindi = metrics["judges"]["j"]["by_language"]["hi"]
    # Distances 0 and 1: 1 observed; by chance |1−1| + |1−5| + |4−1| + |4−5| = 8 over 2 rows: 1 − 1 · 2 / 8.
    assert hindi["kappa"]["value"] == pytest.approx(0.75)
    assert hindi["pearson"]["value"] == pytest.approx(1)
    assert (hindi["n"], hindi["kappa"]["low"] <= 0.75 <= hindi["kappa"]["high"]) == (2, True)
    assert metrics["judges"]["j"]["mean_over_languages"]["kappa"]["n_defined"] == 2
