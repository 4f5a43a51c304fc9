"""How much of a judge's agreement is left when the length of the response is held fixed."""

import math
from collections.abc import Hashable, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from core.agreement import Figure, figures, place_unscored
from core.bootstrap import Clusters, Floats, percentile_interval
from core.contingency import SCORES, Tables, kappa
from core.errors import DataError


class QuartileKappa(NamedTuple):
    """Linear kappa in one quartile of the length ratio, beside what errors blind to length would give there.

    ``low_ratio`` and ``high_ratio`` bound the quartile. ``null_mean`` and the 2.5 to 97.5 % range ``null_low`` to ``null_high``
    are of the null judge, None where kappa is undefined.
    """

    low_ratio: float
    high_ratio: float
    kappa: Figure
    null_mean: float | None
    null_low: float | None
    null_high: float | None

    def to_json(self) -> dict[str, Any]:
        """The fields by name, kappa as a figure."""
        return self._asdict() | {"kappa": self.kappa.to_json()}


def partial_spearman(
    gold: Sequence[float],
    scores: Sequence[int | None],
    given: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> Figure:
    """Spearman correlation of gold and scores with the ranks of a third variable, such as the length ratio, partialled out.

    r = (r_gs - r_gz r_sz) / √((1 - r_gz²)(1 - r_sz²)). Unscored items stand at the score from 1 to 5 farthest from gold.
    Raises DataError on unequal lengths and on values that are not finite numbers.
    """
    _check(gold, scores, given, clusters)
    if not len(gold):
        return Figure(None, None, None, 0, 0, "no items")
    columns = {"gold": gold, "scores": place_unscored(gold, scores), "given": given}
    ranked = {name: np.unique(np.asarray(values, float), return_inverse=True) for name, values in columns.items()}
    levels = _Levels.from_rows(*(level for _, level in ranked.values()))
    # Each row is a cell of its own, so a resampled table is the number of times each row was drawn.
    rows_by_cluster = Clusters.from_rows(np.arange(len(gold))[:, None], clusters, len(gold))
    observed = _partial(levels, rows_by_cluster.observed)
    draws = [_partial(levels, drawn) for drawn in rows_by_cluster.resample(resamples, np.random.default_rng(seed))]
    reason = None
    if np.isnan(observed[0]):
        constant = [name for name, (values, _) in ranked.items() if len(values) < 2]
        reason = f"constant {' and '.join(constant)}" if constant else "gold or scores rank as the given variable does"
    return Figure.from_draws(observed, draws, reason, len(gold), sum(score is None for score in scores))


def kappa_within_quartiles(
    gold: Sequence[float],
    scores: Sequence[int | None],
    ratios: Sequence[float],
    draws: int = 200,
    seed: int = 0,
    clusters: Sequence[Hashable] | None = None,
    resamples: int = 10_000,
) -> list[QuartileKappa]:
    """Linear kappa in each quartile of the length ratio, beside that of a judge whose errors are blind to length.

    The null judge has the same confusion matrix: verdicts are permuted within gold class over the whole set, ``draws`` times.
    Empty without rows. Raises DataError as `agreement` does, and on ratios that are not finite numbers.
    """
    _check(gold, scores, ratios, clusters)
    if not len(gold):
        return []
    levels, level = np.unique(np.asarray(gold, float), return_inverse=True)
    verdicts = _permuted_within(level, np.array(place_unscored(gold, scores), int), draws, np.random.default_rng(seed))
    edges, quartile_of = quartiles(ratios)
    found = []
    for quartile in range(4):
        rows = np.flatnonzero(quartile_of == quartile).tolist()
        names = None if clusters is None else [clusters[row] for row in rows]
        part_gold, part_scores = [gold[row] for row in rows], [scores[row] for row in rows]
        figure = figures(part_gold, part_scores, ["kappa"], names, resamples, seed)["kappa"]
        null = (None, None, None) if figure.value is None else _null(levels, level[rows], verdicts[:, rows])
        found.append(QuartileKappa(float(edges[quartile]), float(edges[quartile + 1]), figure, *null))
    return found


def quartiles(values: Sequence[float]) -> tuple[Floats, NDArray[np.int64]]:
    """The five edges of the quartiles, and the quartile of each value, 0 to 3; a value on an edge is in the lower one."""
    edges = np.quantile(values, [0, 0.25, 0.5, 0.75, 1])
    return edges, np.searchsorted(edges[1:4], values)


def _check(
    gold: Sequence[float], scores: Sequence[int | None], given: Sequence[float], clusters: Sequence[Hashable] | None
) -> None:
    lengths = [len(column) for column in (gold, scores, given, *([] if clusters is None else [clusters]))]
    if len(set(lengths)) > 1:
        raise DataError(f"length control: unequal lengths ({', '.join(map(str, lengths))}); join the rows by id first")
    for name, values in (("gold", gold), ("score", scores), ("given value", given)):
        for row, value in enumerate(values):
            unscored = name == "score" and value is None
            if not (unscored or (isinstance(value, Real) and math.isfinite(value))):
                raise DataError(f"length control: {name} of row {row} is {value!r}; give a number or leave the row out")


class _Levels(NamedTuple):
    """Rows by their levels, rising: x and y of few levels, z of many. ``in_cell`` sums rows to cells of x by y, ``at_z`` to z."""

    x_levels: int
    in_cell: sparse.csr_array
    at_z: sparse.csr_array
    z: NDArray[np.int64]

    @classmethod
    def from_rows(cls, x: NDArray[np.int64], y: NDArray[np.int64], z: NDArray[np.int64]) -> "_Levels":
        rows, ones, y_levels = np.arange(len(x)), np.ones(len(x)), int(y.max()) + 1
        shape = ((int(x.max()) + 1) * y_levels, len(x))
        in_cell = sparse.csr_array((ones, (x * y_levels + y, rows)), shape)
        return cls(int(x.max()) + 1, in_cell, sparse.csr_array((ones, (z, rows))), z)


def _partial(levels: _Levels, drawn: Floats) -> Floats:
    """Partial Spearman correlation of x and y given z, [b], for rows drawn [n, b] times.

    Ranks of x and y are the same over a cell, so that rows are passed over for z alone.
    """
    cells = (levels.in_cell @ drawn).reshape(levels.x_levels, -1, drawn.shape[1])
    at_z = levels.at_z @ drawn
    x_ranks, y_ranks, z_ranks = (_centred_ranks(counts) for counts in (cells.sum(axis=1), cells.sum(axis=0), at_z))
    z_in_cells = (levels.in_cell @ (drawn * z_ranks[levels.z])).reshape(cells.shape)
    x, y, z = (
        np.sqrt((counts * ranks**2).sum(axis=0))
        for counts, ranks in ((cells.sum(axis=1), x_ranks), (cells.sum(axis=0), y_ranks), (at_z, z_ranks))
    )
    x, y, z = (np.where(length > 0, length, np.nan) for length in (x, y, z))
    xy = (cells * x_ranks[:, None] * y_ranks).sum(axis=(0, 1)) / (x * y)
    xz = (z_in_cells.sum(axis=1) * x_ranks).sum(axis=0) / (x * z)
    yz = (z_in_cells.sum(axis=0) * y_ranks).sum(axis=0) / (y * z)
    left = (1 - xz**2) * (1 - yz**2)
    # Ranks that are fixed by the third variable leave only rounding error.
    defined = left > 1e-12
    return np.where(defined, (xy - xz * yz) / np.sqrt(np.where(defined, left, np.nan)), np.nan)


def _centred_ranks(counts: Floats) -> Floats:
    """Midranks of levels with these counts [k, b], less their mean."""
    return counts.cumsum(axis=0) - counts / 2 - counts.sum(axis=0) / 2


def _permuted_within(
    level: NDArray[np.int64], verdicts: NDArray[np.int64], draws: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Verdicts permuted among the rows of equal level, [draws, n]."""
    permuted = np.tile(verdicts, (draws, 1))
    for value in np.unique(level):
        members = level == value
        permuted[:, members] = rng.permuted(permuted[:, members], axis=1)
    return permuted


def _null(
    levels: Floats, level: NDArray[np.int64], verdicts: NDArray[np.int64]
) -> tuple[float | None, float | None, float | None]:
    """Mean and 2.5 to 97.5 % range of kappa over draws of the verdicts [draws, n] on rows with these levels [n]."""
    draws, cells = len(verdicts), len(levels) * len(SCORES)
    cell_of = np.arange(draws)[:, None] * cells + level * len(SCORES) + verdicts - 1
    counts = np.bincount(cell_of.ravel(), minlength=draws * cells).reshape(draws, len(levels), len(SCORES))
    kappas = kappa(Tables(counts.transpose(1, 2, 0).astype(float), levels))
    interval = percentile_interval(kappas)
    return (float(np.nanmean(kappas)), *interval) if interval else (None, None, None)
