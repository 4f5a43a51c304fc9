"""How far a judge agrees with gold scores: kappa, correlations and accuracy, each with its bootstrap interval.

Unscored items (None) are counted: a headline figure puts each at the score farthest from gold, its `_scored` twin leaves
it out.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, fields
from numbers import Real
from statistics import fmean
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from core.bootstrap import Clusters, Floats, percentile_interval
from core.contingency import STATISTICS, Tables, reason_undefined
from core.errors import DataError

METHOD = "rows pooled; kappa linear-weighted with labels 1 to 5; Kendall tau-b"

# Columns of a table with unscored items: 0 is unscored, then the scores.
COLUMNS = 6

# Figures over all items, the unscored ones placed; all others are on scored items.
HEADLINE = (
    "kappa", "pearson", "spearman", "kendall", "kendall_c", "exact", "kappa_quadratic", "kappa_unweighted", "within_one",
)  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """A number with its 95 % percentile bootstrap interval, the items it is over, and the unscored items.

    ``value`` is None, with a ``reason``, where the figure is undefined; it is never NaN. ``low`` and ``high`` are None where
    there is no value, and where fewer than two clusters leave nothing to resample. In a figure on scored items ``n``
    counts these and ``n_unscored`` the items left out; in any other, ``n`` counts all items and ``n_unscored`` those among
    them.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    n_unscored: int
    reason: str | None = None

    @classmethod
    def from_draws(cls, value: Floats, draws: list[Floats], reason: str | None, n: int, n_unscored: int) -> Self:
        """A figure from its value [1] and its resampled values, or from the reason why it has none."""
        if reason is not None:
            return cls(None, None, None, n, n_unscored, reason)
        interval = percentile_interval(np.concatenate(draws)) if draws else None
        if interval is None:
            return cls(float(value[0]), None, None, n, n_unscored, "no interval: no resample of clusters has a value")
        return cls(float(value[0]), *interval, n, n_unscored)

    def to_json(self) -> dict[str, Any]:
        """value, low, high, n, n_unscored, and the reason where there is one."""
        row = {field.name: getattr(self, field.name) for field in fields(self)}
        if self.reason is None:
            del row["reason"]
        return row


@dataclass(frozen=True)
class Agreement:
    """Agreement of one judge with gold, over pooled rows.

    Headline figures put unscored items at the score farthest from gold; ``_scored`` twins and ``generosity`` leave them
    out. ``kappa`` is linear-weighted, ``kendall`` is tau-b, ``exact`` and ``within_one`` are shares of items, and
    ``generosity`` is the mean of score minus gold in points.
    """

    kappa: Figure
    pearson: Figure
    spearman: Figure
    kendall: Figure
    exact: Figure
    kappa_scored: Figure
    pearson_scored: Figure
    spearman_scored: Figure
    kendall_scored: Figure
    exact_scored: Figure
    kappa_quadratic: Figure
    kappa_unweighted: Figure
    within_one: Figure
    generosity: Figure

    @property
    def n(self) -> int:
        """Items, scored or not."""
        return self.kappa.n

    @property
    def n_unscored(self) -> int:
        """Items without a score."""
        return self.kappa.n_unscored

    def to_json(self) -> dict[str, Any]:
        """n, n_unscored, unscored_rate (null without items), method, and each figure by its name."""
        rate = self.n_unscored / self.n if self.n else None
        counts = {"n": self.n, "n_unscored": self.n_unscored, "unscored_rate": rate, "method": METHOD}
        return counts | {field.name: getattr(self, field.name).to_json() for field in fields(self)}


class GroupMean(NamedTuple):
    """A mean over the groups where a figure is defined (another number than the figure over pooled rows)."""

    mean: float | None
    n_defined: int
    n_groups: int


