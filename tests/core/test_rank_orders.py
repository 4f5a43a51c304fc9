"""core.rank_orders: rank correlations of systems' means, by hand and against scipy."""

import numpy as np
import pytest
from scipy import stats

from core.rank_orders import ScoredTwice, order_agreement, order_agreement_of_values


def test_by_hand() -> None:
    # Means of a: 1, 2, 3; of b: 1, 3, 2. Two pairs of three agree: tau (2 − 1) / 3; rho 1 − 6 · 2 / 24 = .5.
    rows = [
        ScoredTwice("s", "i", 1, 1),
        ScoredTwice("t", "i", 1, 4),
        ScoredTwice("t", "j", 3, 2),
        ScoredTwice("u", "j", 3, 2),
    ]
    agreed = order_agreement(rows, 50)
    assert agreed.kendall.value == pytest.approx(1 / 3)
    assert agreed.spearman.value == pytest.approx(0.5)
    assert agreed.kendall.n == agreed.spearman.n == 3


@pytest.mark.parametrize("seed", range(5))
def test_ties_are_scipys(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(1, 5, (2, 8)).astype(float)
    agreed = order_agreement_of_values(a.tolist(), b.tolist())
    assert agreed.kendall.value == pytest.approx(stats.kendalltau(a, b).statistic)
    assert agreed.spearman.value == pytest.approx(stats.spearmanr(a, b).statistic)
    rows = [ScoredTwice(str(n), n, x, y) for n, (x, y) in enumerate(zip(a, b, strict=True))]
    assert order_agreement(rows, 10).kendall.value == pytest.approx(agreed.kendall.value)


def test_interval_is_over_items() -> None:
    # Each of the items orders the systems alike, so that no resample can order them otherwise.
    firm = [ScoredTwice(s, i, n + 1, n + 2) for i in range(20) for n, s in enumerate("stu")]
    agreed = order_agreement(firm, 200)
    assert (agreed.kendall.low, agreed.kendall.value, agreed.kendall.high) == pytest.approx((1, 1, 1))
    rng = np.random.default_rng(0)
    loose = [ScoredTwice(s, i, *rng.integers(1, 6, 2)) for i in range(20) for s in "stu"]
    agreed = order_agreement(loose, 200)
    assert agreed.kendall.low is not None
    assert agreed.kendall.high is not None
    assert agreed.kendall.high - agreed.kendall.low > 0.5


def test_interval_equals_a_plain_bootstrap() -> None:
    rng = np.random.default_rng(7)
    scores = np.arange(12)[:, None] * 0.05 + rng.normal(3, 1, (12, 30))
    other = scores + rng.normal(0, 1, (12, 30))
    rows = [ScoredTwice(str(s), i, scores[s, i], other[s, i]) for s in range(12) for i in range(30)]
    figure = order_agreement(rows, 4000).spearman
    drawn = [rng.integers(0, 30, 30) for _ in range(800)]
    plain = [stats.spearmanr(scores[:, d].mean(axis=1), other[:, d].mean(axis=1)).statistic for d in drawn]
    assert [figure.low, figure.high] == pytest.approx(np.percentile(plain, [2.5, 97.5]).tolist(), abs=0.05)


def test_undefined_orders_say_why() -> None:
    one = order_agreement([ScoredTwice("s", "i", 1, 1)])
    assert (one.kendall.value, one.kendall.reason) == (None, "fewer than 2 systems")
    tied = order_agreement([ScoredTwice("s", "i", 1, 1), ScoredTwice("t", "i", 1, 2)])
    assert (tied.spearman.value, tied.spearman.reason) == (None, "all systems tie on the first side")
    both = order_agreement_of_values([2, 2], [3, 3])
    assert both.kendall.reason == "all systems tie on the first and the second side"
    plain = order_agreement_of_values([1, 2], [1, 3]).kendall
    assert (plain.value, plain.low, plain.reason) == (1, None, "no interval: there are no items to resample")


def test_means_that_part_by_rounding_are_ties() -> None:
    # .1 + .2 is not .3 in binary.
    assert order_agreement_of_values([0.1 + 0.2, 0.3, 1], [1, 2, 3]).kendall.value == pytest.approx(2 / np.sqrt(2 * 3))
