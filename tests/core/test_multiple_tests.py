"""Holm's correction by hand and by its definition as a sequence of tests, and clusters of ranks."""

import numpy as np
import pytest

from core.multiple_tests import holm, rank_clusters


def test_holm_by_hand() -> None:
    # Sorted .01 .02 .03 .5, m = 4: 4·.01 = .04; 3·.02 = .06; 2·.03 = .06; 1·.5 = .5.
    assert holm([0.03, 0.01, 0.5, 0.02]) == pytest.approx([0.06, 0.04, 0.5, 0.06])
    # 2·.03 = .06 holds .04 up: a larger p is never corrected to a smaller one.
    assert holm([0.04, 0.03]) == pytest.approx([0.06, 0.06])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


def test_a_test_that_was_not_made_is_not_counted() -> None:
    # m = 2: 2·.01 and 1·.04.
    assert holm([None, 0.04, None, 0.01]) == [None, pytest.approx(0.04), None, pytest.approx(0.02)]
    assert holm([None]) == [None]


@pytest.mark.parametrize("seed", range(20))
def test_holm_rejects_what_the_step_down_tests_reject(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = (rng.random(8) ** 3).tolist()
    for alpha in (0.01, 0.05, 0.2):
        rejected = set()
        # The smallest p is tested at alpha/m, the next at alpha/(m − 1), …, until one is kept.
        for before, place in enumerate(np.argsort(p)):
            if p[place] > alpha / (len(p) - before):
                break
            rejected.add(int(place))
        corrected = holm(p)
        assert {place for place, value in enumerate(corrected) if value is not None and value <= alpha} == rejected


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan")])
def test_what_is_no_probability_is_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match=r"p\[1\] is .*, no probability"):
        holm([0.5, wrong])


@pytest.mark.parametrize(
    ("alike", "clusters"),
    [
        (set(), [1, 2, 3, 4]),
        ({"ab", "bc", "cd"}, [1, 1, 1, 1]),  # a chain of neighbours that are alike has no boundary
        ({"ab"}, [1, 1, 2, 3]),
        ({"ac"}, [1, 1, 1, 2]),  # b is better than c and worse than a, but a is not better than c
        ({"ad"}, [1, 1, 1, 1]),
        ({"bc"}, [1, 2, 2, 3]),
    ],
)
def test_a_cluster_ends_where_all_above_are_better_than_all_below(alike: set[str], clusters: list[int]) -> None:
    assert rank_clusters("abcd", lambda better, worse: better + worse not in alike) == clusters


def test_few_names() -> None:
    assert rank_clusters([], lambda a, b: True) == []
    assert rank_clusters(["a"], lambda a, b: True) == [1]
