"""Correlations of continuous scores against hand-worked values and scipy, with ties, repeats and missing scores."""

import numpy as np
import pytest
from scipy import stats

from eval.correlation import _Pairs, correlations, standard_deviation


def test_hand_worked_values() -> None:
    """Case 27: human 1,2,2,3,4,5; metric 1,2,3,3,3,5: tau-b .848668 (tau-a .733333, tau-c .814815)."""
    figures = correlations([1, 2, 2, 3, 4, 5], [1, 2, 3, 3, 3, 5], list("abcdef"), resamples=200)
    assert figures["kendall"].value == pytest.approx(0.848668, abs=1e-6)
    assert figures["pearson"].value == pytest.approx(0.902986, abs=1e-6)
    assert figures["spearman"].value == pytest.approx(0.893260, abs=1e-6)
    for figure in figures.values():
        assert figure.low is not None
        assert figure.high is not None
        assert figure.value is not None
        assert figure.low <= figure.value <= figure.high
        assert (figure.n, figure.n_unscored) == (6, 0)


def test_a_resample_is_the_rows_drawn_again_and_again() -> None:
    """Counts of rows give what scipy gives on the rows themselves, repeated."""
    rng = np.random.default_rng(0)
    x, y = rng.integers(1, 5, 30).astype(float), rng.normal(size=30).round(1)
    drawn = rng.multinomial(40, np.ones(30) / 30, size=5).T.astype(float)
    found = _Pairs(x, y).statistics(drawn)
    for sample in range(5):
        rows = np.repeat(np.arange(30), drawn[:, sample].astype(int))
        expected = (
            stats.pearsonr(x[rows], y[rows]).statistic,
            stats.spearmanr(x[rows], y[rows]).statistic,
            stats.kendalltau(x[rows], y[rows]).statistic,
        )
        assert [float(values[sample]) for values in found.values()] == pytest.approx(expected, abs=1e-9)


def test_a_resample_of_equal_rows_has_no_correlation() -> None:
    found = _Pairs(np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.3, 0.2])).statistics(np.array([[3.0], [0.0], [0.0]]))
    assert all(np.isnan(values).all() for values in found.values())


def test_documents_are_resampled_and_not_rows() -> None:
    """Twenty copies of each of five rows are five documents: the interval is as wide as that of the five rows."""
    human, scores = [1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 3.0, 2.0, 5.0, 4.0]
    few = correlations(human, scores, list("abcde"), resamples=2000)["pearson"]
    many = correlations(human * 20, scores * 20, list("abcde") * 20, resamples=2000)["pearson"]
    assert many.value == pytest.approx(few.value)
    assert (many.low, many.high) == pytest.approx((few.low, few.high), abs=1e-9)
    rows = correlations(human * 20, scores * 20, range(100), resamples=2000)["pearson"]
    assert rows.low is not None
    assert many.low is not None
    assert rows.low > many.low + 0.1


def test_missing_scores_are_left_out_and_counted() -> None:
    figure = correlations([1, 2, 3, 4], [1.0, None, 3.0, 4.0], list("abcd"), resamples=0)["pearson"]
    assert figure.value == pytest.approx(1.0)
    assert (figure.n, figure.n_unscored, figure.low) == (3, 1, None)


@pytest.mark.parametrize(
    ("human", "scores", "reason"),
    [
        ([3, 3, 3], [1.0, 2.0, 3.0], "constant human scores"),
        ([1, 2, 3], [2.0, 2.0, 2.0], "constant scores"),
        ([3, 3], [2.0, 2.0], "constant human scores and scores"),
        ([1, 2], [1.0, None], "fewer than two scored rows"),
        ([], [], "fewer than two scored rows"),
    ],
)
def test_an_undefined_correlation_says_why(human: list[float], scores: list[float | None], reason: str) -> None:
    for figure in correlations(human, scores, range(len(human))).values():
        assert (figure.value, figure.reason) == (None, reason)


def test_standard_deviation() -> None:
    """Of 1, 2, 3, 4: √(5/3)."""
    assert standard_deviation(np.array([1.0, 2, 3, 4])) == pytest.approx((5 / 3) ** 0.5)
    assert standard_deviation(np.array([1.0])) is None
    assert standard_deviation(np.array([2.0, 2.0])) is None
