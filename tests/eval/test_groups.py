"""The figures of groups: shares and distributions by hand, quartiles of length, tau-c on request, means over languages."""

from pathlib import Path

import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from tests.eval.predictions_for_tests import GOLD, JUDGE, records, rows, run

LABELS = [1, 2, 3, 4, 5]


def test_shares_and_distributions_by_hand(tmp_path: Path) -> None:
    # Score − gold: 2, 1, 0, −1, −1, unscored, −3, 4.
    gold = [1, 2, 3, 4, 5, 3, 5, 1]
    figures = run(tmp_path, rows([3, 3, 3, 3, 4, None, 2, 5], gold))["judges"]["j"]["all"]
    shares = {name: share["value"] for name, share in figures["shares"].items()}
    assert shares == {"higher": 1 / 7, "lower": 2 / 7, "higher_by_2": 2 / 7, "lower_by_2": 1 / 7}
    higher = figures["shares"]["higher"]
    assert (higher["n"], higher["n_unscored"]) == (7, 1)
    assert higher["low"] < 1 / 7 < higher["high"]
    assert figures["generosity"]["value"] == pytest.approx(2 / 7)
    # The row without a score is in neither distribution.
    assert figures["score_distribution"] == {"gold": [2, 1, 1, 1, 2], "score": [0, 1, 4, 1, 1]}


def test_a_mean_of_annotators_has_no_shares_of_points(tmp_path: Path) -> None:
    figures = run(tmp_path, rows([1, 2, 3], [1.5, 2, 3]))["judges"]["j"]["all"]
    assert figures["shares"]["lower"]["reason"] == "gold is not an integer"
    assert figures["score_distribution"] == {"gold": None, "score": [1, 1, 1, 0, 0]}
    assert figures["generosity"]["value"] == pytest.approx(-1 / 6)


def test_tau_c_on_request(tmp_path: Path) -> None:
    # Case 27.
    gold, scores = [1, 2, 2, 3, 4, 5], [1, 2, 3, 3, 3, 5]
    for asked in (False, True):
        (tmp_path / str(asked)).mkdir()
        metrics = run(tmp_path / str(asked), rows(scores, gold), judged=records(gold), tau_c=asked)
        judge = metrics["judges"]["j"]
        assert ("kendall_c" in judge["all"]) == ("kendall_c_scored" in judge["by_language"]["fr"]) == asked
        assert ("kendall_c" in (tmp_path / str(asked) / "out" / "table.md").read_text()) == asked
    assert judge["all"]["kendall_c"]["value"] == pytest.approx(0.814815, abs=1e-6)
    assert judge["all"]["kendall"]["value"] == pytest.approx(0.848668, abs=1e-6)
    assert metrics["baselines"]["majority"]["all"]["kendall_c"]["value"] is None


def test_length_quartiles_are_those_of_all_judged_records(tmp_path: Path) -> None:
    # Responses of 1 to 12 characters: quarters of three rows each. Judge k judged the longest six only.
    gold = [1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2]
    scores = [1, 2, 4, 4, 5, 2, 2, 3, 3, 5, 1, 1]
    metrics = run(tmp_path, rows(scores, gold), rows(scores, gold, "k")[6:], judged=records(gold))
    of_j, of_k = (metrics["judges"][name]["by_length_quartile"] for name in "jk")
    assert {name: group["n"] for name, group in of_j.items()} == dict.fromkeys("1234", 3)
    assert {name: group["n"] for name, group in of_k.items()} == {"3": 3, "4": 3}
    third = cohen_kappa_score(gold[6:9], scores[6:9], labels=LABELS, weights="linear")
    assert of_j["3"]["kappa"]["value"] == of_k["3"]["kappa"]["value"] == pytest.approx(third)
    assert of_j["3"]["length_control"] is None
    assert set(metrics["baselines"]["length"]["by_length_quartile"]) == set("1234")


def test_without_records_there_are_no_quartiles_and_with_one_language_no_mean(tmp_path: Path) -> None:
    judge = run(tmp_path, rows(JUDGE, GOLD))["judges"]["j"]
    assert "by_length_quartile" not in judge
    assert "mean_over_languages" not in judge


def test_the_mean_over_languages_is_not_the_pooled_figure(tmp_path: Path) -> None:
    # French is six rows, Hindi four with one label in gold, where correlations are undefined.
    french, hindi = rows(JUDGE[:6], GOLD[:6]), rows([3, 3, 3, 4], [3, 3, 3, 3], language="hi")
    hindi = [row.model_copy(update={"id": f"hi{n}"}) for n, row in enumerate(hindi)]
    judge = run(tmp_path, french + hindi)["judges"]["j"]
    by_hand = [
        cohen_kappa_score(GOLD[:6], JUDGE[:6], labels=LABELS, weights="linear"),
        cohen_kappa_score([3, 3, 3, 3], [3, 3, 3, 4], labels=LABELS, weights="linear"),
    ]
    kappa = judge["mean_over_languages"]["kappa"]
    assert kappa["mean"] == pytest.approx(sum(by_hand) / 2)
    assert (kappa["n_defined"], kappa["n_groups"]) == (2, 2)
    assert kappa["low"] <= kappa["mean"] <= kappa["high"]
    assert judge["all"]["kappa"]["value"] != pytest.approx(kappa["mean"])
    pearson = judge["mean_over_languages"]["pearson"]
    assert pearson["mean"] == pytest.approx(stats.pearsonr(GOLD[:6], JUDGE[:6]).statistic)
    assert (pearson["n_defined"], pearson["n_groups"]) == (1, 2)
    assert "(of 1)" not in (tmp_path / "out" / "table.md").read_text()  # kappa, which the table shows, has both
