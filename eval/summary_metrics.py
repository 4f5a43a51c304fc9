"""metrics.json of eval.summaries: each language and dimension, at each strength, beside the cheap baselines."""

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean
from typing import Any

import numpy as np

from core.agreement import Figure
from core.records import ScoreRow, SummaryRecord
from eval.correlation import METHOD, STATISTICS, correlations, standard_deviation, undefined
from eval.summary_baselines import baseline_scores

BROKEN_BEYOND = 3.0
ORACLE_NOTE = "chosen on the test scores, so it is too good by what luck gives; not a result"


def cells(
    records: Sequence[SummaryRecord], rows: Sequence[ScoreRow], resamples: int, seed: int
) -> list[dict[str, Any]]:
    """One cell for each language and dimension, in order of appearance. ``rows`` hold scores of these records by id."""
    records_of: dict[tuple[str, str], list[SummaryRecord]] = defaultdict(list)
    for record in records:
        records_of[record.language, record.dimension].append(record)
    rows_of: dict[tuple[str, str], list[ScoreRow]] = defaultdict(list)
    for row in rows:
        rows_of[row.language, row.dimension].append(row)
    return [_Cell(members, rows_of[key], resamples, seed).to_json() for key, members in records_of.items()]


class _Cell:
    """The records of one language and dimension, and their scores by strength."""

    def __init__(self, records: list[SummaryRecord], rows: list[ScoreRow], resamples: int, seed: int) -> None:
        self.records, self.row, self.resamples, self.seed = records, rows[0], resamples, seed
        by_id: dict[float, dict[str, float | None]] = defaultdict(dict)
        for row in rows:
            by_id[row.strength][row.id] = row.score
        self.scores = {
            strength: [scores.get(record.id) for record in records] for strength, scores in sorted(by_id.items())
        }

    def to_json(self) -> dict[str, Any]:
        points = [self._point(strength) for strength in self.scores]
        shared = ("language", "dimension", "metric", "model", "pivot", "method", "scale", "layers")
        return {name: getattr(self.row, name) for name in shared} | {
            "n": len(self.records),
            "n_human": sum(record.human_score is not None for record in self.records),
            "correlation": METHOD,
            "points": points,
            "oracle": _oracle(points),
            "baselines": {
                name: _to_json(self._figures(scores)) for name, scores in baseline_scores(self.records).items()
            },
        }

    def _point(self, strength: float) -> dict[str, Any]:
        scores = self.scores[strength]
        scored = [score for score in scores if score is not None]
        moved = self._moved(scores)
        # Where nothing is left to compare with the unsteered scores, steering broke the metric.
        lost = not scored and any(score is not None for score in self.scores.get(0.0, ()))
        return {
            "strength": strength,
            "mean_score": fmean(scored) if scored else None,
            "moved_sd": moved,
            "broken": lost or (moved is not None and abs(moved) > BROKEN_BEYOND),
            "n_unscored": len(scores) - len(scored),
        } | _to_json(self._figures(scores))

    def _moved(self, scores: list[float | None]) -> float | None:
        """By how many standard deviations of the unsteered scores the mean moved, over rows scored both ways."""
        both = [
            (score, unsteered)
            for score, unsteered in zip(scores, self.scores.get(0.0, [None] * len(scores)), strict=True)
            if score is not None and unsteered is not None
        ]
        deviation = standard_deviation(np.array([unsteered for _, unsteered in both]))
        return None if deviation is None else fmean(score - unsteered for score, unsteered in both) / deviation

    def _figures(self, scores: Sequence[float | None]) -> dict[str, Figure]:
        rated = [row for row, record in enumerate(self.records) if record.human_score is not None]
        if not rated:
            return {name: undefined("no human scores") for name in STATISTICS}
        human = [float(record.human_score) for record in self.records if record.human_score is not None]
        documents = [self.records[row].document_id for row in rated]
        return correlations(human, [scores[row] for row in rated], documents, self.resamples, self.seed)


def _oracle(points: list[dict[str, Any]]) -> dict[str, Any]:
    """The strength of the highest Pearson among the points that are not broken."""
    known = [point for point in points if not point["broken"] and point["pearson"]["value"] is not None]
    if not known:
        reason = points[0]["pearson"].get("reason", "no point has a correlation")
        return {"strength": None, "pearson": undefined(reason).to_json(), "note": ORACLE_NOTE}
    best = max(known, key=lambda point: point["pearson"]["value"])
    return {"strength": best["strength"], "pearson": best["pearson"], "note": ORACLE_NOTE}


def _to_json(figures: dict[str, Figure]) -> dict[str, Any]:
    return {name: figure.to_json() for name, figure in figures.items()}
