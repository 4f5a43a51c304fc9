"""The sample that people see: exactly proportional, seeded, and the same whatever the order of rows."""

from collections import Counter

import pytest

from data_prep.review_sheets.strata import Candidate, draw, largest_remainders


def candidates(**counts: int) -> list[Candidate]:
    """Rows by source, five scores in turn within each."""
    return [
        Candidate(f"{source}{n}", (source, str(n % 5 + 1))) for source, count in counts.items() for n in range(count)
    ]


@pytest.mark.parametrize(
    ("sizes", "total", "shares"),
    [
        ({"a": 50, "b": 30, "c": 20}, 10, {"a": 5, "b": 3, "c": 2}),
        # Quotas 4.7, 3.2, 2.1: whole parts 4, 3, 2, and the one left goes to .7.
        ({"a": 47, "b": 32, "c": 21}, 10, {"a": 5, "b": 3, "c": 2}),
        # Quotas 1.5, .9, .6: whole parts 1, 0, 0, and the two left go to .9 and .6.
        ({"a": 5, "b": 3, "c": 2}, 3, {"a": 1, "b": 1, "c": 1}),
        ({"a": 5, "b": 3}, 8, {"a": 5, "b": 3}),
    ],
)
def test_largest_remainders_by_hand(sizes: dict[str, int], total: int, shares: dict[str, int]) -> None:
    assert largest_remainders(sizes, total, seed=0) == shares


def test_equal_remainders_are_settled_by_the_seed() -> None:
    winners = {
        max((shares := largest_remainders({"a": 5, "b": 5}, 3, seed)), key=shares.__getitem__) for seed in range(20)
    }
    assert winners == {"a", "b"}


def test_a_draw_is_proportional_at_every_level() -> None:
    rows = candidates(big=300, small=100)
    strata = {row.id: row.strata for row in rows}
    drawn = draw(rows, 40, seed=1)
    assert len(set(drawn)) == 40
    assert Counter(strata[name] for name in drawn) == {
        **{("big", str(score)): 6 for score in range(1, 6)},
        **{("small", str(score)): 2 for score in range(1, 6)},
    }


def test_a_draw_depends_on_seed_and_ids_alone() -> None:
    rows = candidates(big=60, small=20)
    drawn = draw(rows, 20, seed=1)
    assert draw(rows[::-1], 20, seed=1) == drawn
    assert draw(rows, 20, seed=2) != drawn
    assert drawn != sorted(drawn, key=[row.id for row in rows].index)  # sources and scores do not stand in blocks


def test_all_rows_are_drawn_where_there_are_fewer() -> None:
    rows = candidates(big=4)
    assert sorted(draw(rows, 10, seed=1)) == [row.id for row in rows]
