"""Means over groups: the mean of the groups' own figures, and an interval that resamples items over groups."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from core.agreement import figures
from core.group_means import group_means


def test_the_mean_is_that_of_the_groups_figures():
    gold = [1, 2, 3, 5, 1, 4, 4, 5, 3]
    scores = [1, 3, 3, 4, 2, 4, 5, None, 3]
    groups = ["hi"] * 4 + ["te"] * 5
    found = group_means(gold, scores, groups, ["kappa", "pearson_scored"], resamples=0)
    for name, mean in found.items():
        parts = [figures(gold[part], scores[part], [name], resamples=0)[name].value for part in (slice(4), slice(4, 9))]
        assert_allclose(mean.mean, sum(parts) / 2, atol=1e-12)
        assert (mean.n_defined, mean.n_groups, mean.low) == (2, 2, None)


def test_case_26_groups_without_a_value_are_counted():
    groups = [([1, 2, 3], [1, 2, 3]), ([5, 5, 5], [1, 2, 3]), ([1, 2, 3], [3, 2, 1]), ([4, 4, 4], [4, 4, 4])]
    gold, scores = ([value for group in groups for value in group[side]] for side in (0, 1))
    names = [name for name in "abcd" for _ in range(3)]
    found = group_means(gold, scores, names, ["kendall"], resamples=0)["kendall"]
    assert (found.mean, found.n_defined, found.n_groups) == (0.0, 2, 4)
    one_label = group_means([4, 4], [4, 4], ["a", "b"], ["kappa"], resamples=50)["kappa"]
    assert one_label == (None, None, None, 0, 2)
    assert group_means([], [], [], ["kappa"])["kappa"] == (None, None, None, 0, 0)


def test_a_group_of_fractional_gold_has_no_kappa_and_no_exact_accuracy():
    # Group a is right on 1, 2, 3 and wrong on 4: exact 3/4. Group b is measured against means of annotators.
    gold, scores = [1, 2, 3, 4, 1.5, 3, 4, 5], [1, 2, 3, 3, 2, 3, 4, 5]
    found = group_means(gold, scores, ["a"] * 4 + ["b"] * 4, ["exact", "kappa", "within_one"], resamples=200)
    assert (found["exact"].mean, found["exact"].n_defined, found["exact"].n_groups) == (0.75, 1, 2)
    alone = figures(gold[:4], scores[:4], ["kappa"], resamples=0)["kappa"].value
    assert (found["kappa"].mean, found["kappa"].n_defined) == (alone, 1)
    assert found["within_one"].n_defined == 2
    nowhere = group_means(gold[4:] * 2, scores[4:] * 2, ["b"] * 4 + ["c"] * 4, ["kappa"], resamples=50)["kappa"]
    assert nowhere == (None, None, None, 0, 2)


@pytest.mark.parametrize(("shared", "variance"), [(True, 0.25 / 60), (False, 0.25 / 120)])
def test_items_in_several_groups_are_resampled_together(shared, variance):
    # Both groups have the same 60 items, right on half of them: resampled whole, the mean varies as one share of 60 does;
    # as items of their own, as the mean of two.
    gold, scores = [4] * 120, ([4] * 30 + [2] * 30) * 2
    items = [row % 60 for row in range(120)] if shared else list(range(120))
    found = group_means(gold, scores, ["a"] * 60 + ["b"] * 60, ["exact"], items)["exact"]
    half = stats.norm.ppf(0.975) * np.sqrt(variance)
    assert found.mean == 0.5
    assert_allclose([found.low, found.high], [0.5 - half, 0.5 + half], atol=0.012)
