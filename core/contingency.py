"""Agreement statistics as functions of count tables, vectorised over a stack of tables.

A table counts items by distinct gold value (rows, rising) and score 1 to 5 (columns). Resamples stand on the last axis, so
that one call gives a statistic for all of them. A statistic is NaN for a table where it is undefined; `reason_undefined`
says why.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from core.bootstrap import Floats

SCORES = np.arange(1.0, 6.0)


@dataclass(frozen=True)
class Tables:
    """Counts [G, 5, B] of B tables over G distinct gold values [G] and the scores 1 to 5."""

    counts: Floats
    gold: Floats

    @cached_property
    def gold_counts(self) -> Floats:
        """Items by gold value, [G, B]."""
        return self.counts.sum(axis=1)

    @cached_property
    def score_counts(self) -> Floats:
        """Items by score, [5, B]."""
        return self.counts.sum(axis=0)

    @cached_property
    def n(self) -> Floats:
        """Items in all, [B]."""
        return self.score_counts.sum(axis=0)

    @property
    def signed(self) -> Floats:
        """Score minus gold of each cell, [G, 5]."""
        return SCORES - self.gold[:, None]


Statistic = Callable[[Tables], Floats]


def kappa(tables: Tables) -> Floats:
    """Cohen's kappa with linear weights |gold − score| (Cohen 1968), [B]. Absent labels change nothing."""
    return _weighted_kappa(tables, np.abs(tables.signed))


def kappa_quadratic(tables: Tables) -> Floats:
    """Cohen's kappa with weights (gold − score)² (Cohen 1968), [B]."""
    return _weighted_kappa(tables, tables.signed**2)


def kappa_unweighted(tables: Tables) -> Floats:
    """Cohen's kappa without weights (Cohen 1960), [B]."""
    return _weighted_kappa(tables, (tables.signed != 0).astype(float))


def pearson(tables: Tables) -> Floats:
    """Pearson's r of gold and score, [B]."""
    return _correlation(tables, tables.gold[:, None], SCORES[:, None])


def spearman(tables: Tables) -> Floats:
    """Spearman's rho: Pearson's r of midranks, [B]."""
    return _correlation(tables, _midranks(tables.gold_counts), _midranks(tables.score_counts))


def kendall(tables: Tables) -> Floats:
    """Kendall's tau-b, which corrects for ties on both sides (Kendall 1945), [B]."""
    untied_gold = tables.n**2 - (tables.gold_counts**2).sum(axis=0)
    untied_score = tables.n**2 - (tables.score_counts**2).sum(axis=0)
    return np.clip(_ratio(2 * _concordant(tables), np.sqrt(untied_gold * untied_score)), -1, 1)


def kendall_c(tables: Tables) -> Floats:
    """Kendall's tau-c, for tables that are not square (Stuart 1953), [B]. The smaller side is counted in each table."""
    labels = np.minimum((tables.gold_counts > 0).sum(axis=0), (tables.score_counts > 0).sum(axis=0))
    return np.clip(_ratio(2 * _concordant(tables) * labels, tables.n**2 * (labels - 1.0)), -1, 1)


def generosity(tables: Tables) -> Floats:
    """Mean of score minus gold, in points, [B]."""
    return _mean(tables, tables.signed)


def _share(chosen: Callable[[Floats], NDArray[np.bool_]]) -> Statistic:
    """The statistic that is the share of items whose score minus gold is chosen."""
    return lambda tables: _mean(tables, chosen(tables.signed).astype(float))


STATISTICS: dict[str, Statistic] = {
    "kappa": kappa,
    "kappa_quadratic": kappa_quadratic,
    "kappa_unweighted": kappa_unweighted,
    "pearson": pearson,
    "spearman": spearman,
    "kendall": kendall,
    "kendall_c": kendall_c,
    "exact": _share(lambda signed: signed == 0),
    "within_one": _share(lambda signed: np.abs(signed) <= 1),
    "generosity": generosity,
    "higher": _share(lambda signed: signed == 1),
    "lower": _share(lambda signed: signed == -1),
    "higher_by_2": _share(lambda signed: signed >= 2),
    "lower_by_2": _share(lambda signed: signed <= -2),
}
KAPPAS = ("kappa", "kappa_quadratic", "kappa_unweighted")
CORRELATIONS = ("pearson", "spearman", "kendall", "kendall_c")
# Shares of items by score − gold: one point, or two and more.
SHARES = ("higher", "lower", "higher_by_2", "lower_by_2")


def reason_undefined(statistic: str, table: Tables) -> str | None:
    """Why a statistic is undefined for a single table (B = 1), or None where it is defined."""
    if table.n[0] == 0:
        return "no items"
    golds, scores = (np.flatnonzero(counts[:, 0]) for counts in (table.gold_counts, table.score_counts))
    if statistic in (*KAPPAS, *SHARES, "exact") and np.any(table.gold[golds] % 1):
        return "gold is not an integer"
    if statistic in KAPPAS and len(golds) == len(scores) == 1 and table.gold[golds[0]] == SCORES[scores[0]]:
        return "one label"
    if statistic in CORRELATIONS:
        constant = [name for name, values in (("gold", golds), ("scores", scores)) if len(values) == 1]
        return f"constant {' and '.join(constant)}" if constant else None
    return None


def _weighted_kappa(tables: Tables, weights: Floats) -> Floats:
    observed = np.tensordot(weights, tables.counts, axes=2)
    expected = ((weights.T @ tables.gold_counts) * tables.score_counts).sum(axis=0)
    return 1 - _ratio(observed * tables.n, expected)


def _correlation(tables: Tables, x: Floats, y: Floats) -> Floats:
    """Pearson's r of values x [G, B or 1] of the gold rows and y [5, B or 1] of the score columns."""
    x = x - _ratio((tables.gold_counts * x).sum(axis=0), tables.n)
    y = y - _ratio((tables.score_counts * y).sum(axis=0), tables.n)
    covariance = ((tables.counts * y).sum(axis=1) * x).sum(axis=0)
    spread = (tables.gold_counts * x**2).sum(axis=0) * (tables.score_counts * y**2).sum(axis=0)
    # A constant side is told by its counts: its spread need not round to zero.
    varied = ((tables.gold_counts > 0).sum(axis=0) > 1) & ((tables.score_counts > 0).sum(axis=0) > 1)
    return np.clip(_ratio(covariance, np.sqrt(np.where(varied, spread, 0))), -1, 1)


def _concordant(tables: Tables) -> Floats:
    """Pairs of items that gold and score order alike, minus pairs that they order against one another, [B]."""
    lower_gold = tables.counts.cumsum(axis=0) - tables.counts
    up_to_score = lower_gold.cumsum(axis=1)
    # For each cell: partners of lower gold and lower score, minus partners of lower gold and higher score.
    balance = 2 * up_to_score - lower_gold - up_to_score[:, -1:]
    return (tables.counts * balance).sum(axis=(0, 1))


def _midranks(counts: Floats) -> Floats:
    return counts.cumsum(axis=0) - counts / 2


def _mean(tables: Tables, values: Floats) -> Floats:
    return _ratio(np.tensordot(values, tables.counts, axes=2), tables.n)


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    undefined = np.full(np.shape(numerator), np.nan)
    return np.divide(numerator, denominator, out=undefined, where=denominator != 0)
