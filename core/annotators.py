"""How far annotators agree with one another: Krippendorff's alpha, pairwise Pearson, each rater against the rest; and the
Wilson interval of a share.

Ratings are one row a unit (a text) and one column a rater, None where a rater left the unit out. Intervals are 95 %
percentile bootstrap intervals over clusters of units, as in core.agreement; Wilson's needs no resampling.
"""

from collections.abc import Callable, Hashable, Sequence
from itertools import combinations
from math import isfinite, sqrt
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.agreement import Figure, GroupMean, mean_over_groups
from core.bootstrap import Clusters, Floats
from core.errors import DataError

Level = Literal["nominal", "ordinal", "interval"]
Ratings = Sequence[Sequence[float | None]]

MOMENTS = 6


class PairwisePearson(NamedTuple):
    """Pearson's r of each pair of raters (by their columns) over the units both rated, and the mean over the pairs."""

    pairs: dict[tuple[int, int], Figure]
    mean: GroupMean


class LeaveOneOut(NamedTuple):
    """Pearson's r of each rater with the mean of the other raters of the unit.

    ``mean`` averages over the raters where it is defined; ``pooled`` puts all (rating, mean of the others) pairs into one
    correlation, which is the one to read where columns are not the same people throughout.
    """

    by_rater: list[Figure]
    mean: Figure
    pooled: Figure


