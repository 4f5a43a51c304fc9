"""Agreement figures against hand-worked values, scikit-learn and scipy, and the bootstrap against exact distributions."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from core.agreement import Agreement, agreement, figures, mean_over_groups, place_unscored
from core.bootstrap import Clusters
from core.contingency import STATISTICS, Tables
from core.errors import DataError

LABELS = [1, 2, 3, 4, 5]
FEW = 200


def kappa_by_sklearn(weights):
    return lambda gold, scores: cohen_kappa_score(gold, scores, labels=LABELS, weights=weights)


REFERENCE = {
    "kappa": kappa_by_sklearn("linear"),
    "kappa_quadratic": kappa_by_sklearn("quadratic"),
    "kappa_unweighted": kappa_by_sklearn(None),
    "pearson": lambda gold, scores: stats.pearsonr(gold, scores).statistic,
    "spearman": lambda gold, scores: stats.spearmanr(gold, scores).statistic,
    "kendall": lambda gold, scores: stats.kendalltau(gold, scores, variant="b").statistic,
    "kendall_c": lambda gold, scores: stats.kendalltau(gold, scores, variant="c").statistic,
    "exact": lambda gold, scores: np.mean(np.equal(gold, scores)),
    "within_one": lambda gold, scores: np.mean(np.abs(np.subtract(gold, scores)) <= 1),
    "generosity": lambda gold, scores: np.mean(np.subtract(scores, gold)),
    "higher": lambda gold, scores: np.mean(np.subtract(scores, gold) == 1),
    "lower": lambda gold, scores: np.mean(np.subtract(scores, gold) == -1),
    "higher_by_2": lambda gold, scores: np.mean(np.subtract(scores, gold) > 1),
    "lower_by_2": lambda gold, scores: np.mean(np.subtract(scores, gold) < -1),
}


def noisy_judge(n: int, seed: int) -> tuple[list[int], list[int]]:
    rng = np.random.default_rng(seed)
    gold = rng.integers(1, 6, n)
    return gold.tolist(), np.clip(gold + rng.integers(-2, 3, n), 1, 5).tolist()


def test_case_23_unscored_items_are_counted():
    gold = [5, 4, 3, 2, 1, 5, 4, 3, 2, 1]
    found = agreement(gold, [5, 4, 3, 2, 1, 5, 4, 3, None, None], resamples=FEW)
    assert (found.n, found.n_unscored) == (10, 2)
    # The last two stand at 5 (gold 2) and 5 (gold 1).
    # Observed disagreement 3 + 4 = 7 of 10. Scores: one 1, one 2, two 3, two 4, four 5; gold two of each. Expected:
    # distance to the five labels sums to 10, 7, 6, 7, 10: (10 + 7 + 2·6 + 2·7 + 4·10) · 2 / 10 = 16.6. 1 - 7 / 16.6.
    assert_allclose(found.kappa.value, 1 - 7 / 16.6)
    assert round(found.kappa.value, 4) == 0.5783
    assert (found.kappa.n, found.kappa.n_unscored) == (10, 2)
    assert (found.kappa_scored.value, found.kappa_scored.n, found.kappa_scored.n_unscored) == (1.0, 8, 2)
    assert (found.exact.value, found.exact_scored.value) == (0.8, 1.0)
    assert found.to_json()["unscored_rate"] == 0.2


@pytest.mark.parametrize(("gold", "placed"), [(1, 5), (2, 5), (3, 5), (4, 1), (5, 1), (2.5, 5), (3.1, 1)])
def test_unscored_stands_farthest_from_gold(gold, placed):
    assert place_unscored([gold], [None]) == [placed]
    # The tables place it there too: together with (1, 1) and (5, 2) the correlation is that of three known points.
    found = figures([1, 5, gold], [1, 2, None], ["pearson"], resamples=0)["pearson"]
    assert_allclose(found.value, stats.pearsonr([1, 5, gold], [1, 2, placed]).statistic)


def test_case_24_one_label_is_null_with_a_reason_and_valid_json():
    found = agreement([3, 3, 3], [3, 3, 3], resamples=FEW)
    assert (found.kappa.value, found.kappa.low, found.kappa.reason, found.kappa.n) == (None, None, "one label", 3)
    assert (found.exact.value, found.exact.low, found.exact.high) == (1.0, 1.0, 1.0)
    assert (found.pearson.value, found.pearson.reason) == (None, "constant gold and scores")
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))["kappa"] == {
        "value": None, "low": None, "high": None, "n": 3, "n_unscored": 0, "reason": "one label",
    }  # fmt: skip


def test_case_24_constant_judge_of_varied_gold_has_kappa_zero():
    found = agreement([1, 2, 4, 5], [3, 3, 3, 3], resamples=FEW)
    assert found.kappa.value == 0.0
    assert (found.kendall.value, found.kendall.reason) == (None, "constant scores")
    assert agreement([3, 3], [1, 2], resamples=0).spearman.reason == "constant gold"
    assert agreement([2, 2], [4, 4], resamples=FEW).kappa.value == 0.0


def test_case_25_absent_labels_do_not_change_kappa():
    found = agreement([1, 2, 5, 5, 1, 2], [1, 5, 5, 2, 2, 2], resamples=FEW)
    assert round(found.kappa.value, 6) == 0.322581


def test_case_25_weights():
    found = agreement([1, 2, 3, 4, 5, 3, 2, 4, 5, 1], [1, 3, 3, 4, 4, 2, 2, 5, 5, 2], resamples=FEW)
    values = found.kappa.value, found.kappa_quadratic.value, found.kappa_unweighted.value
    assert [round(value, 6) for value in values] == [0.675325, 0.864865, 0.375]
    assert (found.within_one.value, found.exact.value) == (1.0, 0.5)


def test_case_26_pooled_figures_are_not_the_mean_over_groups():
    groups = [([1, 2, 3], [1, 2, 3]), ([5, 5, 5], [1, 2, 3]), ([1, 2, 3], [3, 2, 1]), ([4, 4, 4], [4, 4, 4])]
    by_group = [figures(*group, ["kendall"], resamples=0)["kendall"].value for group in groups]
    assert by_group == [1.0, None, -1.0, None]
    assert mean_over_groups(by_group) == (0.0, 2, 4)
    assert mean_over_groups([None]) == (None, 0, 1)
    pooled = agreement(*([value for group in groups for value in group[side]] for side in (0, 1)), resamples=0)
    assert round(pooled.kendall.value, 6) == 0.162221
    assert round(pooled.pearson.value, 6) == 0.235945


def test_case_27_kendall_is_tau_b_and_the_output_says_so():
    found = agreement([1, 2, 2, 3, 4, 5], [1, 2, 3, 3, 3, 5], resamples=FEW)
    values = found.kendall.value, found.pearson.value, found.spearman.value
    assert [round(value, 6) for value in values] == [0.848668, 0.902986, 0.893260]
    assert "tau-b" in found.to_json()["method"]
    assert "pooled" in found.to_json()["method"]


def test_case_27_kendall_c():
    gold, scores = [1, 2, 2, 3, 4, 5], [1, 2, 3, 3, 3, 5]
    found = figures(gold, scores, ["kendall_c"], resamples=FEW)["kendall_c"]
    # 11 of 15 pairs are ordered alike, 1 is tied in gold and 3 in scores; gold has 5 labels, scores 4: 2 · 11 · 4 / (6² · 3).
    assert_allclose(found.value, 2 * 11 * 4 / (36 * 3))
    assert round(found.value, 6) == 0.814815
    unscored = figures(gold, [*scores[:5], None], ["kendall_c", "kendall_c_scored"], resamples=FEW)
    placed = stats.kendalltau(gold, [*scores[:5], 1], variant="c").statistic
    assert_allclose(unscored["kendall_c"].value, placed, atol=1e-12)
    assert_allclose(
        unscored["kendall_c_scored"].value, stats.kendalltau(gold[:5], scores[:5], variant="c").statistic, atol=1e-12
    )
    assert figures([1, 2], [3, 3], ["kendall_c"], resamples=FEW)["kendall_c"].reason == "constant scores"


def test_shares_by_distance_from_gold():
    # Score − gold: 1, −2, 0, 4, −1 and an unscored row, which has no distance.
    found = figures(
        [1, 5, 2, 1, 3, 3], [2, 3, 2, 5, 2, None], ["higher", "lower", "higher_by_2", "lower_by_2"], resamples=0
    )
    assert {name: figure.value for name, figure in found.items()} == dict.fromkeys(found, 0.2)
    assert (found["higher"].n, found["higher"].n_unscored) == (5, 1)
    assert figures([1.5, 2], [2, 2], ["higher"], resamples=0)["higher"].reason == "gold is not an integer"


def test_mean_gold_has_correlations_but_no_kappa():
    gold = [4 / 3, 2, 8 / 3, 5, 3]
    found = agreement(gold, [1, 2, None, 4, 3], resamples=FEW)
    for name in ("kappa", "kappa_scored", "kappa_quadratic", "kappa_unweighted", "exact", "exact_scored"):
        assert getattr(found, name).value is None
        assert getattr(found, name).reason == "gold is not an integer"
    placed = [1, 2, 5, 4, 3]  # 8/3 is farther from 5 than from 1
    assert_allclose(found.pearson.value, stats.pearsonr(gold, placed).statistic, atol=1e-12)
    assert_allclose(found.kendall.value, stats.kendalltau(gold, placed).statistic, atol=1e-12)
    assert_allclose(found.spearman_scored.value, stats.spearmanr([4 / 3, 2, 5, 3], [1, 2, 4, 3]).statistic, atol=1e-12)
    assert found.pearson.low < found.pearson.value <= found.pearson.high


def test_generosity_is_over_scored_items():
    found = agreement([1, 3, 5, 2], [2, 5, 5, None], resamples=0).generosity
    assert (found.value, found.n, found.n_unscored) == (1.0, 3, 1)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", REFERENCE)
def test_values_equal_sklearn_and_scipy(name, seed):
    gold, scores = noisy_judge(60 + seed, seed)
    ours = figures(gold, scores, [name], resamples=0)[name].value
    assert_allclose(ours, REFERENCE[name](gold, scores), atol=1e-12)


@pytest.mark.parametrize("rows_per_cluster", [1, 3])
def test_statistics_of_resamples_equal_sklearn_and_scipy(rows_per_cluster):
    gold, scores = noisy_judge(30, 7)
    cells = np.array([(g - 1) * 5 + s - 1 for g, s in zip(gold, scores, strict=True)])
    clusters = Clusters.from_rows(cells[:, None], [row // rows_per_cluster for row in range(30)], 25)
    (drawn,) = clusters.resample(20, np.random.default_rng(0))
    assert (drawn.sum(axis=0) == 30).all()
    assert len(np.unique(drawn, axis=1).T) == 20
    for name, statistic in STATISTICS.items():
        values = statistic(Tables(drawn.reshape(5, 5, -1), np.arange(1.0, 6.0)))
        for value, table in zip(values, drawn.T, strict=True):
            rows = np.repeat(np.arange(25), table.astype(int))
            assert_allclose(value, REFERENCE[name](rows // 5 + 1, rows % 5 + 1), atol=1e-12, err_msg=name)


@pytest.mark.parametrize(("rows_per_cluster", "n_clusters"), [(1, 100), (5, 20)])
def test_interval_is_over_clusters(rows_per_cluster, n_clusters):
    # 80 % of clusters are wholly right: the share in a resample is binomial over clusters.
    gold = [4] * 100
    scores = [4] * 80 + [2] * 20
    names = [f"item {row // rows_per_cluster}" for row in range(100)]
    found = agreement(gold, scores, names).exact
    expected = stats.binom.ppf([0.025, 0.975], n_clusters, 0.8) / n_clusters
    assert_allclose([found.low, found.high], expected, atol=0.011)


def test_two_clusters_are_drawn_as_often_as_they_should():
    # One cluster holds two rows of cell 0, the other a row of cell 1: AA, AB, BB with chances ¼, ½, ¼.
    clusters = Clusters.from_rows(np.array([[0], [0], [1]]), ["a", "a", "b"], 2)
    drawn = np.concatenate(list(clusters.resample(20_000, np.random.default_rng(0))), axis=1)
    tables, counts = np.unique(drawn, axis=1, return_counts=True)
    assert tables.T.tolist() == [[0, 2], [2, 1], [4, 0]]
    assert_allclose(counts / 20_000, [0.25, 0.5, 0.25], atol=0.015)


def test_patterns_that_recur_are_drawn_binomially():
    # 30 one-row clusters over 2 cells, 12 in the first: Binomial(30, .4), mean 12, variance 7.2.
    clusters = Clusters.from_rows(np.array([[0]] * 12 + [[1]] * 18), None, 2)
    drawn = np.concatenate(list(clusters.resample(20_000, np.random.default_rng(0))), axis=1)
    assert (drawn.sum(axis=0) == 30).all()
    assert_allclose([drawn[0].mean(), drawn[0].var()], [12, 7.2], rtol=0.03)


def test_chunks_do_not_change_how_many_resamples_there_are(monkeypatch):
    monkeypatch.setattr("core.bootstrap.CHUNK_NUMBERS", 700)
    clusters = Clusters.from_rows(np.arange(20)[:, None], None, 20)
    sizes = [chunk.shape[1] for chunk in clusters.resample(80, np.random.default_rng(0))]
    assert sizes == [35, 35, 10]


def test_same_seed_same_interval():
    gold, scores = noisy_judge(50, 1)
    assert agreement(gold, scores, seed=3, resamples=FEW) == agreement(gold, scores, seed=3, resamples=FEW)
    assert agreement(gold, scores, seed=3, resamples=FEW) != agreement(gold, scores, seed=4, resamples=FEW)


def test_two_rows_of_two_items_work():
    found = agreement([1, 5], [2, 4], ["a", "b"])
    # In one half of the resamples both rows are the same, and the correlation of the others is 1.
    assert (found.pearson.value, found.pearson.low, found.pearson.high) == (1.0, 1.0, 1.0)
    assert found.exact.value == 0.0


def test_one_cluster_has_values_without_interval():
    found = agreement([1, 5], [1, 5], ["a", "a"]).kappa
    assert (found.value, found.low, found.high) == (1.0, None, None)
    assert found.reason.startswith("no interval")


def test_no_items_and_no_scored_items_are_null():
    assert {figure["reason"] for figure in figures_of(agreement([], []))} == {"no items"}
    unscored = agreement([1, 2, 5], [None, None, None], resamples=FEW)
    assert (unscored.kappa_scored.value, unscored.kappa_scored.n, unscored.kappa_scored.n_unscored) == (None, 0, 3)
    # Placed at 5, 5 and 1: nothing is exact, and kappa is below zero.
    assert unscored.exact.value == 0.0
    assert unscored.kappa.value < 0


def figures_of(found: Agreement) -> list[dict]:
    return [value for value in found.to_json().values() if isinstance(value, dict)]


@pytest.mark.parametrize(
    ("gold", "scores", "clusters", "message"),
    [
        ([1, 2], [1], None, "unequal lengths"),
        ([1, 2], [1, 2], ["a"], "unequal lengths"),
        ([1, 2], [1, 6], None, "score of row 1 is 6"),
        ([1, 2], [0, 1], None, "score of row 0 is 0"),
        ([1, 2], [1.5, 1], None, "score of row 0 is 1.5"),
        ([1, 2], [float("nan"), 1], None, "score of row 0 is nan"),
        ([1, 2], ["1", 1], None, "score of row 0 is '1'"),
        ([1, 7], [1, 1], None, "gold of row 1 is 7"),
        ([float("nan"), 1], [1, 1], None, "gold of row 0 is nan"),
        ([None, 1], [1, 1], None, "gold of row 0 is None"),
    ],
)
def test_wrong_input_names_the_row(gold, scores, clusters, message):
    with pytest.raises(DataError, match=message):
        agreement(gold, scores, clusters)


def test_numpy_input_is_taken():
    found = agreement(np.array([1, 2, 5]), np.array([1, 2, 5]), np.array(["a", "b", "c"]), resamples=FEW)
    assert found.kappa.value == 1.0
