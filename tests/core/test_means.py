"""core.means: means and paired differences, against values worked by hand, enumeration and scipy."""

import numpy as np
import pytest
from scipy import stats

from core.means import mean_figure, paired_means, summed


def test_clusters_that_add_the_same_are_one_pattern() -> None:
    # Cluster x adds 1 + 2 and 10 + 20, y the same in one row, z something else.
    sums = summed(np.array([[1, 2, 3, 5], [10, 20, 30, 0]], float), ["x", "x", "y", "z"])
    assert sorted(zip(sums.patterns.toarray().T.tolist(), sums.sizes.tolist(), strict=True)) == [
        ([3, 30], 2),
        ([5, 0], 1),
    ]
    assert sums.observed.tolist() == [[11], [60]]


def test_mean_leaves_out_rows_without_a_value_and_counts_them() -> None:
    figure = mean_figure([1, 2, None, 5], ["a", "b", "c", "d"], 500)
    assert (figure.value, figure.n, figure.n_unscored) == (pytest.approx(8 / 3), 3, 1)
    assert figure.low is not None
    assert figure.high is not None
    assert 1 <= figure.low < 8 / 3 < figure.high <= 5


def test_a_cluster_is_drawn_whole() -> None:
    # Drawn twice of two: {1, 1} and {5}. Means: 1 (p = 1/4), 7/3 (1/2), 5 (1/4); single rows would also give 3.67.
    figure = mean_figure([1, 1, 5], ["a", "a", "b"], 2000)
    assert (figure.low, figure.high) == (1, 5)
    figure = mean_figure([1, 1, 5], ["a", "a", "a"], 2000)
    assert (figure.value, figure.low, figure.high) == (pytest.approx(7 / 3), None, None)


def test_interval_is_that_of_means_of_drawn_rows() -> None:
    values = np.random.default_rng(1).normal(size=60)
    figure = mean_figure(values.tolist(), list(range(60)), 20_000)
    drawn = np.random.default_rng(2).choice(values, (20_000, 60)).mean(axis=1)
    assert [figure.low, figure.high] == pytest.approx(np.percentile(drawn, [2.5, 97.5]).tolist(), abs=0.01)


def test_no_rows_is_a_reason() -> None:
    assert mean_figure([None], ["a"]).to_json() == {
        "value": None, "low": None, "high": None, "n": 0, "n_unscored": 1, "reason": "no items",
    }  # fmt: skip
    paired = paired_means([None], [1], ["a"])
    assert (paired.difference.value, paired.difference.n_unscored, paired.p_value) == (None, 1, None)


def test_paired_difference_and_its_exact_p() -> None:
    # Three differences of 2: all three signs must agree for |mean| = 2, 2 of 8 permutations.
    paired = paired_means([3, 4, 5, None], [1, 2, 3, 3], list("abcd"), 20_000)
    assert (paired.difference.value, paired.difference.n, paired.difference.n_unscored) == (2, 3, 1)
    assert paired.p_value == pytest.approx(0.25, abs=0.01)
    assert paired.smallest_p == 1 / 20_001
    # As two clusters: 2 of 4.
    assert paired_means([3, 4, 5], [1, 2, 3], list("aab"), 20_000).p_value == pytest.approx(0.5, abs=0.015)


def test_paired_p_is_scipys() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.integers(1, 6, 12), rng.integers(1, 5, 12)

    def difference(x: np.ndarray, y: np.ndarray, axis: int = -1) -> np.ndarray:
        return (x - y).mean(axis=axis)

    exact = stats.permutation_test((a, b), difference, permutation_type="samples", n_resamples=np.inf)
    paired = paired_means(a.tolist(), b.tolist(), list(range(12)), 50_000)
    assert paired.difference.value == pytest.approx(exact.statistic)
    assert paired.p_value == pytest.approx(exact.pvalue, abs=0.01)
