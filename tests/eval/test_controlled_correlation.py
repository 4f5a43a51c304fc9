"""Correlations within systems and given length, and paired gains, against hand-worked values and rows drawn out in full."""

from itertools import product

import numpy as np
import pytest

from core.agreement import Figure
from core.bootstrap import Floats
from eval.controlled_correlation import length_partial, paired_gain, within_system

RESAMPLES = 2000


def all_resamples() -> list[list[int]]:
    """The rows of every resample of three documents of ten rows."""
    return [
        [row for name in names for row in range(10 * name, 10 * name + 10)] for names in product(range(3), repeat=3)
    ]


def data(seed: int = 0) -> tuple[Floats, Floats, Floats, list[int]]:
    rng = np.random.default_rng(seed)
    human = rng.normal(size=30)
    return human, human + rng.normal(size=30), human + 2 * rng.normal(size=30), [row // 10 for row in range(30)]


def assert_interval(figure: Figure, by_resample: list[float]) -> None:
    """Each of the 27 resamples is drawn in 3.7 % of cases or more, so that the 95 % interval reaches from lowest to highest."""
    assert (figure.low, figure.high) == pytest.approx((min(by_resample), max(by_resample)), abs=1e-9)


def test_gain_is_paired() -> None:
    """Both metrics on the same rows of each resample: narrower than the metric's own interval where they go together."""
    human, scores, _, documents = data()
    others = scores + 0.01 * np.arange(30)
    found = paired_gain(human, scores, others, documents, RESAMPLES, seed=1)

    def r(rows: list[int], values: Floats) -> float:
        return float(np.corrcoef(human[rows], values[rows])[0, 1])

    whole = list(range(30))
    assert found.pearson.value == pytest.approx(r(whole, scores))
    assert found.gain.value == pytest.approx(r(whole, scores) - r(whole, others))
    drawn = all_resamples()
    assert_interval(found.pearson, [r(rows, scores) for rows in drawn])
    assert_interval(found.gain, [r(rows, scores) - r(rows, others) for rows in drawn])
    assert found.gain.high is not None
    assert found.gain.low is not None
    assert found.gain.high - found.gain.low < 0.3


def test_no_gain_over_itself_and_none_over_a_constant() -> None:
    human, scores, _, documents = data()
    same = paired_gain(human, scores, 5 + 2 * scores, documents, RESAMPLES, seed=0).gain
    assert (same.value, same.low, same.high) == pytest.approx((0, 0, 0), abs=1e-12)
    assert paired_gain(human, scores, np.full(30, 0.1), documents, 0, 0).gain.reason is not None


def test_within_system_by_hand() -> None:
    """System a: human 1, 3 and scores 2, 1; b: 5, 7 and 12, 11. Pooled r is high, within each system −1.

    A row without a system or a score is left out.
    """
    human, scores = [1.0, 3.0, 5.0, 7.0, 9.0, 2.0], [2.0, 1.0, 12.0, 11.0, 30.0, None]
    systems = ["a", "a", "b", "b", None, "a"]
    figure = within_system(human, scores, systems, list("abcdef"), 200, seed=0)
    assert figure.value == pytest.approx(-1)
    assert (figure.n, figure.n_unscored) == (4, 2)
    none = within_system([1.0, 2.0], [1.0, 2.0], [None, None], [0, 1], 0, 0)
    assert (none.value, none.reason) == (None, "no scored row has a system")
    alone = within_system([1.0, 2.0, 3.0], [0.1, 0.1, 0.3], ["a", "a", "b"], [0, 1, 2], 0, 0)
    assert alone.reason == "constant within systems"


def test_within_system_resamples_documents() -> None:
    human, scores, _, documents = data(1)
    systems = ["abc"[row % 3] for row in range(30)]

    def r(rows: list[int]) -> float:
        names = np.array([systems[row] for row in rows])
        x, y = human[rows], scores[rows]
        for name in set(names.tolist()):
            x, y = (np.where(names == name, values - values[names == name].mean(), values) for values in (x, y))
        return float(np.corrcoef(x, y)[0, 1])

    figure = within_system(human.tolist(), scores.tolist(), systems, documents, RESAMPLES, seed=2)
    assert figure.value == pytest.approx(r(list(range(30))))
    assert_interval(figure, [r(rows) for rows in all_resamples()])


def test_length_partial_by_hand() -> None:
    """Human 1 2 3 4, scores 1 3 2 4 (r .8), lengths 1 1 2 2: r with either is .8944 and .4472 of length.

    (.8 − .8944 · .4472) / √((1 − .8)(1 − .2)) = .4 / .4 = 1.
    """
    figure = length_partial([1, 2, 3, 4], [1.0, 3.0, 2.0, 4.0], [1, 1, 2, 2], list("abcd"), 0, 0)
    assert figure.value == pytest.approx(1.0)
    told = length_partial([1, 2, 3, 4], [10.0, 20.0, 30.0, 40.0], [1, 2, 3, 4], list("abcd"), 0, 0)
    assert told.reason == "constant scores, human scores or lengths, or length tells all"
    assert length_partial([1], [None], [3], ["a"], 0, 0).reason == "fewer than two scored rows"
    assert length_partial([1, 2], [None, 2.0], [3, 4], ["a", "b"], 0, 0).reason == "fewer than two scored rows"


def test_length_partial_is_the_correlation_of_residuals() -> None:
    human, scores, lengths, documents = data(3)

    def r(rows: list[int]) -> float:
        design = np.stack([np.ones(len(rows)), lengths[rows]], axis=1)
        left = [y - design @ np.linalg.lstsq(design, y, rcond=None)[0] for y in (human[rows], scores[rows])]
        return float(np.corrcoef(*left)[0, 1])

    figure = length_partial(human.tolist(), scores.tolist(), lengths.tolist(), documents, RESAMPLES, seed=4)  # type: ignore[arg-type]
    assert figure.value == pytest.approx(r(list(range(30))))
    assert_interval(figure, [r(rows) for rows in all_resamples()])
