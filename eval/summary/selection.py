"""The ``selection`` of a cell of metrics.json: what each way to choose a strength gains, and what luck alone would gain."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from core.agreement import Figure
from eval.controlled_correlation import paired_gain
from eval.steering.held_out import HeldOutMoves
from eval.steering.selection import (
    Grid,
    Selected,
    best,
    chosen,
    development_curve,
    folds_by_document,
    grids,
    leave_one_language_out,
    nested,
    oracle,
    p_value,
    point_correlations,
)
from eval.summary.cell import Cell, Point

NOTES = {
    "oracle": "chosen on the test scores, so it is too good by what luck gives; not a result",
    "nested": "chosen on the other folds of documents",
    "leave_one_language_out": "chosen on the other languages",
    "unsupervised": "chosen by how much nearer held-out sentences come to their pivot sentences; no scores used",
}


class Selection:
    """Every way to choose a point of a cell."""

    def __init__(self, cell: Cell, resamples: int, seed: int) -> None:
        self.cell, self.resamples, self.seed = cell, resamples, seed
        self.fold_of = folds_by_document(cell.n_documents, seed)
        self.grid = next(grids(cell.scores[None], cell.human, cell.documents), None)

    def correlations(self) -> dict[Point, float]:
        """Pearson of each point that may be chosen, on the rows they share; unsteered first."""
        if self.grid is None:
            return {}
        values = point_correlations(self.grid)[0].tolist()
        return {point: r for point, r in zip(self.cell.points, values, strict=True) if not np.isnan(r)}

    def to_json(self, elsewhere: Point | str, moves: HeldOutMoves | None) -> dict[str, Any]:
        """``elsewhere``: the point chosen on other languages, or why there is none; ``moves`` of the language's directions."""
        grid = self.grid
        if grid is None or not (grid.usable[0].any() and np.ptp(grid.human) > 0):
            return self._without(self._reason())
        if self.cell.key.method is None:
            return self._without("scored unsteered only")
        if not grid.usable[0, 0]:
            return self._without("the unsteered scores are constant")
        return {
            "oracle": self._chosen("oracle", oracle(grid), self._null(oracle)),
            "nested": self._nested(grid),
            "leave_one_language_out": self._elsewhere(grid, elsewhere),
            "unsupervised": self._unsupervised(grid, moves),
            "development": [
                {
                    "size": found.size,
                    "repeats": len(found.gains),
                    "n_test": found.n_test,
                    "gain": dict(zip(("low", "high"), np.percentile(found.gains, [2.5, 97.5]).tolist(), strict=True))
                    | {"value": float(found.gains.mean())},
                }
                for found in development_curve(grid, self.seed)
                if len(found.gains)
            ],
        }

    def _reason(self) -> str:
        if np.isnan(self.cell.human).all():
            return "no human scores"
        return "fewer than two rated rows are scored" if self.grid is None else "constant scores or human scores"

    @staticmethod
    def _without(reason: str) -> dict[str, Any]:
        return {name: {"reason": reason} for name in NOTES} | {"development": []}

    def _nested(self, grid: Grid) -> dict[str, Any]:
        if len(set(grid.documents.tolist())) < 2:
            return {"reason": "one document makes no folds"}
        return self._chosen("nested", nested(grid, self.fold_of), self._null(lambda null: nested(null, self.fold_of)))

    def _elsewhere(self, grid: Grid, point: Point | str) -> dict[str, Any]:
        if isinstance(point, str):
            return {"reason": point}
        return self._chosen("leave_one_language_out", chosen(grid, np.array([self.cell.points.index(point)])))

    def _unsupervised(self, grid: Grid, moves: HeldOutMoves | None) -> dict[str, Any]:
        if moves is None:
            return {
                "reason": "no held-out pairs are kept; learn the directions with eval.directions --held_out and --keep_pairs true"
            }
        key = self.cell.key
        explained = [
            0.0 if point.layers is None else moves.explained(key.method or "", key.scale, point.layers, point.strength)
            for point in self.cell.points
        ]
        if None in explained:
            return {"reason": "the held-out pairs lack a layer that is steered"}
        return self._chosen("unsupervised", chosen(grid, best(np.array([explained], float), grid.usable)))

    def _chosen(self, name: str, selected: Selected, null: dict[str, Any] | None = None) -> dict[str, Any]:
        assert self.grid is not None
        human, unsteered = self.grid.human, self.grid.z[0, :, 0]
        documents = self.grid.documents.tolist()
        found = paired_gain(human, selected.scores[0], unsteered, documents, self.resamples, self.seed)
        times = Counter(selected.points[0].tolist())
        shares = [
            {"layers": _listed(self.cell.points[place]), "strength": self.cell.points[place].strength}
            | {"share": count / times.total()}
            for place, count in times.most_common()
        ]
        if null and null["draws"]:
            null["p_value"] = p_value(float(selected.gain[0]), null["gains"])
        return {
            "chosen": shares,
            "pearson": found.pearson.to_json(),
            "gain": found.gain.to_json(),
            "relative_improvement": _relative(found.pearson, found.gain),
            "null": null,
            "note": NOTES[name],
        }

    def _null(self, select: Callable[[Grid], Selected]) -> dict[str, Any] | None:
        """The gains of the same selection on each null draw's scores; None where there are no draws."""
        if not len(self.cell.nulls):
            return None
        gains = np.full(len(self.cell.nulls), np.nan)
        for grid in grids(self.cell.nulls, self.cell.human, self.cell.documents):
            gains[grid.members] = select(grid).gain
        known = gains[~np.isnan(gains)]
        return {
            "draws": len(known),
            "gains": known.tolist(),
            "mean_gain": float(known.mean()) if len(known) else None,
            "p_value": None,
            "smallest_p": 1 / (1 + len(known)),
        }


def points_elsewhere(selections: list[Selection]) -> list[Point | str]:
    """For each cell the point chosen on the other languages of its dimension, metric and way to steer, or why there is none."""
    together: dict[Any, dict[str, Mapping[Point, float]]] = {}
    for selection in selections:
        key, found = selection.cell.key, selection.correlations()
        # A language whose unsteered scores have no correlation tells nothing of gains.
        if selection.cell.points[0] in found:
            together.setdefault(key[1:], {})[key.language] = found
    found_in = {key: leave_one_language_out(values) for key, values in together.items()}

    def point(selection: Selection) -> Point | str:
        key = selection.cell.key
        if key.scale == "raw":
            return "raw strengths do not compare over languages; use scale relative"
        return found_in.get(key[1:], {}).get(key.language, "no other language is scored alike")

    return [point(selection) for selection in selections]


def _relative(pearson: Figure, gain: Figure) -> float | None:
    """The gain over |unsteered Pearson| (SteerEval, arXiv 2601.15809); None where that is 0."""
    if pearson.value is None or gain.value is None:
        return None
    unsteered = abs(pearson.value - gain.value)
    return gain.value / unsteered if unsteered > 1e-12 else None


def _listed(point: Point) -> list[int] | None:
    return None if point.layers is None else list(point.layers)
