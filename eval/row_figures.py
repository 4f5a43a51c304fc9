"""Figures over rows that are no count of score by gold: the correlation of the expected score, and the unscored rate."""

from collections.abc import Sequence

import numpy as np

from core.agreement import Figure
from core.bootstrap import Clusters, Floats


def pearson_figure(
    gold: Sequence[float], values: Sequence[float | None], clusters: Sequence[str], resamples: int, seed: int
) -> Figure:
    """Pearson's r of gold and a continuous value such as the expected score; rows without one are left out and counted."""
    rows = [row for row, value in enumerate(values) if value is not None]
    n, left_out = len(rows), len(values) - len(rows)
    x, y = (np.array([column[row] for row in rows], float) for column in (gold, values))
    if n == 0:
        return Figure(None, None, None, 0, left_out, "no expected scores")
    constant = [name for name, column in (("gold", x), ("expected scores", y)) if np.ptp(column) == 0]
    if constant:
        return Figure(None, None, None, n, left_out, f"constant {' and '.join(constant)}")
    x, y = ((column - column.mean()) / column.std() for column in (x, y))
    moments = np.stack([np.ones(n), x, y, x * x, y * y, x * y])

    def correlation(drawn: Floats) -> Floats:
        count, sum_x, sum_y, xx, yy, xy = moments @ drawn
        spread_x, spread_y = xx - sum_x**2 / count, yy - sum_y**2 / count
        # A resample of equal values leaves only rounding error.
        varied = (spread_x > 1e-9 * count) & (spread_y > 1e-9 * count)
        return (xy - sum_x * sum_y / count) / np.sqrt(np.where(varied, spread_x * spread_y, np.nan))

    # Each row is a cell of its own, so that a resampled table is the number of times each row was drawn.
    by_row = Clusters.from_rows(np.arange(n)[:, None], [clusters[row] for row in rows], n)
    draws = [correlation(drawn) for drawn in by_row.resample(resamples, np.random.default_rng(seed))]
    return Figure.from_draws(correlation(by_row.observed), draws, None, n, left_out)


def unscored_rate(scores: Sequence[int | None], clusters: Sequence[str], resamples: int, seed: int) -> Figure:
    """The share of rows without a score."""
    if not scores:
        return Figure(None, None, None, 0, 0, "no items")
    unscored = np.array([score is None for score in scores], np.int64)
    drawn_from = Clusters.from_rows(unscored[:, None], clusters, 2)

    def rate(table: Floats) -> Floats:
        return table[1] / table.sum(axis=0)

    draws = [rate(table) for table in drawn_from.resample(resamples, np.random.default_rng(seed))]
    return Figure.from_draws(rate(drawn_from.observed), draws, None, len(scores), int(unscored.sum()))
