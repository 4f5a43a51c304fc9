"""Two judges on the same items: differences and permutation tests by hand, by enumeration and under no difference."""

import json
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from core.agreement import figures
from core.errors import UserError
from core.paired import paired_difference, permutation_test
from tests.core.test_agreement import FEW, noisy_judge


def test_equal_judges_do_not_differ():
    gold, scores = noisy_judge(40, 2)
    found = paired_difference(gold, scores, scores, resamples=FEW)
    assert (found.difference.value, found.difference.low, found.difference.high, found.p_value) == (0, 0, 0, 1.0)


def test_permutation_p_value_of_three_items():
    # A is right and B wrong on all of 3 items: of the 8 exchanges 2 (none, all) are as far from zero. p → ¼.
    found = paired_difference([1, 3, 5], [1, 3, 5], [2, 4, 4], statistic="exact")
    assert found.difference.value == 1.0
    assert_allclose(found.p_value, 0.25, atol=0.015)
    # As the rows of one item they are exchanged together: nothing is left to tell the judges apart.
    assert paired_difference([1, 3, 5], [1, 3, 5], [2, 4, 4], ["a"] * 3, "exact").p_value == 1.0


def test_paired_difference_of_a_better_judge():
    gold, scores = noisy_judge(200, 3)
    worse = [score if row % 2 else 3 for row, score in enumerate(scores)]
    found = paired_difference(gold, scores, worse, resamples=999)
    kappas = [figures(gold, judge, ["kappa"], resamples=0)["kappa"].value for judge in (scores, worse)]
    assert_allclose(found.difference.value, kappas[0] - kappas[1])
    assert 0 < found.difference.low < found.difference.value < found.difference.high
    assert found.p_value == found.smallest_p == 0.001
    mirrored = paired_difference(gold, worse, scores, resamples=999)
    assert_allclose(mirrored.difference.value, -found.difference.value)


def test_paired_difference_counts_unscored_and_gives_reasons():
    found = paired_difference([1, 2, 4], [None, 2, 4], [1, None, 4], statistic="exact", resamples=FEW)
    assert (found.difference.value, found.difference.n, found.difference.n_unscored) == (0.0, 3, 2)
    undefined = paired_difference([1, 2], [3, 3], [1, 2], statistic="pearson", resamples=FEW)
    assert (undefined.difference.value, undefined.p_value) == (None, None)
    assert undefined.difference.reason == "judge A: constant scores"
    assert json.dumps(undefined.to_json(), allow_nan=False)
    with pytest.raises(UserError, match="use one of kappa, pearson"):
        paired_difference([1], [1], [1], statistic="accuracy")


def test_judges_cannot_change_places_in_tau_c():
    with pytest.raises(UserError, match="'kendall_c' cannot be compared"):
        permutation_test([1, 2], [1, 2], [2, 1], statistic="kendall_c")


def test_permutations_of_clusters_of_unequal_size_by_enumeration():
    gold = [1, 2, 3, 4, 5, 3, 2, 4]
    judges = np.array([[1, 2, 3, 5, 5, 2, 2, 3], [2, 2, 5, 3, 3, 3, 1, 5]])
    item = np.array([0, 0, 1, 2, 2, 3, 4, 5])
    differences = []
    for exchanged in product([0, 1], repeat=6):
        row = np.array(exchanged)[item]
        first, second = judges[row, np.arange(8)], judges[1 - row, np.arange(8)]
        distance = [np.abs(scores - gold).mean() for scores in (first, second)]
        differences.append(np.mean(first == gold) - np.mean(second == gold))
        assert_allclose(sum(distance), np.abs(judges - gold).sum() / 8)
    exact = np.mean(np.abs(differences) >= abs(differences[0]) - 1e-12)
    p = permutation_test(gold, *judges.tolist(), item.tolist(), "exact", 20_000)
    assert p == pytest.approx(exact, abs=0.015)


def test_equal_patterns_exchange_one_by_one():
    # A is right and B wrong on 20 items of one pattern: p ≈ 2 · ½^20 is out of reach, and the smallest p is what is left.
    assert permutation_test([2] * 20, [2] * 20, [3] * 20, None, "exact", 999) == 0.001
    # On 12 A is right and on 8 B: two-sided binomial test of 12 of 20 at ½.
    p = permutation_test([2] * 20, [2] * 12 + [3] * 8, [3] * 12 + [2] * 8, None, "exact", 20_000)
    assert p == pytest.approx(stats.binomtest(12, 20).pvalue, abs=0.015)


@pytest.mark.parametrize("statistic", ["pearson", "spearman", "kendall"])
def test_a_correlation_does_not_favour_the_judge_of_the_wider_scale(statistic):
    # B is A on a narrower and higher scale: the correlations are equal, and so is each exchanged one.
    gold, scores = noisy_judge(60, 4)
    narrow = [4 if score < 3 else 5 for score in scores]
    wide = [1 if score < 3 else 5 for score in scores]
    found = paired_difference(gold, narrow, wide, statistic=statistic, resamples=FEW)
    assert_allclose(found.difference.value, 0, atol=1e-12)
    assert found.p_value == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("statistic", ["kappa", "pearson", "spearman", "kendall"])
def test_where_judges_do_not_differ_p_is_uniform(statistic):
    # Both judges see gold with the same errors, on three grades; in a correlation B writes them on a scale half as wide.
    rng = np.random.default_rng(0)
    scale_b = [1, 3, 5] if statistic == "kappa" else [3, 4, 5]
    p_values = []
    for _ in range(300):
        gold = rng.integers(1, 6, 60)
        a, b = (np.clip((gold - 1) // 2 + rng.integers(-1, 2, 60), 0, 2) for _ in range(2))
        scores = np.array([1, 3, 5])[a].tolist(), np.array(scale_b)[b].tolist()
        p_values.append(permutation_test(gold.tolist(), *scores, None, statistic, 199))
    assert np.mean(np.array(p_values) <= 0.05) == pytest.approx(0.05, abs=0.035)
    assert stats.kstest(p_values, "uniform").pvalue > 0.001
