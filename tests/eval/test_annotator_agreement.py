"""Agreement between the annotators of the records, worked by hand and by scipy, and judges measured against their mean."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from core.errors import ConfigError, DataError
from core.records import JudgeRecord
from eval.agree import AgreeConfig
from eval.annotator_agreement import annotator_agreement
from tests.eval.predictions_for_tests import records, rows, run

THREE = [[1, 1, 3], [2, 3, 2], [3, 2, 1], [5, 4, 4]]


def rated(ratings: list[list[float]], gold: list[int | None] | None = None, language: str = "fr") -> list[JudgeRecord]:
    plain = records(gold or [None] * len(ratings), language=language)
    return [one.model_copy(update={"human_scores": own}) for one, own in zip(plain, ratings, strict=True)]


def test_figures_of_three_annotators(tmp_path: Path) -> None:
    metrics = run(tmp_path, rows([1, 3, 2, 5], [None] * 4), judged=rated(THREE))  # type: ignore[arg-type]
    found = metrics["annotators"]
    assert found["by_language"].keys() == {"fr"}
    assert found["all"] == found["by_language"]["fr"]
    a, b, c = np.array(THREE, float).T
    pairs = [stats.pearsonr(x, y).statistic for x, y in ((a, b), (a, c), (b, c))]
    assert found["all"]["raters"] == 3
    assert found["all"]["pairwise_pearson"]["value"] == pytest.approx(np.mean(pairs))
    ceiling = [stats.pearsonr(x, (a + b + c - x) / 2).statistic for x in (a, b, c)]
    assert found["all"]["leave_one_out"]["value"] == pytest.approx(np.mean(ceiling))
    rest = np.concatenate([(b + c) / 2, (a + c) / 2, (a + b) / 2])
    pooled = stats.pearsonr(np.concatenate([a, b, c]), rest).statistic
    assert found["all"]["leave_one_out_pooled"]["value"] == pytest.approx(pooled)
    # Interval alpha is 1 − observed / expected: mean δ² of ordered pairs within a text, and of any two ratings.
    values = np.array(THREE, float)
    observed = sum(((unit[:, None] - unit) ** 2).sum() / 2 for unit in values) / values.size
    expected = ((values.ravel()[:, None] - values.ravel()) ** 2).sum() / (values.size * (values.size - 1))
    assert found["all"]["alpha"]["value"] == pytest.approx(1 - observed / expected)
    assert found["all"]["alpha"]["n"] == 4
    # The judge is measured against the mean of the three.
    means = values.mean(axis=1)
    assert metrics["judges"]["j"]["all"]["pearson"]["value"] == pytest.approx(
        stats.pearsonr(means, [1, 3, 2, 5]).statistic
    )
    assert "| annotators" in (tmp_path / "out" / "table.md").read_text()


def test_records_with_fewer_than_two_scores_are_no_part() -> None:
    assert annotator_agreement(rated([[1], [2]]), 10, 0) is None
    assert annotator_agreement(records([1, 2]), 10, 0) is None
    ragged = rated([[1, 2], [2], [3, 4, 5], [4, 4]])
    found = annotator_agreement(ragged, 10, 0)
    assert found is not None
    assert (found["all"]["raters"], found["all"]["alpha"]["n"]) == (3, 3)
    # The first two annotators over three texts; the third shares one text with each, which has no correlation.
    assert found["all"]["pairwise_pearson"]["value"] == pytest.approx(stats.pearsonr([1, 3, 4], [2, 4, 4]).statistic)


def test_languages_stand_apart() -> None:
    agreeing = rated([[1, 1], [3, 3], [5, 5]], language="hi")
    found = annotator_agreement(rated([[1, 5], [3, 3], [5, 1]]) + agreeing, 10, 0)
    assert found is not None
    values = {code: one["pairwise_pearson"]["value"] for code, one in found["by_language"].items()}
    assert values == {"fr": pytest.approx(-1), "hi": pytest.approx(1)}
    assert found["all"]["pairwise_pearson"]["value"] == pytest.approx(0)


def test_constant_annotators_are_null(tmp_path: Path) -> None:
    judged = rated([[3, 3], [3, 3]], [3, 4])
    found = run(tmp_path, rows([3, 4], [3, 4]), judged=judged)["annotators"]["all"]
    assert found["pairwise_pearson"]["reason"] == "no pair's correlation is defined"
    assert found["alpha"]["reason"] == "one label"


def test_a_judge_may_be_measured_against_annotators_where_there_is_gold_too(tmp_path: Path) -> None:
    gold = [1, 2, 3, 4, 5]
    judged = rated([[1, 2], [3, 2], [4, 4], [2, 3], [5, 4]], gold)  # type: ignore[arg-type]
    judged[4] = judged[4].model_copy(update={"human_scores": None})
    scores = [2, 2, 4, 3, 5]
    (tmp_path / "gold").mkdir()
    by_gold = run(tmp_path / "gold", rows(scores, gold), judged=judged)["judges"]["j"]["all"]
    assert by_gold["pearson"]["value"] == pytest.approx(stats.pearsonr(gold, scores).statistic)
    metrics = run(tmp_path, rows(scores, gold), judged=judged, against="annotators")
    figures = metrics["judges"]["j"]["all"]
    assert figures["pearson"]["value"] == pytest.approx(stats.pearsonr([1.5, 2.5, 4, 2.5], scores[:4]).statistic)
    assert (figures["n"], figures["kappa"]["reason"]) == (4, "gold is not an integer")
    assert "j: 1 of 5 rows have no gold and were left out" in metrics["notes"]
    assert metrics["comparisons"][0]["statistic"] == "pearson"


def test_annotators_that_are_not_there_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no record judged has human_scores"):
        run(tmp_path, rows([1, 2], [1, 2]), judged=records([1, 2]), against="annotators")
    with pytest.raises(ConfigError, match="set records too"):
        AgreeConfig(predictions=[tmp_path], output=tmp_path, against="annotators")
