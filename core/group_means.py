"""Means over groups, such as languages, of agreement figures: each group counts alike, however many rows it has."""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from core.agreement import COLUMNS, Counted, count_tables, mean_over_groups, rows_as_cells
from core.bootstrap import Clusters, Floats, percentile_interval


class GroupMeanFigure(NamedTuple):
    """A mean over the groups where the figure is defined, with its 95 % interval over clusters; all None where none is."""

    mean: float | None
    low: float | None
    high: float | None
    n_defined: int
    n_groups: int

    def to_json(self) -> dict[str, Any]:
        """The fields by name."""
        return self._asdict()


def group_means(
    gold: Sequence[float],
    scores: Sequence[int | None],
    groups: Sequence[Hashable],
    names: Sequence[str],
    clusters: Sequence[Hashable] | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> dict[str, GroupMeanFigure]:
    """The mean over groups of figures of `core.agreement.figures`, by name.

    Clusters may reach over groups (an item in several languages) and are resampled whole; a resample's mean is over the groups
    where the figure is defined in it. Raises DataError as `agreement` does.
    """
    levels, cells = rows_as_cells(gold, scores, clusters)
    index = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    per_group = len(levels) * COLUMNS
    placed = np.array([index[group] for group in groups], np.int64) * per_group + cells
    drawn_from = Clusters.from_rows(placed[:, None], clusters, len(index) * per_group)

    def counted(tables: Floats) -> list[Counted]:
        return [count_tables(part, levels) for part in np.split(tables, len(index))] if index else []

    # A group without the figure has it in no resample: fractional gold has no kappa, though one could be computed.
    whole = counted(drawn_from.observed)
    has_figure = {name: np.array([[group.reason(name) is None] for group in whole]) for name in names}

    def by_group(tables: Floats) -> dict[str, Floats]:
        """Each figure, [groups, B]."""
        groups = counted(tables)
        return {n: np.where(has_figure[n], np.array([group.value(n) for group in groups]), np.nan) for n in names}

    observed = by_group(drawn_from.observed)
    draws: dict[str, list[Floats]] = {name: [] for name in names}
    for tables in drawn_from.resample(resamples, np.random.default_rng(seed)):
        for name, values in by_group(tables).items():
            defined = ~np.isnan(values)
            total = np.where(defined, values, 0).sum(axis=0)
            draws[name].append(total / np.where(defined.any(axis=0), defined.sum(axis=0), np.nan))
    return {name: _figure(observed[name], draws[name]) for name in names}


def _figure(observed: Floats, draws: list[Floats]) -> GroupMeanFigure:
    values = [None if np.isnan(value) else float(value) for value in observed.ravel()]
    found = mean_over_groups(values)
    interval = percentile_interval(np.concatenate(draws)) if draws and found.mean is not None else None
    low, high = interval or (None, None)
    return GroupMeanFigure(found.mean, low, high, found.n_defined, found.n_groups)
