"""Ranks of judges: order and clusters against tests of the pairs, on common rows, with ties and judges without a value."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from core.multiple_tests import holm
from core.paired import permutation_test
from eval.agree_table import number
from eval.judged import JudgedItem
from eval.ranks import rank
from tests.eval.predictions_for_tests import GOLD, JUDGE, rows, run

RNG = np.random.default_rng(0)
MANY = RNG.integers(1, 6, 120).tolist()


def judge(errors: float, gold: list[int] = MANY, language: str = "fr", seed: int = 0) -> list[JudgedItem]:
    """A judge that draws its score at random on a share of rows, and is right on the others."""
    rng = np.random.default_rng(seed)
    scores = [int(rng.integers(1, 6)) if rng.random() < errors else score for score in gold]
    return [
        JudgedItem(f"{language}{n}", f"i{n}", language, float(g), score)
        for n, (g, score) in enumerate(zip(gold, scores, strict=True))
    ]


def test_clusters_part_what_the_tests_part() -> None:
    judges = {
        "bad": judge(1.0),
        "good": judge(0.1, seed=1),
        "also good": judge(0.1, seed=2),
        "fair": judge(0.4, seed=3),
    }
    found = rank(judges, 2000, 0)
    assert found.notes == []
    assert [(row["group"], row["statistic"], row["n"]) for row in found.rows] == [
        ("all", "kappa", 120),
        ("all", "pearson", 120),
    ]
    for row in found.rows:
        names = [one["name"] for one in row["judges"]]
        assert set(names[:2]) == {"good", "also good"}
        assert names[2:] == ["fair", "bad"]
        assert [one["rank"] for one in row["judges"]] == [1, 2, 3, 4]
        assert [one["cluster"] for one in row["judges"]] == [1, 1, 2, 3]
        values = [one["value"] for one in row["judges"]]
        assert values == sorted(values, reverse=True)
    best = found.rows[1]["judges"][0]
    scores = [item.score for item in judges[best["name"]]]
    assert best["value"] == pytest.approx(stats.pearsonr(MANY, scores).statistic)


def test_pairs_are_corrected_by_holm() -> None:
    # Seed and permutations make each pair's p known: one cluster where corrected p's pass .05, although one raw p does not.
    judges = {f"j{n}": judge(0.4, seed=n) for n in range(6)}
    (kappa, _) = rank(judges, 500, 0).rows
    order = [one["name"] for one in kappa["judges"]]
    scores = {name: [item.score for item in items] for name, items in judges.items()}
    items = [item.item_id for item in judges["j0"]]
    pairs = [(a, b) for n, a in enumerate(order) for b in order[n + 1 :]]
    raw = [permutation_test(MANY, scores[a], scores[b], items, "kappa", 500, 0) for a, b in pairs]
    corrected = holm(raw)
    assert min(p for p in raw if p is not None) <= 0.05
    assert min(p for p in corrected if p is not None) > 0.05
    assert {one["cluster"] for one in kappa["judges"]} == {1}


def test_languages_are_ranked_apart_and_on_common_rows_only() -> None:
    a = judge(0.1) + judge(0.9, MANY[:40], "hi", 5)
    b = judge(0.9, seed=4)[:100] + judge(0.1, MANY[:40], "hi", 6)
    found = rank({"a": a, "b": b}, 2000, 0)
    assert found.notes == ["ranks are over the 140 rows that all 2 judges have"]
    order = {(row["group"], row["statistic"]): [one["name"] for one in row["judges"]] for row in found.rows}
    assert order[("fr", "kappa")] == ["a", "b"]
    assert order[("hi", "kappa")] == ["b", "a"]
    assert {row["group"]: row["n"] for row in found.rows} == {"all": 140, "fr": 100, "hi": 40}


def test_equal_judges_share_a_rank_and_a_constant_one_has_none_by_pearson(tmp_path: Path) -> None:
    constant = rows([3] * 10, GOLD, "constant")
    metrics = run(tmp_path, rows(JUDGE, GOLD, "b"), rows(JUDGE, GOLD, "a"), constant)
    kappa, pearson = metrics["ranks"]
    assert [(one["name"], one["rank"], one["cluster"]) for one in kappa["judges"][:2]] == [("a", 1, 1), ("b", 1, 1)]
    assert (kappa["judges"][2]["name"], kappa["judges"][2]["value"]) == ("constant", pytest.approx(0))
    assert pearson["judges"][2] == {"name": "constant", "value": None, "rank": None, "cluster": None}
    table = (tmp_path / "out" / "table.md").read_text()
    line = next(line for line in table.split("ranked on")[1].splitlines() if line.startswith("| a "))
    r = number(stats.pearsonr(GOLD, JUDGE).statistic)
    assert [cell.strip() for cell in line.strip("| ").split("|")] == ["a", "1 (1) .68", f"1 (1) {r}"]


def test_one_judge_or_nothing_in_common_has_no_ranks(tmp_path: Path) -> None:
    assert rank({"a": judge(0.1)}, 10, 0) == ([], [])
    other = [row.model_copy(update={"id": f"s{n}"}) for n, row in enumerate(rows(JUDGE, GOLD, "b"))]
    metrics = run(tmp_path, rows(JUDGE, GOLD, "a"), other)
    assert metrics["ranks"] == []
    assert "no ranks: no row is common to all judges" in metrics["notes"]


def test_where_gold_is_a_mean_ranks_are_by_pearson_alone(tmp_path: Path) -> None:
    gold = [1.5, *GOLD[1:]]
    metrics = run(tmp_path, rows(JUDGE, gold, "a"), rows(JUDGE[::-1], gold, "b"))
    assert [row["statistic"] for row in metrics["ranks"]] == ["pearson"]
