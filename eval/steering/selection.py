"""Choosing a point (a layer set and a strength) of a grid of steered scores: with the test scores, without them, or by luck.

Scores stand as [draws, rows, points], NaN where there is none, column 0 unsteered: one draw of the real directions, or many
null draws, which then go through the very same steps. Every selection gives the scores of what it chose, to be compared with
the unsteered ones on the same rows. No selection chooses a broken point.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.bootstrap import Floats

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

BROKEN_BEYOND = 3.0
MOST_LOST = 0.1
FOLDS = 5
FIRST_SIZE = 5
REPEATS = 500


class Grid(NamedTuple):
    """Draws that can be compared on the same rows.

    ``members`` are their numbers [D]; ``rows`` those compared, of all of the cell [m]; ``human`` and ``documents`` [m] belong
    to these; ``z`` [D, m, P] are the scores, standardised over the rows; ``usable`` [D, P] points may be chosen.
    """

    members: Integers
    rows: Integers
    human: Floats
    documents: Integers
    z: Floats
    usable: Booleans


class Selected(NamedTuple):
    """What was chosen: points [D, k] (one, or one a fold), their standardised scores [D, m], and the gain in Pearson [D]."""

    points: Integers
    scores: Floats
    gain: Floats


class Development(NamedTuple):
    """Choosing on ``size`` documents: the gain on the others, over draws of the documents [repeats], and their mean rows."""

    size: int
    n_test: int
    gains: Floats


def moved(scores: Floats) -> Floats:
    """By how many standard deviations of the unsteered scores each point's mean moved, over rows scored both ways.

    Scores [..., rows, points] → [..., points]; NaN where fewer than two rows or no spread leave it undefined.
    """
    both = ~np.isnan(scores) & ~np.isnan(scores[..., :1])
    n = both.sum(axis=-2)
    unsteered = np.where(both, scores[..., :1], 0)
    mean = unsteered.sum(axis=-2) / np.maximum(n, 1)
    spread = np.sqrt((np.where(both, unsteered - mean[..., None, :], 0) ** 2).sum(axis=-2) / np.maximum(n - 1, 1))
    change = np.where(both, scores - scores[..., :1], 0).sum(axis=-2) / np.maximum(n, 1)
    varied = (n > 1) & (spread > 1e-12 * np.abs(mean))
    return np.divide(change, spread, out=np.full(change.shape, np.nan), where=varied)


def broken(scores: Floats) -> Booleans:
    """Which points steering broke: the mean moved over 3 standard deviations, or over a tenth of the scored rows was lost.

    Scores [..., rows, points] → [..., points].
    """
    scored = ~np.isnan(scores)
    lost = (scored[..., :1] & ~scored).sum(axis=-2)
    return (np.abs(moved(scores)) > BROKEN_BEYOND) | (lost > MOST_LOST * scored[..., :1].sum(axis=-2))


def grids(scores: Floats, human: Floats, documents: Integers) -> Iterator[Grid]:
    """Scores [D, n, P] as grids of draws that share their rows: those with a human score, scored at every usable point.

    ``human`` [n] is NaN where no one rated. A point that loses a few rows thus takes them from all points of its draw.
    """
    scored = ~np.isnan(scores)
    usable = ~broken(scores)
    usable[:, 0] = True
    compared = (scored | ~usable[:, None, :]).all(axis=2) & ~np.isnan(human)
    patterns, pattern_of = np.unique(compared, axis=0, return_inverse=True)
    for pattern, mask in enumerate(patterns):
        members, rows = np.flatnonzero(pattern_of.ravel() == pattern), np.flatnonzero(mask)
        if len(rows) < 2:
            continue
        z, varied = _standardised(scores[np.ix_(members, rows)])
        yield Grid(members, rows, human[rows], documents[rows], z, usable[members] & varied)


def oracle(grid: Grid) -> Selected:
    """The point of the highest Pearson by the very scores it is judged by: too good by what luck gives."""
    whole = _Moments.of(grid, np.ones((1, len(grid.rows))))
    return chosen(grid, best(whole.pearson()[0], grid.usable))


def nested(grid: Grid, fold_of: Integers) -> Selected:
    """For each fold the best point of the other folds; the scores of the folds left out are pooled.

    ``fold_of``: the fold of each document. They were standardised over the cell, so that points with other means and
    spreads pool; that uses no human score.
    """
    fold = fold_of[grid.documents]
    membership = (fold == np.arange(fold_of.max() + 1)[:, None]).astype(float)
    by_fold = _Moments.of(grid, membership)
    points = best(by_fold.rest().pearson(), grid.usable)
    scores = np.take_along_axis(grid.z, points[fold].T[:, :, None], axis=2)[:, :, 0]
    return Selected(points.T, scores, _gain(grid, scores))


def chosen(grid: Grid, points: Integers) -> Selected:
    """A point [D] that was chosen in some other way."""
    scores = np.take_along_axis(grid.z, points[:, None, None], axis=2)[:, :, 0]
    return Selected(points[:, None], scores, _gain(grid, scores))


def best(values: Floats, usable: Booleans) -> Integers:
    """The place of the highest value among the usable ones, on the last axis; unsteered (0) among equals or without any."""
    return np.where(usable & ~np.isnan(values), values, -np.inf).argmax(axis=-1)


def point_correlations(grid: Grid) -> Floats:
    """Pearson of each point with the human scores, on the rows compared: [D, P], NaN where it may not be chosen."""
    whole = _Moments.of(grid, np.ones((1, len(grid.rows))))
    return np.where(grid.usable, whole.pearson()[0], np.nan)


def folds_by_document(n_documents: int, seed: int, folds: int = FOLDS) -> Integers:
    """The fold of each document: drawn by seed, of like size; as many as documents where these are fewer."""
    return np.random.default_rng(seed).permutation(n_documents) % max(1, min(folds, n_documents))


def leave_one_language_out(correlations: Mapping[str, Mapping[Any, float]]) -> dict[str, Any]:
    """For each language the point of the best mean Pearson over the others, among those usable in all of them and in itself.

    ``correlations``: by language and point, unsteered first. Languages without others are left out.
    """
    found = {}
    for language, own in correlations.items():
        others = [values for other, values in correlations.items() if other != language]
        shared = [point for point in own if all(point in values for values in others)]
        if others and shared:
            found[language] = max(shared, key=lambda point: sum(values[point] for values in others))
    return found


def development_curve(grid: Grid, seed: int, repeats: int = REPEATS) -> list[Development]:
    """Choosing on 5, 10, 20, … documents (fewer than half), drawn ``repeats`` times: the gain on the rest, of a single draw D = 1."""
    documents, place = np.unique(grid.documents, return_inverse=True)
    by_document = _Moments.of(grid, (place == np.arange(len(documents))[:, None]).astype(float))
    rng = np.random.default_rng(seed)
    curve, size = [], FIRST_SIZE
    while 2 * size < len(documents):
        order = rng.random((repeats, len(documents))).argsort(axis=1)
        drawn = (order < size).astype(float)
        on_drawn, rest = by_document.summed(drawn), by_document.summed(1 - drawn)
        points = best(on_drawn.pearson()[:, 0], grid.usable[0])
        on_rest = rest.pearson()[:, 0]
        gains = np.take_along_axis(on_rest, points[:, None], axis=1)[:, 0] - on_rest[:, 0]
        curve.append(Development(size, round(float(rest.n.mean())), gains[~np.isnan(gains)]))
        size *= 2
    return curve


def p_value(gain: float, null_gains: Sequence[float]) -> float:
    """(1 + null gains at least as high) / (1 + null draws): Phipson and Smyth 2010; equal gains may part by rounding."""
    as_high = sum(other >= gain - 1e-12 for other in null_gains)
    return (1 + as_high) / (1 + len(null_gains))


class _Moments(NamedTuple):
    """Sums over the rows of each of G groups: n, Σh, Σh² [G, 1, 1]; Σz, Σz², Σhz [G, D, P]."""

    n: Floats
    h: Floats
    hh: Floats
    z: Floats
    zz: Floats
    hz: Floats

    @classmethod
    def of(cls, grid: Grid, membership: Floats) -> "_Moments":
        """``membership`` [G, m] of rows in groups."""
        human = grid.human - grid.human.mean()
        by_human = [(membership @ values)[:, None, None] for values in (np.ones_like(human), human, human**2)]
        parts = (grid.z, grid.z**2, grid.z * human[:, None])
        return cls(*by_human, *(np.tensordot(membership, part, axes=(1, 1)) for part in parts))

    def summed(self, weights: Floats) -> "_Moments":
        """Sums of groups, weighted [groups of groups, G]."""
        return _Moments(*(np.tensordot(weights, part, axes=(1, 0)) for part in self))

    def rest(self) -> "_Moments":
        """All rows but those of each group."""
        return _Moments(*(part.sum(axis=0) - part for part in self))

    def pearson(self) -> Floats:
        """Pearson's r [G, D, P]; NaN where a side is constant."""
        n = np.maximum(self.n, 1)
        hh, zz, hz = self.hh - self.h**2 / n, self.zz - self.z**2 / n, self.hz - self.h * self.z / n
        varied = (hh > 1e-12 * n) & (zz > 1e-12 * n)
        return np.divide(hz, np.sqrt(np.where(varied, hh * zz, 1)), out=np.full(zz.shape, np.nan), where=varied)


def _standardised(scores: Floats) -> tuple[Floats, Booleans]:
    """Scores [D, m, P] with mean 0 and standard deviation 1 over the rows, zero where they are constant, and which are not."""
    centred = scores - scores.mean(axis=1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=1, keepdims=True))
    # NaN, in points that are not usable, compares false.
    varied = spread > 1e-12 * np.abs(scores).max(axis=1, keepdims=True)
    z = np.divide(centred, spread, out=np.zeros_like(scores), where=varied & np.ones(scores.shape, bool))
    return z, varied[:, 0]


def _gain(grid: Grid, scores: Floats) -> Floats:
    """Pearson of scores [D, m] less that of the unsteered ones, [D]; NaN where one is undefined."""
    both = grid._replace(z=np.stack([scores, grid.z[:, :, 0]], axis=2))
    pearson = _Moments.of(both, np.ones((1, len(grid.rows)))).pearson()[0]
    return pearson[:, 0] - pearson[:, 1]