def agreement(
    gold: Sequence[float],
    scores: Sequence[int | None],
    clusters: Sequence[Hashable] | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> Agreement:
    """Every agreement figure of scores (1 to 5, None for unscored) with gold (1 to 5; fractions have no kappa).

    ``clusters`` names the item or document of each row; these are resampled, or the rows where it is None.
    Raises DataError on unequal lengths and on values outside 1 to 5.
    """
    names = [field.name for field in fields(Agreement)]
    return Agreement(**figures(gold, scores, names, clusters, resamples, seed))


def figures(
    gold: Sequence[float],
    scores: Sequence[int | None],
    names: Sequence[str],
    clusters: Sequence[Hashable] | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> dict[str, Figure]:
    """Figures by name: any of `agreement`, ``kendall_c`` and `SHARES` of core.contingency. Raises as it does."""
    levels, cells = rows_as_cells(gold, scores, clusters)
    drawn_from = Clusters.from_rows(cells[:, None], clusters, len(levels) * COLUMNS)
    observed = count_tables(drawn_from.observed, levels)
    draws: dict[str, list[Floats]] = {name: [] for name in names}
    for tables in drawn_from.resample(resamples, np.random.default_rng(seed)):
        resampled = count_tables(tables, levels)
        for name in names:
            draws[name].append(resampled.value(name))
    n_unscored = sum(score is None for score in scores)
    return {
        name: Figure.from_draws(
            value=observed.value(name),
            draws=draws[name],
            reason=observed.reason(name),
            n=int(observed.tables(name).n[0]),
            n_unscored=n_unscored,
        )
        for name in names
    }


def place_unscored(gold: Sequence[float], scores: Sequence[int | None]) -> list[int]:
    """Scores with each None at the score from 1 to 5 that is farthest from gold; 5 where gold is 3."""
    return [_farthest(g) if score is None else score for g, score in zip(gold, scores, strict=True)]


def mean_over_groups(values: Iterable[float | None]) -> GroupMean:
    """The mean of a figure over groups; a group where it is undefined (None) is counted, never taken as 0."""
    groups = list(values)
    defined = [value for value in groups if value is not None]
    return GroupMean(fmean(defined) if defined else None, len(defined), len(groups))


class Counted(NamedTuple):
    """The same items with the unscored ones placed farthest from gold, and without them."""

    headline: Tables
    scored: Tables

    def tables(self, name: str) -> Tables:
        return self.headline if name in HEADLINE else self.scored

    def value(self, name: str) -> Floats:
        return STATISTICS[_statistic(name)](self.tables(name))

    def reason(self, name: str) -> str | None:
        return reason_undefined(_statistic(name), self.tables(name))


def _statistic(name: str) -> str:
    return name.removesuffix("_scored")


def _farthest(gold: float) -> int:
    return 5 if gold <= 3 else 1


def rows_as_cells(
    gold: Sequence[float], scores: Sequence[int | None], clusters: Sequence[Hashable] | None
) -> tuple[Floats, NDArray[np.int64]]:
    """The distinct gold values, and for each row its cell in the flat table of gold values by COLUMNS."""
    if len(gold) != len(scores) or (clusters is not None and len(clusters) != len(gold)):
        given = f"{len(gold)} gold, {len(scores)} scores" + ("" if clusters is None else f", {len(clusters)} clusters")
        raise DataError(f"agreement: unequal lengths ({given}); join predictions and gold by id first")
    for row, (g, score) in enumerate(zip(gold, scores, strict=True)):
        if not (isinstance(g, Real) and 1 <= g <= 5):
            raise DataError(f"agreement: gold of row {row} is {g!r}; give a number from 1 to 5 or leave the row out")
        if score is not None and score not in (1, 2, 3, 4, 5):
            raise DataError(f"agreement: score of row {row} is {score!r}; give 1, 2, 3, 4 or 5, or None for unscored")
    levels, level = np.unique(np.asarray(gold, float), return_inverse=True)
    columns = np.array([0 if score is None else int(score) for score in scores], np.int64)
    return levels, level * COLUMNS + columns


def count_tables(flat: Floats, levels: Floats) -> Counted:
    """Tables from flat tables [cells, B]."""
    by_column = flat.reshape(len(levels), COLUMNS, flat.shape[1])
    scored = by_column[:, 1:]
    placed = scored.copy()
    placed[np.arange(len(levels)), [_farthest(level) - 1 for level in levels]] += by_column[:, 0]
    return Counted(Tables(placed, levels), Tables(scored, levels))
