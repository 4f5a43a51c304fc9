"""Agreement with length held fixed: the partial correlation and kappa within quartiles of the length ratio."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from core.agreement import figures
from core.errors import DataError
from core.length_control import kappa_within_quartiles, partial_spearman, quartiles

FEW = 200


def by_residuals(x, y, z) -> float:
    """The same by another way: Pearson of what a line on the ranks of z leaves of the ranks of x and y."""
    rank_x, rank_y, rank_z = (stats.rankdata(values) for values in (x, y, z))
    left = [ranks - np.polyval(np.polyfit(rank_z, ranks, 1), rank_z) for ranks in (rank_x, rank_y)]
    return stats.pearsonr(*left).statistic


def correlated(n: int, seed: int) -> tuple[list[int], list[int], list[float]]:
    rng = np.random.default_rng(seed)
    gold = rng.integers(1, 6, n)
    length = gold + rng.normal(0, 1.5, n)
    scores = np.clip(np.round((gold + length) / 2 + rng.normal(0, 0.7, n)), 1, 5).astype(int)
    return gold.tolist(), scores.tolist(), length.tolist()


def test_partial_spearman_by_hand():
    # Ranks: r_xy = .8, r_xz = .8, r_yz = 1 - 6·6/60 = .4: (.8 - .32) / √(.36 · .84).
    found = partial_spearman([1, 2, 3, 4], [1, 2, 4, 3], [1, 3, 2, 4], resamples=0)
    assert_allclose(found.value, 0.48 / np.sqrt(0.36 * 0.84))


@pytest.mark.parametrize("seed", range(3))
def test_partial_spearman_is_the_correlation_of_residual_ranks(seed):
    gold, scores, length = correlated(80, seed)
    assert_allclose(partial_spearman(gold, scores, length, resamples=0).value, by_residuals(gold, scores, length))


def test_partial_spearman_interval_is_that_of_resampled_rows():
    gold, scores, length = (np.array(column) for column in correlated(60, 5))
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(20), 3)
    draws = []
    for _ in range(1000):
        rows = np.concatenate([np.flatnonzero(clusters == name) for name in rng.integers(0, 20, 20)])
        draws.append(by_residuals(gold[rows], scores[rows], length[rows]))
    found = partial_spearman(gold.tolist(), scores.tolist(), length.tolist(), clusters.tolist(), resamples=4000)
    assert_allclose([found.low, found.high], np.percentile(draws, [2.5, 97.5]), atol=0.03)


def test_partial_spearman_puts_unscored_items_farthest_from_gold():
    gold, scores, length = correlated(30, 2)
    found = partial_spearman(gold, [None, *scores[1:]], length, resamples=FEW)
    placed = [5 if gold[0] <= 3 else 1, *scores[1:]]
    assert_allclose(found.value, by_residuals(gold, placed, length))
    assert (found.n, found.n_unscored) == (30, 1)


@pytest.mark.parametrize(
    ("gold", "scores", "given", "reason"),
    [
        ([1, 2, 3], [4, 4, 4], [1, 2, 3], "constant scores"),
        ([1, 2, 3, 4], [1, 2, 3, 3], [0.1, 0.2, 0.3, 0.4], "gold or scores rank as the given variable does"),
        ([], [], [], "no items"),
    ],
)
def test_undefined_partial_correlation_has_a_reason(gold, scores, given, reason):
    found = partial_spearman(gold, scores, given, resamples=FEW)
    assert (found.value, found.reason) == (None, reason)


def test_a_perfect_judge_equals_its_null_in_every_quartile():
    gold, _, length = correlated(100, 0)
    quartiles = kappa_within_quartiles(gold, gold, length, draws=20, resamples=FEW)
    assert [quartile.kappa.n for quartile in quartiles] == [25] * 4
    for quartile in quartiles:
        assert quartile.kappa.value == quartile.null_mean == quartile.null_low == quartile.null_high == 1.0


def test_a_judge_of_length_falls_below_its_null():
    gold, _, length = correlated(400, 1)
    cuts = np.quantile(length, [0.2, 0.4, 0.6, 0.8])
    of_length = (1 + np.searchsorted(cuts, length)).tolist()
    rows = list(range(400))
    for quartile in kappa_within_quartiles(gold, of_length, length, clusters=rows, resamples=FEW):
        assert quartile.kappa.high < quartile.null_mean
        assert quartile.kappa.value < quartile.null_low < quartile.null_mean < quartile.null_high


def test_judges_blind_to_length_lie_in_the_range_of_their_null():
    gold, _, length = correlated(400, 1)
    inside = []
    for seed in range(25):
        errors = np.random.default_rng(100 + seed).integers(-1, 2, 400)
        blind = np.clip(np.array(gold) + errors, 1, 5).tolist()
        for quartile in kappa_within_quartiles(gold, blind, length, seed=seed, resamples=0):
            inside.append(quartile.null_low < quartile.kappa.value < quartile.null_high)
    assert 0.88 < np.mean(inside) < 1  # 95 % of 100, by the meaning of the range


def test_null_mean_is_the_mean_over_permutations_within_gold_class():
    # Each half holds a row of gold 1 and one of gold 5. Gold 5 has the verdicts 5 and 5; gold 1 has 1 and 2, so by chance the
    # short half gets 1 (kappa 1) or 2: observed disagreement 1, expected (|1-2| + |1-5| + |5-2| + |5-5|) / 2 = 4, kappa 3/4.
    quartiles = kappa_within_quartiles([1, 5, 1, 5], [1, 5, 2, 5], [1, 1, 2, 2], draws=4000, resamples=FEW)
    assert [quartile.kappa.n for quartile in quartiles] == [2, 0, 2, 0]
    assert_allclose([quartiles[0].kappa.value, quartiles[2].kappa.value], [1, 0.75])
    assert_allclose([quartiles[0].null_mean, quartiles[2].null_mean], 7 / 8, atol=0.01)
    assert (quartiles[1].kappa.reason, quartiles[1].null_mean) == ("no items", None)
    assert json.dumps([quartile.to_json() for quartile in quartiles], allow_nan=False)


def test_quartile_kappa_counts_unscored_and_refuses_mean_gold():
    gold, scores, length = correlated(40, 3)
    shortest = int(np.argmin(length))
    scores[shortest] = None
    first = kappa_within_quartiles(gold, scores, length, draws=5, resamples=0)[0]
    rows = np.argsort(length)[:10]
    assert first.kappa.n_unscored == 1
    assert first.kappa == figures([gold[r] for r in rows], [scores[r] for r in rows], ["kappa"], resamples=0)["kappa"]
    fractional = kappa_within_quartiles([score - 0.5 if score > 1 else 1.5 for score in gold], scores, length, draws=5)
    assert {quartile.kappa.reason for quartile in fractional} == {"gold is not an integer"}
    assert {quartile.null_mean for quartile in fractional} == {None}
    assert kappa_within_quartiles([], [], []) == []


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([1, 2], [1, 2], [1.0]), "unequal lengths"),
        (([1, 2], [1, 2], [1.0, float("inf")]), "given value of row 1 is inf"),
        (([1, None], [1, 2], [1.0, 2.0]), "gold of row 1 is None"),
        (([1, 2], [1, "2"], [1.0, 2.0]), "score of row 1 is '2'"),
    ],
)
def test_wrong_input_names_the_row(columns, message):
    for function in (partial_spearman, kappa_within_quartiles):
        with pytest.raises(DataError, match=message):
            function(*columns)


def test_a_value_on_an_edge_is_in_the_lower_quartile():
    # Quartiles of 0 to 8: edges 0, 2, 4, 6, 8.
    edges, quartile_of = quartiles([8, 0, 1, 2, 3, 4, 5, 6, 7])
    assert edges.tolist() == [0, 2, 4, 6, 8]
    assert quartile_of.tolist() == [3, 0, 0, 0, 1, 1, 2, 2, 3]
    assert quartiles([1.0, 1.0])[1].tolist() == [0, 0]
