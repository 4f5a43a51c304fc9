"""Selection of a strength: by hand, against plain loops, with a planted strength and with none."""

import numpy as np
import pytest
from scipy import stats

from core.bootstrap import Floats
from eval.steering.selection import (
    Grid,
    best,
    broken,
    chosen,
    development_curve,
    folds_by_document,
    grids,
    leave_one_language_out,
    moved,
    nested,
    oracle,
    p_value,
    point_correlations,
)

NAN = float("nan")


def one_grid(columns: list[list[float]], human: list[float], documents: list[int] | None = None) -> Grid:
    scores = np.array(columns, float).T[None]
    numbers = np.arange(len(human)) if documents is None else np.array(documents)
    [grid] = grids(scores, np.array(human, float), numbers)
    return grid


def noise(draws: int, rows: int, seed: int, planted: float = 0.0) -> tuple[Floats, Floats]:
    """Human scores [rows], and scores [draws, rows, 7] on a line through the unsteered ones: u + s·e at s = ±1, ±½, ±¼.

    ``planted``: at s = 1 of draw 0 alone the scores move that far toward the human ones.
    """
    rng = np.random.default_rng(seed)
    human = rng.normal(size=rows)
    unsteered = 0.3 * human + rng.normal(size=(draws, rows))
    along = 0.4 * rng.normal(size=(draws, rows))
    strengths = np.array([0, -1, -0.5, -0.25, 0.25, 0.5, 1])
    scores = unsteered[:, :, None] + along[:, :, None] * strengths
    scores[0, :, 6] += planted * human
    return human, scores


def test_moved_and_broken_by_hand() -> None:
    """Unsteered 1, 2, 3 have SD 1: +2 moves by 2, +3.5 by 3.5 (broken), −3.5 too. A row lost of three is over a tenth."""
    scores = np.array([[1.0, 3, 4.5, -2.5, 1], [2, 4, 5.5, -1.5, NAN], [3, 5, 6.5, -0.5, 3]])
    assert moved(scores).tolist() == pytest.approx([0, 2, 3.5, -3.5, 0])
    assert broken(scores).tolist() == [False, False, True, True, True]
    assert np.isnan(moved(np.array([[2.0, 3.0], [2.0, 4.0]]))).all()


def test_a_tenth_of_the_rows_may_be_lost() -> None:
    """One of ten is a tenth, two are more; a row without an unsteered score is not lost."""
    scores = np.arange(30.0).reshape(3, 10).T % 10
    scores[0, 1] = scores[0, 2] = scores[1, 2] = NAN
    assert broken(scores).tolist() == [False, False, True]
    scores[1] = NAN
    assert broken(scores).tolist() == [False, True, True]  # one of nine


def test_oracle_by_hand() -> None:
    """Human 1 2 3 4. Unsteered 4 3 2 1 has r −1, the second 2 1 4 3 has .6, the third 1 2 3 5 has .983 but is broken."""
    grid = one_grid([[4, 3, 2, 1], [2, 1, 4, 3], [101, 102, 103, 105]], [1, 2, 3, 4])
    assert point_correlations(grid)[0].tolist() == pytest.approx([-1, 0.6, NAN], nan_ok=True)
    found = oracle(grid)
    assert (found.points.tolist(), found.gain.tolist()) == ([[1]], pytest.approx([1.6]))


def test_unsteered_is_chosen_where_nothing_is_better() -> None:
    grid = one_grid([[1, 2, 3, 4], [1, 2, 3, 4], [2, 2, 2, 2]], [1, 2, 3, 4])
    assert grid.usable.tolist() == [[True, True, False]]
    assert (oracle(grid).points.tolist(), oracle(grid).gain.tolist()) == ([[0]], [0.0])
    assert best(np.array([NAN, NAN]), np.array([True, True])) == 0


def test_rows_that_a_point_loses_are_left_out_of_all() -> None:
    """Eleven rows, the last unscored at the second point and the tenth unrated: nine are compared. A broken point takes no rows."""
    human = [*map(float, range(9)), NAN, 50.0]
    steered, lost = [*[0.0] * 5, *[1.0] * 5, NAN], [NAN] * 11
    unsteered = [float(n % 3) for n in range(11)]
    grid = one_grid([unsteered, steered, lost], human)
    assert grid.rows.tolist() == list(range(9))
    assert grid.usable.tolist() == [[True, True, False]]
    expected = np.corrcoef(human[:9], steered[:9])[0, 1]
    assert point_correlations(grid)[0, 1] == pytest.approx(expected)
    assert oracle(grid).gain[0] == pytest.approx(expected - np.corrcoef(human[:9], unsteered[:9])[0, 1])


def test_draws_that_lose_other_rows_stand_apart() -> None:
    human, scores = noise(3, 20, 0)
    scores[1, 4, 2] = NAN
    found = list(grids(scores, human, np.arange(20)))
    assert sorted((grid.members.tolist(), len(grid.rows)) for grid in found) == [([0, 2], 20), ([1], 19)]


