"""metrics.json of eval.summaries: each cell at each point of the grid, what each selection gains, and the cheap baselines."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from core.agreement import Figure
from core.annotators import leave_one_out
from core.bootstrap import Floats
from core.records import ScoreRow, SummaryRecord
from eval.controlled_correlation import length_partial, within_system
from eval.correlation import METHOD, STATISTICS, correlations, undefined
from eval.steering.held_out import HeldOutMoves
from eval.steering.selection import broken, moved
from eval.summary.baselines import baseline_scores
from eval.summary.cell import Cell, read_cells
from eval.summary.selection import Selection, points_elsewhere

CONTROLLED = ("within_system", "length_partial")


def summary_metrics(
    records: Sequence[SummaryRecord],
    rows: Sequence[ScoreRow],
    resamples: int,
    seed: int,
    held_out: Mapping[str, HeldOutMoves] | None = None,
) -> dict[str, Any]:
    """``cells``, and over all of them ``strengths``."""
    found = cells(records, rows, resamples, seed, held_out)
    return {"cells": found, "strengths": strengths(found)}


def cells(
    records: Sequence[SummaryRecord],
    rows: Sequence[ScoreRow],
    resamples: int,
    seed: int,
    held_out: Mapping[str, HeldOutMoves] | None = None,
) -> list[dict[str, Any]]:
    """One cell for each language, dimension, metric and way to steer; ``rows`` hold scores of these records by id.

    ``held_out``: by language, what its directions do to pairs held out, which the unsupervised selection reads.
    """
    selections = [Selection(cell, resamples, seed) for cell in read_cells(records, rows)]
    described: dict[tuple[str, str], dict[str, Any]] = {}
    found = []
    for selection, elsewhere in zip(selections, points_elsewhere(selections), strict=True):
        cell = selection.cell
        measure = _Measure(cell, resamples, seed)
        pair = cell.key.language, cell.key.dimension
        described.setdefault(pair, measure.of_records())
        found.append(
            cell.key._asdict()
            | {"n": len(cell.records), "n_human": int((~np.isnan(cell.human)).sum()), "correlation": METHOD}
            | {"points": measure.points(), "null_draws_left_out": cell.lacking}
            | {"selection": selection.to_json(elsewhere, (held_out or {}).get(cell.key.language))}
            | described[pair]
        )
    return found


def strengths(found: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For each point of the grid, over the cells that were steered there and have its gain: mean gain, mean relative
    improvement (cells whose unsteered Pearson is 0 have none), and the share of cells improved; broken ones count too.
    """
    together: dict[Any, list[tuple[float, float, bool]]] = defaultdict(list)
    for cell in found:
        shared = tuple(cell[name] for name in ("metric", "model", "pivot", "method", "scale"))
        for point in cell["points"][1:]:
            if point["gain"] is not None:
                key = (shared, tuple(point["layers"]), point["strength"])
                together[key].append((point["gain"], point["pearson"]["value"] - point["gain"], point["broken"]))
    rows = []
    for ((metric, model, pivot, method, scale), layers, strength), cells_there in together.items():
        relative = [gain / abs(before) for gain, before, _ in cells_there if abs(before) > 1e-12]
        rows.append(
            {"metric": metric, "model": model, "pivot": pivot, "method": method, "scale": scale}
            | {"layers": list(layers), "strength": strength, "cells": len(cells_there)}
            | {"broken": sum(is_broken for *_, is_broken in cells_there)}
            | {"mean_gain": fmean(gain for gain, *_ in cells_there)}
            | {"mean_relative_improvement": fmean(relative) if relative else None}
            | {"improved": fmean(gain > 0 for gain, *_ in cells_there)}
        )
    return rows


class _Measure:
    """How the scores of a cell go with the human ones."""

    def __init__(self, cell: Cell, resamples: int, seed: int) -> None:
        self.cell, self.settings = cell, (resamples, seed)
        self.rated = np.flatnonzero(~np.isnan(cell.human)).tolist()
        self.human = cell.human[self.rated].tolist()
        self.documents = cell.documents[self.rated].tolist()

    def points(self) -> list[dict[str, Any]]:
        """Each point: what became of the scores, and every correlation on the rows that it scores."""
        is_broken, by = broken(self.cell.scores), moved(self.cell.scores)
        found = []
        for place, point in enumerate(self.cell.points):
            scores = self.cell.scores_at(place)
            scored = [score for score in scores if score is not None]
            figures = self._figures(scores) | self._controlled(scores)
            found.append(
                {"layers": None if point.layers is None else list(point.layers), "strength": point.strength}
                | {"mean_score": fmean(scored) if scored else None}
                | {"moved_sd": None if np.isnan(by[place]) else float(by[place]), "broken": bool(is_broken[place])}
                | {"n_unscored": len(scores) - len(scored), "gain": self._gain(place) if place else None}
                | {name: figure.to_json() for name, figure in figures.items()}
            )
        return found

    def of_records(self) -> dict[str, Any]:
        """What does not depend on the metric: how well one rater predicts the others, and the baselines."""
        baselines = baseline_scores(self.cell.records)
        return {
            "ceiling": self._ceiling().to_json(),
            "baselines": {
                name: {statistic: figure.to_json() for statistic, figure in self._figures(scores).items()}
                for name, scores in baselines.items()
            },
        }

    def _figures(self, scores: Sequence[float | None]) -> dict[str, Figure]:
        if not self.rated:
            return {name: undefined("no human scores") for name in STATISTICS}
        return correlations(self.human, [scores[row] for row in self.rated], self.documents, *self.settings)

    def _controlled(self, scores: Sequence[float | None]) -> dict[str, Figure]:
        if not self.rated:
            return {name: undefined("no human scores") for name in CONTROLLED}
        records = [self.cell.records[row] for row in self.rated]
        given, systems = [scores[row] for row in self.rated], [record.system for record in records]
        lengths = [len(record.summary) for record in records]
        return {
            "within_system": within_system(self.human, given, systems, self.documents, *self.settings),
            "length_partial": length_partial(self.human, given, lengths, self.documents, *self.settings),
        }

    def _gain(self, place: int) -> float | None:
        """Pearson less that of the unsteered scores, on the rows scored both ways."""
        both = self.cell.scores[self.rated][:, [place, 0]]
        kept = ~np.isnan(both).any(axis=1)
        human, pair = self.cell.human[self.rated][kept], both[kept]
        if len(human) < 2 or any(_constant(values) for values in (human, *pair.T)):
            return None
        steered, unsteered = (float(np.corrcoef(human, values)[0, 1]) for values in pair.T)
        return steered - unsteered

    def _ceiling(self) -> Figure:
        """One rater against the mean of the rest, pooled: which rater gave which score is not known."""
        ratings = [self.cell.records[row].human_scores for row in self.rated]
        width = max(map(len, ratings), default=0)
        table = [[*row, *[None] * (width - len(row))] for row in ratings]
        return leave_one_out(table, self.documents, *self.settings).pooled


def _constant(values: Floats) -> bool:
    return bool(np.ptp(values) <= 1e-12 * np.abs(values).max())
