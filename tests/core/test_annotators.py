"""Agreement of annotators against values worked by hand or printed in the papers that define them."""

import pytest

from core.annotators import (
    krippendorff_alpha,
    leave_one_out,
    mean_pairwise_pearson,
    pairwise_exact,
    pairwise_pearson,
    wilson,
)
from core.errors import DataError

# Krippendorff 2011, Computing Krippendorff's Alpha-Reliability, section D: four observers, twelve units, 41 values.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
UNITS = [list(unit) for unit in zip(*OBSERVERS, strict=True)]


@pytest.mark.parametrize(("level", "printed"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_of_the_printed_example(level: str, printed: float) -> None:
    alpha = krippendorff_alpha(UNITS, level, resamples=200)  # type: ignore[arg-type]
    assert alpha.value == pytest.approx(printed, abs=5e-4)
    assert (alpha.n, alpha.n_unscored) == (11, 1)  # the last unit has one value, which pairs with nothing
    assert alpha.low is not None
    assert alpha.high is not None
    assert alpha.low < alpha.value < alpha.high <= 1


def test_nominal_alpha_by_hand() -> None:
    # (1,1) (1,2) (2,2): o11 = 2, o12 = o21 = 1, o22 = 2, so n1 = n2 = 3, n = 6.
    # alpha = 1 − (n − 1) · (o12 + o21) / (2 · n1 · n2) = 1 − 5 · 2 / 18 = 4/9.
    assert krippendorff_alpha([[1, 1], [1, 2], [2, 2]], "nominal").value == pytest.approx(4 / 9)


def test_interval_alpha_with_a_gap_by_hand() -> None:
    # (1,2,3) gives each of its six ordered pairs 1/(3 − 1): Σ o·δ² = 1 + 4 + 1 = 6; (2,2,·) agrees.
    # Margins 1, 3, 1 (n = 5): Σ n_c·n_k·δ² = 2 · (3 · 1 + 1 · 4 + 3 · 1) = 20, so alpha = 1 − 4 · 6 / 20 = −1/5.
    assert krippendorff_alpha([[1, 2, 3], [2, 2, None]], "interval").value == pytest.approx(-0.2)


def test_alpha_is_null_where_it_is_undefined() -> None:
    same = krippendorff_alpha([[1, 1], [1, 1]], "nominal")
    assert (same.value, same.reason, same.n) == (None, "one label", 2)
    alone = krippendorff_alpha([[1, None], [None, 2]], "ordinal")
    assert (alone.value, alone.reason, alone.n, alone.n_unscored) == (None, "no unit has two ratings", 0, 2)
    assert krippendorff_alpha([], "nominal").reason == "no unit has two ratings"


def test_pairwise_exact_by_hand() -> None:
    # (1,1,2): of six ordered pairs two are equal, weighted 1/2: 1 of 3 values; (4,4): 2 of 2. Together 3/5.
    assert pairwise_exact([[1, 1, 2], [4, 4, None], [5, None, None]]).value == pytest.approx(0.6)


def test_pairwise_pearson_by_hand() -> None:
    # a = 1,2,3 with b = 1,3,2: covariance 1/3 · (1 + 0 + 0), variances 2/3 each, so r = 1/2; c is constant.
    found = pairwise_pearson([[1, 1, 2], [2, 3, 2], [3, 2, 2], [5, None, None]])
    assert found.pairs[0, 1].value == pytest.approx(0.5)
    assert (found.pairs[0, 1].n, found.pairs[0, 1].n_unscored) == (3, 1)
    assert (found.pairs[0, 2].value, found.pairs[0, 2].reason) == (None, "constant ratings")
    assert found.mean._asdict() == {"mean": pytest.approx(0.5), "n_defined": 1, "n_groups": 3}


def test_leave_one_out_by_hand() -> None:
    # a and b rise 1,2,3, c falls. Against the others a and b face the constant 2, c faces 1,2,3: r = −1.
    # Pooled pairs: (1,2)(2,2)(3,2) twice and (3,1)(2,2)(1,3): Σxy = −2, Σx² = 6, Σy² = 2 about 2, r = −2/√12.
    found = leave_one_out([[1, 1, 3], [2, 2, 2], [3, 3, 1]])
    assert [figure.value for figure in found.by_rater] == [None, None, pytest.approx(-1)]
    assert found.mean.value == pytest.approx(-1)
    assert found.pooled.value == pytest.approx(-(3**-0.5))


def test_leave_one_out_averages_the_raters_it_is_defined_for() -> None:
    # One rater a unit has nobody to be measured against.
    assert leave_one_out([[1, None], [2, None]]).mean.reason == "no rater's correlation is defined"
    # Two raters: each faces the other, so both have their Pearson's r, 1/2.
    assert leave_one_out([[1, 1], [2, 3], [3, 2]]).mean.value == pytest.approx(0.5)


@pytest.mark.parametrize(
    # Newcombe 1998, Two-sided confidence intervals for the single proportion, table I, method 3.
    ("successes", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_of_the_printed_table(successes: int, n: int, low: float, high: float) -> None:
    share = wilson(successes, n)
    assert (share.value, share.n) == (successes / n, n)
    assert (share.low, share.high) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


def test_wilson_at_its_ends() -> None:
    assert (wilson(7, 7).low, wilson(7, 7).high) == (pytest.approx(7 / (7 + 1.959964**2)), 1.0)
    nothing = wilson(0, 0, n_unscored=4)
    assert (nothing.value, nothing.n_unscored, nothing.reason) == (None, 4, "nothing was judged")
    with pytest.raises(ValueError, match="8 of 7"):
        wilson(8, 7)


def test_clusters_are_resampled_together() -> None:
    # Each unit twice under one name is no more information: value and interval of Pearson stay.
    ratings = [[1, 2], [2, 1], [3, 5], [4, 4], [5, 3]]
    once = pairwise_pearson(ratings, resamples=500).pairs[0, 1]
    twice = pairwise_pearson(ratings * 2, clusters=[0, 1, 2, 3, 4] * 2, resamples=500).pairs[0, 1]
    apart = pairwise_pearson(ratings * 2, resamples=500).pairs[0, 1]
    assert (twice.value, twice.low, twice.high) == pytest.approx((once.value, once.low, once.high))
    assert apart.high - apart.low < twice.high - twice.low  # type: ignore[operator]


def test_ratings_that_are_no_table_are_refused() -> None:
    with pytest.raises(DataError, match="rows have 1 to 2 raters"):
        krippendorff_alpha([[1, 2], [1]], "nominal")
    with pytest.raises(DataError, match="not finite"):
        pairwise_pearson([[1.0, float("nan")]])
    with pytest.raises(DataError, match="2 units but 1 clusters"):
        pairwise_exact([[1, 1], [2, 2]], clusters=["a"])


def test_mean_pairwise_pearson_by_hand() -> None:
    # As above: r of a and b is 1/2, and c is constant, so that its pairs have none.
    found = mean_pairwise_pearson([[1, 1, 2], [2, 3, 2], [3, 2, 2], [5, None, None]])
    assert found.value == pytest.approx(0.5)
    assert (found.n, found.n_unscored) == (3, 1)
    # c falls where a rises: r = −1 with a and −1/2 with b. (1/2 − 1 − 1/2) / 3 = −1/3.
    ratings = [[1, 1, 3], [2, 3, 2], [3, 2, 1]]
    assert mean_pairwise_pearson(ratings).value == pytest.approx(-1 / 3)
    assert mean_pairwise_pearson(ratings).value == pytest.approx(pairwise_pearson(ratings).mean.mean)
    undefined = mean_pairwise_pearson([[1, 1], [1, 1]])
    assert (undefined.value, undefined.reason) == (None, "no pair's correlation is defined")
    assert mean_pairwise_pearson([]).value is None