def test_nested_is_what_plain_loops_give() -> None:
    """Sixteen documents of two or three rows, several draws, one point broken in one of them."""
    human, scores = noise(4, 40, 1)
    scores[2, :, 3] += 100
    documents = np.minimum(np.arange(40) // 2, 15)
    folds = folds_by_document(16, seed=3)
    [grid] = grids(scores, human, documents)
    found = nested(grid, folds)
    for draw in range(4):
        z = (scores[draw] - scores[draw].mean(0)) / scores[draw].std(0)
        pooled, points = np.zeros(40), []
        for fold in range(5):
            out = folds[documents] == fold
            r = [np.corrcoef(human[~out], z[~out, point])[0, 1] for point in range(7)]
            if draw == 2:
                r[3] = -2
            points.append(int(np.argmax(r)))
            pooled[out] = z[out, points[-1]]
        assert found.points[draw].tolist() == points
        np.testing.assert_allclose(found.scores[draw], pooled, atol=1e-12)
        gain = np.corrcoef(human, pooled)[0, 1] - np.corrcoef(human, z[:, 0])[0, 1]
        assert found.gain[draw] == pytest.approx(gain)
    assert len({tuple(points) for points in found.points.tolist()}) > 1


def test_a_fold_is_not_chosen_on_its_own_scores() -> None:
    """Other human scores in a fold change what the other folds choose, never what it chooses itself."""
    human, scores = noise(30, 40, 2)
    folds = folds_by_document(40, seed=0)
    before = nested(next(grids(scores, human, np.arange(40))), folds).points
    human[folds == 2] = -3 * human[folds == 2]
    after = nested(next(grids(scores, human, np.arange(40))), folds).points
    assert (before[:, 2] == after[:, 2]).all()
    assert (before != after).any()


def test_folds_hold_documents_together_and_are_of_like_size() -> None:
    folds = folds_by_document(23, seed=1)
    assert sorted(np.bincount(folds).tolist()) == [4, 4, 5, 5, 5]
    assert (folds == folds_by_document(23, seed=1)).all()
    assert (folds != folds_by_document(23, seed=2)).any()
    assert sorted(folds_by_document(3, seed=0).tolist()) == [0, 1, 2]


def test_leave_one_language_out_by_hand() -> None:
    """For a the means over b and c are .2, .35 and .5, but the last is broken in a; for b .2, .3; for c .1, .2."""
    found = leave_one_language_out({
        "a": {"none": 0.1, "up": 0.2},
        "b": {"none": 0.1, "up": 0.3, "down": 0.9},
        "c": {"none": 0.3, "up": 0.4, "down": 0.1},
    })  # fmt: skip
    assert found == {"a": "up", "b": "up", "c": "up"}
    assert leave_one_language_out({"a": {"none": 0.1, "up": 0.9}, "b": {"none": 0.3, "up": 0.2}}) == {
        "a": "none", "b": "up",
    }  # fmt: skip
    assert leave_one_language_out({"a": {"none": 0.1}}) == {}


def test_a_point_chosen_elsewhere() -> None:
    grid = one_grid([[4, 3, 2, 1], [2, 1, 4, 3]], [1, 2, 3, 4])
    assert chosen(grid, np.array([1])).gain.tolist() == pytest.approx([1.6])
    assert chosen(grid, np.array([0])).gain.tolist() == [0.0]


def test_development_curve_by_plain_loops() -> None:
    """23 documents, two rows each: 5 and 10 documents are fewer than half. The same draws, one at a time."""
    human, scores = noise(1, 46, 4, planted=0.5)
    documents = np.arange(46) // 2
    [grid] = grids(scores, human, documents)
    curve = development_curve(grid, seed=7, repeats=40)
    assert [(found.size, found.n_test, len(found.gains)) for found in curve] == [(5, 36, 40), (10, 26, 40)]
    rng = np.random.default_rng(7)
    for found in curve:
        order = rng.random((40, 23)).argsort(axis=1)
        for repeat in range(40):
            on = (order[repeat] < found.size)[documents]
            r = [np.corrcoef(human[on], scores[0, on, point])[0, 1] for point in range(7)]
            rest = [np.corrcoef(human[~on], scores[0, ~on, point])[0, 1] for point in (int(np.argmax(r)), 0)]
            assert found.gains[repeat] == pytest.approx(rest[0] - rest[1])
    assert development_curve(one_grid([[1, 2] * 5, [2, 1, 1, 2, 2] * 2], list(range(10))), seed=0) == []


def test_p_value_by_hand() -> None:
    """Of .1, .2, .3 two are at least .2, also where rounding parts equals: (1 + 2) / 4. None of 19: 1 / 20."""
    assert p_value(0.2, [0.1, 0.2 - 1e-15, 0.3]) == 0.75
    assert p_value(0.5, [0.1] * 19) == 0.05
    assert p_value(0.5, []) == 1.0


def gains(scores: Floats, human: Floats) -> tuple[Floats, Floats]:
    """Gains of oracle and nested selection of each draw."""
    documents = np.arange(len(human)) // 2
    folds = folds_by_document(int(documents.max()) + 1, seed=0)
    found = np.full((2, len(scores)), np.nan)
    for grid in grids(scores, human, documents):
        found[0, grid.members], found[1, grid.members] = oracle(grid).gain, nested(grid, folds).gain
    return found[0], found[1]


def test_a_planted_strength_is_found_and_beats_its_null() -> None:
    human, scores = noise(100, 80, 5, planted=0.6)
    [real] = list(grids(scores[:1], human, np.arange(80) // 2))
    assert nested(real, folds_by_document(40, seed=0)).points.tolist() == [[6] * 5]
    for found in gains(scores, human):
        assert p_value(found[0], found[1:].tolist()) == 0.01


def test_p_is_uniform_where_nothing_is_planted() -> None:
    """250 repeats of one real and 19 null draws that differ by luck alone; p is spread over its steps of 1/20."""
    repeats, draws = 250, 20
    human, scores = noise(repeats * draws, 60, 6)
    rng = np.random.default_rng(0)
    for found in gains(scores, human):
        by_repeat = found.reshape(repeats, draws)
        p = np.array([p_value(row[0], row[1:].tolist()) for row in by_repeat]) - rng.random(repeats) / draws
        assert stats.kstest(p, "uniform").pvalue > 0.05