def krippendorff_alpha(
    ratings: Ratings,
    level: Level,
    clusters: Sequence[Hashable] | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> Figure:
    """Krippendorff's alpha (Krippendorff 2011, Computing Krippendorff's Alpha-Reliability) for any number of raters.

    1 is perfect agreement, 0 is chance. Units with fewer than two ratings pair nothing: they are ``n_unscored``, the others
    ``n``. Null where no unit is paired or all paired ratings are one label. Raises DataError on ragged ratings.
    """
    values, counts = _counts(ratings)
    raters = counts.sum(axis=1)
    paired = raters >= 2
    weights = counts / np.maximum(raters - 1, 1)[:, None]
    coincidences = counts[:, :, None] * weights[:, None, :] - weights[:, :, None] * np.eye(len(values))
    sums = coincidences.reshape(len(counts), len(values) ** 2)
    labels = int(np.count_nonzero(counts[paired].sum(axis=0)))
    reason = {0: "no unit has two ratings", 1: "one label"}.get(labels)
    return _figure(lambda total: _alpha(total, values, level), sums, paired, reason, clusters, resamples, seed)


def pairwise_exact(
    ratings: Ratings, clusters: Sequence[Hashable] | None = None, resamples: int = 10_000, seed: int = 0
) -> Figure:
    """Share of equal ratings among pairs of ratings of the same unit, each unit weighted by its ratings.

    This is the observed agreement of nominal alpha; it stands beside alpha where nearly all ratings are one label.
    """
    _, counts = _counts(ratings)
    raters = counts.sum(axis=1)
    paired = raters >= 2
    equal = (counts * (counts - 1)).sum(axis=1) / np.maximum(raters - 1, 1)
    sums = np.stack([equal, raters], axis=1)
    reason = None if paired.any() else "no unit has two ratings"
    return _figure(lambda total: _ratio(total[0], total[1]), sums, paired, reason, clusters, resamples, seed)


def pairwise_pearson(
    ratings: Ratings, clusters: Sequence[Hashable] | None = None, resamples: int = 10_000, seed: int = 0
) -> PairwisePearson:
    """Pearson's r (Pearson 1895) of every two raters over the units that both rated; ``n_unscored`` counts the others."""
    table = _table(ratings)
    pairs = {}
    for a, b in combinations(range(table.shape[1]), 2):
        moments = _moments(table[:, a], table[:, b], table)
        pairs[a, b] = _correlation_figure(moments, clusters, resamples, seed)
    return PairwisePearson(pairs, mean_over_groups(figure.value for figure in pairs.values()))


def mean_pairwise_pearson(
    ratings: Ratings, clusters: Sequence[Hashable] | None = None, resamples: int = 10_000, seed: int = 0
) -> Figure:
    """The mean over pairs of raters of their Pearson's r, over the pairs where it is defined. ``n`` counts units of any pair."""
    table = _table(ratings)
    pairs = [_moments(table[:, a], table[:, b], table) for a, b in combinations(range(table.shape[1]), 2)]
    return _mean_figure(pairs, len(table), "no pair's correlation is defined", clusters, resamples, seed)


def leave_one_out(
    ratings: Ratings, clusters: Sequence[Hashable] | None = None, resamples: int = 10_000, seed: int = 0
) -> LeaveOneOut:
    """How well one rater predicts the others, the ceiling for a judge measured against people.

    The lower bound of the noise ceiling of Nili et al. 2014 (A Toolbox for Representational Similarity Analysis): each
    rater's correlation with the mean of the others, averaged over raters. ``n`` counts the units that a figure is over.
    """
    table = _table(ratings)
    rated = ~np.isnan(table)
    others = rated.sum(axis=1, keepdims=True) - rated
    total = np.where(rated, table, 0).sum(axis=1, keepdims=True)
    rest = _ratio(total - np.where(rated, table, 0), others)
    moments = [_moments(table[:, rater], rest[:, rater], table) for rater in range(table.shape[1])]
    by_rater = [_correlation_figure(rows, clusters, resamples, seed) for rows in moments]
    mean = _mean_figure(moments, len(table), "no rater's correlation is defined", clusters, resamples, seed)
    pooled = sum(moments, np.zeros((len(table), MOMENTS)))
    return LeaveOneOut(by_rater, mean, _correlation_figure(pooled, clusters, resamples, seed))


def wilson(successes: int, n: int, n_unscored: int = 0) -> Figure:
    """A share of n with its 95 % score interval (Wilson 1927, Probable Inference); null where n is 0.

    Raises ValueError unless 0 ≤ successes ≤ n.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} of {n} is not a share")
    if n == 0:
        return Figure(None, None, None, 0, n_unscored, "nothing was judged")
    z = NormalDist().inv_cdf(0.975)
    share = successes / n
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == n else centre + half
    return Figure(share, low, high, n, n_unscored)


def _table(ratings: Ratings) -> Floats:
    """Ratings as [units, raters], NaN where there is none."""
    widths = {len(row) for row in ratings}
    if len(widths) > 1:
        raise DataError(
            f"ratings: rows have {min(widths)} to {max(widths)} raters; give each a column, None where empty"
        )
    if any(value is not None and not isfinite(value) for row in ratings for value in row):
        raise DataError("ratings: a rating is not finite; use None where there is none")
    cells = [np.nan if value is None else float(value) for row in ratings for value in row]
    return np.array(cells, float).reshape(len(ratings), widths.pop() if widths else 0)


def _counts(ratings: Ratings) -> tuple[Floats, Floats]:
    """The distinct values, rising [V], and how often each unit got each [units, V]."""
    table = _table(ratings)
    values = np.unique(table[~np.isnan(table)])
    return values, (table[:, :, None] == values).sum(axis=1).astype(float)


def _alpha(total: Floats, values: Floats, level: Level) -> Floats:
    """Alpha of coincidence matrices [V², B]."""
    observed = total.reshape(len(values), len(values), total.shape[1])
    margins = observed.sum(axis=1)
    n = margins.sum(axis=0)
    if level == "nominal":
        distance = 1 - np.eye(len(values))[:, :, None]
    else:
        # The ordinal metric is the interval metric on midranks of the paired ratings.
        place = values[:, None] if level == "interval" else margins.cumsum(axis=0) - margins / 2
        distance = (place[:, None] - place[None, :]) ** 2
    disagreement = (observed * distance).sum(axis=(0, 1))
    by_chance = (margins[:, None] * margins[None, :] * distance).sum(axis=(0, 1))
    return 1 - _ratio((n - 1) * disagreement, by_chance)


def _moments(x: Floats, y: Floats, table: Floats) -> Floats:
    """What each unit adds to n, Σx, Σy, Σx², Σy², Σxy, [units, 6]; nothing where x or y is missing."""
    both = ~np.isnan(x) & ~np.isnan(y)
    centre = np.nanmean(table) if both.any() else 0.0  # keeps the differences of large sums exact
    x, y = np.where(both, x - centre, 0), np.where(both, y - centre, 0)
    return np.stack([both.astype(float), x, y, x * x, y * y, x * y], axis=1)


def _correlation(total: Floats) -> Floats:
    """Pearson's r from summed moments [6, B]; NaN where a side is constant."""
    n, x, y, xx, yy, xy = total
    spread_x, spread_y = n * xx - x * x, n * yy - y * y
    varied = (spread_x > 1e-12 * n * xx) & (spread_y > 1e-12 * n * yy)
    return np.clip(_ratio(n * xy - x * y, np.sqrt(np.where(varied, spread_x * spread_y, 0))), -1, 1)


def _mean_correlation(total: Floats) -> Floats:
    """The mean over raters of r, over those where it is defined, from moments [6 × raters, B]."""
    by_rater = np.stack([_correlation(moments) for moments in total.reshape(-1, MOMENTS, total.shape[1])])
    defined = ~np.isnan(by_rater)
    return _ratio(np.where(defined, by_rater, 0).sum(axis=0), defined.sum(axis=0))


def _mean_figure(
    moments: Sequence[Floats],
    units: int,
    reason: str,
    clusters: Sequence[Hashable] | None,
    resamples: int,
    seed: int,
) -> Figure:
    """The mean of several correlations, each from its moments [units, 6]; ``reason`` is why where none is defined."""
    stacked = np.stack(moments) if moments else np.zeros((0, units, MOMENTS))
    used = stacked[:, :, 0].max(axis=0, initial=0) > 0
    flat = stacked.transpose(1, 0, 2).reshape(units, len(moments) * MOMENTS)
    defined = bool(moments) and not np.isnan(_mean_correlation(flat.sum(axis=0)[:, None])[0])
    return _figure(_mean_correlation, flat, used, None if defined else reason, clusters, resamples, seed)


def _correlation_figure(moments: Floats, clusters: Sequence[Hashable] | None, resamples: int, seed: int) -> Figure:
    used = moments[:, 0] > 0
    reason = None
    if np.count_nonzero(used) < 2:
        reason = "fewer than two units to compare"
    elif np.isnan(_correlation(moments.sum(axis=0)[:, None])[0]):
        reason = "constant ratings"
    return _figure(_correlation, moments, used, reason, clusters, resamples, seed)


def _figure(
    statistic: Callable[[Floats], Floats],
    sums: Floats,
    used: NDArray[np.bool_],
    reason: str | None,
    clusters: Sequence[Hashable] | None,
    resamples: int,
    seed: int,
) -> Figure:
    """A statistic of sums over units: ``statistic`` takes [k, B], each unit adds its row of ``sums`` [units, k]."""
    names = range(len(sums)) if clusters is None else clusters
    if len(names) != len(sums):
        raise DataError(f"ratings: {len(sums)} units but {len(names)} clusters; name the cluster of each unit")
    n = int(np.count_nonzero(used))
    if reason is not None:
        return Figure(None, None, None, n, len(sums) - n, reason)
    kept = [name for name, is_used in zip(names, used, strict=True) if is_used]
    index = {name: number for number, name in enumerate(dict.fromkeys(kept))}
    by_cluster = np.zeros((len(index), sums.shape[1]))
    np.add.at(by_cluster, [index[name] for name in kept], sums[used])
    drawn_from = Clusters.from_rows(np.arange(len(index))[:, None], None, len(index))
    draws = [statistic(by_cluster.T @ tables) for tables in drawn_from.resample(resamples, np.random.default_rng(seed))]
    return Figure.from_draws(statistic(by_cluster.sum(axis=0)[:, None]), draws, None, n, len(sums) - n)


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    undefined = np.full(np.shape(numerator), np.nan)
    return np.divide(numerator, denominator, out=undefined, where=denominator != 0)
