"""Figures over rows against scipy: values, and intervals against a resampling or a distribution."""

import numpy as np
import pytest
from scipy import stats

from eval.row_figures import pearson_figure, unscored_rate


def test_the_expected_score_is_correlated_where_it_is_present() -> None:
    gold = [1.0, 2, 3, 4, 5, 3]
    expected = [1.2, 2.5, 2.4, 4.4, 3.9, None]
    names = [f"i{n}" for n in range(6)]
    figure = pearson_figure(gold, expected, names, 2000, 0)
    assert figure.value == pytest.approx(stats.pearsonr(gold[:5], [1.2, 2.5, 2.4, 4.4, 3.9]).statistic)
    assert (figure.n, figure.n_unscored) == (5, 1)
    draws = np.random.default_rng(1).integers(0, 5, (20_000, 5))
    x, y = np.array(gold[:5])[draws], np.array([1.2, 2.5, 2.4, 4.4, 3.9])[draws]
    varied = np.ptp(x, axis=1) > 0
    low, high = np.percentile(stats.pearsonr(x[varied], y[varied], axis=1).statistic, [2.5, 97.5])
    assert figure.low == pytest.approx(low, abs=0.03)
    assert figure.high == pytest.approx(high, abs=0.03)
    assert pearson_figure(gold, [None] * 6, names, 10, 0).reason == "no expected scores"
    assert pearson_figure(gold, [2.0] * 6, names, 10, 0).reason == "constant expected scores"


def test_the_unscored_rate_has_the_interval_of_a_binomial() -> None:
    scores = [None] * 8 + [1] * 32
    figure = unscored_rate(scores, [f"i{n}" for n in range(40)], 20_000, 0)
    assert figure.value == 0.2
    low, high = stats.binom.ppf([0.025, 0.975], 40, 0.2) / 40
    assert (figure.low, figure.high) == (pytest.approx(low, abs=0.026), pytest.approx(high, abs=0.026))
