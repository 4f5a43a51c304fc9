"""Exchanged correlations against all exchanges of four items, worked from definitions."""

from itertools import combinations, product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from core.agreement import figures
from core.exchange import standardised

GOLD = [1, 2, 3, 5]
A, B = [1, 1, 2, 2], [4, 5, 5, 5]


def by_pearson(first, second):
    def corr(mix):
        return stats.pearsonr(GOLD, mix).statistic

    return corr(first) - corr(second)


def all_exchanges(a, b, difference):
    """The difference of every exchange of rows of a and b."""
    found = set()
    for exchanged in product([False, True], repeat=len(a)):
        first = [y if swap else x for x, y, swap in zip(a, b, exchanged, strict=True)]
        second = [x if swap else y for x, y, swap in zip(a, b, exchanged, strict=True)]
        found.add(round(float(difference(first, second)), 9))
    return found


def drawn(statistic):
    exchange = standardised(GOLD, A, B, None, statistic)
    (tables,) = exchange.clusters.swap(2000, np.random.default_rng(0))
    return {round(float(value), 9) for value in exchange.difference(tables)}


def test_pearson_exchanges_standard_scores():
    # A: ±1. B: mean 4.75, standard deviation √3/4, so −√3 once and 1/√3 three times.
    a, b = [-1, -1, 1, 1], [-(3**0.5), *[3**-0.5] * 3]
    assert_allclose(stats.zscore(B), b)
    assert drawn("pearson") == all_exchanges(a, b, by_pearson)


def test_spearman_exchanges_standard_midranks():
    # Midranks of A: 1.5, 1.5, 3.5, 3.5; of B: 1, 3, 3, 3. Gold has no ties: its ranks are 1 to 4.
    a, b = stats.zscore([1.5, 1.5, 3.5, 3.5]).tolist(), stats.zscore([1, 3, 3, 3]).tolist()

    def difference(first, second):
        return np.corrcoef(range(4), first)[0, 1] - np.corrcoef(range(4), second)[0, 1]

    assert drawn("spearman") == all_exchanges(a, b, difference)


def test_kendall_exchanges_expected_signs():
    # Intervals, A: 1 is [0, ½], 2 is [½, 1]; B: 4 is [0, ¼], 5 is [¼, 1].
    # A1 over B4: above it on [¼, ½], half the time on [0, ¼]: ¾ of the time, sign ½.
    # A1 under B5: B5 is over ½ for ⅔; else A1 is below ¼ for ½, or even: ⅔ + ⅓ · ¾ = 11/12, sign −5/6.
    # A2 over B5: B5 is below ½ for ⅓, else even: ⅓ + ⅔ · ½ = ⅔, sign ⅓.
    over = {
        ("A2", "A1"): 1,
        ("B5", "B4"): 1,
        ("A1", "B4"): 1 / 2,
        ("A1", "B5"): -5 / 6,
        ("A2", "B4"): 1,
        ("A2", "B5"): 1 / 3,
    }
    sign = over | {(y, x): -value for (x, y), value in over.items()}

    def tau_b(mix):
        signs = [sign.get((mix[j], mix[i]), 0) for i, j in combinations(range(4), 2)]  # gold rises and has no ties
        return sum(signs) / np.sqrt(6 * sum(value**2 for value in signs))

    names_a, names_b = [f"A{score}" for score in A], [f"B{score}" for score in B]
    expected = all_exchanges(names_a, names_b, lambda first, second: tau_b(first) - tau_b(second))
    assert len(expected) > 10
    assert drawn("kendall") == expected


@pytest.mark.parametrize("statistic", ["pearson", "spearman", "kendall"])
@pytest.mark.parametrize("gold", [[1, 2, 5, 3, 3, 4, 1], [1.5, 2, 4.5, 3, 3, 7 / 3, 1]])
def test_before_any_exchange_the_difference_is_that_of_the_statistic(statistic, gold):
    a, b = [1, 2, None, 3, 4, 4, 2], [3, 3, 5, 3, 4, 5, None]
    exchange = standardised(gold, a, b, None, statistic)
    own = [figures(gold, scores, [statistic], resamples=0)[statistic].value for scores in (a, b)]
    assert_allclose(exchange.difference(exchange.clusters.observed), own[0] - own[1], atol=1e-12)


def test_a_mix_of_one_standard_is_undefined():
    # All of both judges' higher verdicts stand at the same place, so one exchange leaves a judge without spread.
    exchange = standardised([1, 5], [1, 2], [5, 4], None, "pearson")
    (tables,) = exchange.clusters.swap(100, np.random.default_rng(0))
    assert set(np.round(exchange.difference(tables), 9)[~np.isnan(exchange.difference(tables))]) == {2.0, -2.0}
    assert np.isnan(exchange.difference(tables)).any()
