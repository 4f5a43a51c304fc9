"""How a continuous metric correlates with human scores, with intervals that resample documents.

Rows are pooled over documents. Everything is vectorised over resamples, which stand on the last axis as the number of
times each row was drawn.
"""

from collections.abc import Hashable, Sequence

import numpy as np
from scipy import sparse

from core.agreement import Figure
from core.bootstrap import Clusters, Floats

STATISTICS = ("pearson", "spearman", "kendall")
METHOD = "rows pooled, unscored rows left out; Kendall tau-b; documents resampled"


def correlations(
    human: Sequence[float],
    scores: Sequence[float | None],
    documents: Sequence[Hashable],
    resamples: int = 10_000,
    seed: int = 0,
) -> dict[str, Figure]:
    """Pearson, Spearman and Kendall (tau-b, 1945) of human and metric scores, each with its interval.

    Rows without a metric score are left out and counted in ``n_unscored``. Memory grows with rows².
    """
    rows = [row for row, score in enumerate(scores) if score is not None]
    x = np.array([human[row] for row in rows], float)
    y = np.array([scores[row] for row in rows], float)
    reason = _reason_undefined(x, y)
    if reason is not None:
        return {name: undefined(reason, len(rows), len(scores) - len(rows)) for name in STATISTICS}
    pairs = _Pairs(x, y)
    clusters = Clusters.from_rows(np.arange(len(rows))[:, None], [documents[row] for row in rows], len(rows))
    observed = pairs.statistics(clusters.observed)
    drawn = [pairs.statistics(weights) for weights in clusters.resample(resamples, np.random.default_rng(seed))]
    return {
        name: Figure.from_draws(observed[name], [draw[name] for draw in drawn], None, len(x), len(scores) - len(x))
        for name in STATISTICS
    }


def undefined(reason: str, n: int = 0, n_unscored: int = 0) -> Figure:
    """A figure without a value."""
    return Figure(None, None, None, n, n_unscored, reason)


def _reason_undefined(x: Floats, y: Floats) -> str | None:
    if len(x) < 2:
        return "fewer than two scored rows"
    columns = (("human scores", x), ("scores", y))
    # Equal means of different groups may part by rounding.
    constant = [name for name, values in columns if np.ptp(values) <= 1e-12 * np.abs(values).max()]
    return f"constant {' and '.join(constant)}" if constant else None


class _Pairs:
    """Two scores of the same rows, and their correlations over rows drawn any number of times."""

    def __init__(self, x: Floats, y: Floats) -> None:
        self.x, self.y = (((values - values.mean()) / values.std())[:, None] for values in (x, y))
        self.levels = [_by_level(values) for values in (x, y)]
        self.concordance = np.sign(x[:, None] - x) * np.sign(y[:, None] - y)

    def statistics(self, drawn: Floats) -> dict[str, Floats]:
        """Each correlation, [b], over rows drawn [n, b] times; NaN where it is undefined."""
        rank_x, rank_y = (_midranks(level, drawn) for level in self.levels)
        return {
            "pearson": _weighted_pearson(self.x, self.y, drawn),
            "spearman": _weighted_pearson(rank_x, rank_y, drawn),
            "kendall": self._kendall(drawn),
        }

    def _kendall(self, drawn: Floats) -> Floats:
        balance = (drawn * (self.concordance @ drawn)).sum(axis=0)
        all_pairs = drawn.sum(axis=0) ** 2
        untied = [all_pairs - ((level @ drawn) ** 2).sum(axis=0) for level in self.levels]
        product = untied[0] * untied[1]
        return np.where(product > 0, balance / np.sqrt(np.where(product > 0, product, np.nan)), np.nan)


def _by_level(values: Floats) -> sparse.csr_array:
    """Which rows hold each distinct value, rising: [levels, n], of zeros and ones."""
    level = np.unique(values, return_inverse=True)[1]
    return sparse.csr_array((np.ones(len(level)), (level, np.arange(len(level)))))


def _midranks(by_level: sparse.csr_array, drawn: Floats) -> Floats:
    counts = by_level @ drawn
    return by_level.T @ (counts.cumsum(axis=0) - counts / 2)


def _weighted_pearson(x: Floats, y: Floats, drawn: Floats) -> Floats:
    """Pearson's r, [b], of x and y [n, 1 or b] with weights [n, b]."""
    n = drawn.sum(axis=0)
    x, y = (values - (drawn * values).sum(axis=0) / n for values in (x, y))
    xx, yy, xy = ((drawn * a * b).sum(axis=0) for a, b in ((x, x), (y, y), (x, y)))
    # Resamples of equal rows leave only rounding error.
    defined = (xx > 1e-12 * n) & (yy > 1e-12 * n)
    product = np.where(defined, xx * yy, np.nan)
    return np.where(defined, xy / np.sqrt(product), np.nan)


def standard_deviation(values: Floats) -> float | None:
    """The sample standard deviation (n − 1), None where fewer than two values or no spread leave it undefined."""
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return deviation or None
