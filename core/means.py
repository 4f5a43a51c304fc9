"""Means over rows with intervals by resampling clusters of rows, and means of two sides compared on the same rows."""

from collections.abc import Callable, Hashable, Iterable, Sequence

import numpy as np
from scipy import sparse

from core.agreement import Figure
from core.bootstrap import Clusters, Floats
from core.paired import PairedDifference


def summed(values: Floats, clusters: Sequence[Hashable]) -> Clusters:
    """Clusters of rows as what each adds to k sums. ``values``: what each row adds, [k, rows], at least one row."""
    places: dict[Hashable, int] = {}
    of_row = [places.setdefault(cluster, len(places)) for cluster in clusters]
    sums = np.zeros((len(places), len(values)))
    np.add.at(sums, of_row, values.T)
    patterns, sizes = np.unique(sums, axis=0, return_counts=True)
    return Clusters(sparse.csr_array(patterns.T), sizes)


def sums_figure(
    sums: Clusters, statistic: Callable[[Floats], Floats], n: int, n_unscored: int, resamples: int, seed: int
) -> Figure:
    """The figure of a statistic of sums: [k, B] → [B], NaN in a resample where it is undefined."""
    draws = [statistic(drawn) for drawn in sums.resample(resamples, np.random.default_rng(seed))]
    return Figure.from_draws(statistic(sums.observed), draws, None, n, n_unscored)


def mean_figure(
    values: Iterable[float | None], clusters: Sequence[Hashable], resamples: int = 10_000, seed: int = 0
) -> Figure:
    """The mean over rows with a value; rows without (None) are left out and counted in ``n_unscored``."""
    rows = list(zip(values, clusters, strict=True))
    kept = [(value, cluster) for value, cluster in rows if value is not None]
    left_out = len(rows) - len(kept)
    if not kept:
        return Figure(None, None, None, 0, left_out, "no items")
    sums = summed(np.array([[1, value] for value, _ in kept], float).T, [cluster for _, cluster in kept])
    return sums_figure(sums, _mean, len(kept), left_out, resamples, seed)


def paired_means(
    a: Sequence[float | None],
    b: Sequence[float | None],
    clusters: Sequence[Hashable],
    resamples: int = 10_000,
    seed: int = 0,
) -> PairedDifference:
    """The mean of a − b over the rows where both have a value, with its interval and a two-sided permutation test.

    The test exchanges the two sides, a cluster at a time, in ``resamples`` random permutations: p = (1 + permutations at
    least as far from zero) / (1 + permutations), None without a row. The figure's ``n_unscored`` counts the rows left out.
    """
    kept = [row for row in zip(a, b, clusters, strict=True) if row[0] is not None and row[1] is not None]
    smallest, left_out = 1 / (1 + resamples), len(clusters) - len(kept)
    if not kept:
        return PairedDifference(Figure(None, None, None, 0, left_out, "no common items"), None, smallest)
    halves = np.array([[1, x, 1, y] for x, y, _ in kept], float).T
    sums = summed(halves, [cluster for _, _, cluster in kept])
    figure = sums_figure(sums, _difference, len(kept), left_out, resamples, seed)
    observed = abs(_difference(sums.observed)[0])
    rng = np.random.default_rng(seed)
    # Equal differences may part by rounding.
    as_far = sum(int((np.abs(_difference(drawn)) >= observed - 1e-12).sum()) for drawn in sums.swap(resamples, rng))
    return PairedDifference(figure, (1 + as_far) * smallest, smallest)


def _mean(sums: Floats) -> Floats:
    return sums[1] / sums[0]


def _difference(sums: Floats) -> Floats:
    return (sums[1] - sums[3]) / sums[0]
