"""The scores of one cell of eval.summaries (a language, a dimension, a metric and a way to steer) as arrays."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from core.bootstrap import Floats
from core.records import ScoreRow, SummaryRecord
from eval.steering.selection import Integers

UNSTEERED_POINT = (None, 0.0)


class Point(NamedTuple):
    """Layers steered and strength; unsteered: no layers, strength 0."""

    layers: tuple[int, ...] | None
    strength: float


class CellKey(NamedTuple):
    """What tells cells apart. ``method`` is None where a language is scored unsteered only."""

    language: str
    dimension: str
    metric: str
    model: str
    pivot: str | None
    method: str | None
    scale: str | None


class Cell(NamedTuple):
    """``scores`` [n, points], unsteered first; ``nulls`` [draws, n, points] of the draws that have every point; NaN: no score.

    ``human`` [n] is NaN where no one rated; ``documents`` [n] are numbered in order of appearance; ``lacking`` counts draws
    that were left out, since they lack a point.
    """

    key: CellKey
    records: Sequence[SummaryRecord]
    points: list[Point]
    scores: Floats
    nulls: Floats
    lacking: int
    human: Floats
    documents: Integers

    @property
    def n_documents(self) -> int:
        """Documents, rated or not."""
        return int(self.documents.max()) + 1

    def scores_at(self, place: int) -> list[float | None]:
        """The scores of a point; None where there is none."""
        return [None if np.isnan(score) else float(score) for score in self.scores[:, place]]


def read_cells(records: Sequence[SummaryRecord], rows: Sequence[ScoreRow]) -> list[Cell]:
    """The cells that the rows make, by language and dimension in order of appearance. ``rows`` are of these records, by id.

    Unsteered scores stand in every cell of their language, dimension, metric and model.
    """
    members: dict[tuple[str, str], list[SummaryRecord]] = defaultdict(list)
    for record in records:
        members[record.language, record.dimension].append(record)
    steered: dict[CellKey, list[ScoreRow]] = defaultdict(list)
    unsteered: dict[CellKey, list[ScoreRow]] = defaultdict(list)
    for row in rows:
        shared = (row.language, row.dimension, row.metric, row.model)
        if row.method is None:
            unsteered[CellKey(*shared, None, None, None)].append(row)
        else:
            steered[CellKey(*shared, row.pivot, row.method, row.scale)].append(row)
    found = []
    for key, alone in unsteered.items():
        of_key = [other for other in steered if other[:4] == key[:4]]
        for whole in of_key or [key]:
            found.append(_cell(whole, members[key.language, key.dimension], alone, steered.get(whole, [])))
    order = {pair: place for place, pair in enumerate(members)}
    return sorted(found, key=lambda cell: order[cell.key.language, cell.key.dimension])


def _cell(
    key: CellKey, records: Sequence[SummaryRecord], unsteered: Sequence[ScoreRow], steered: Sequence[ScoreRow]
) -> Cell:
    place = {record.id: number for number, record in enumerate(records)}
    columns: dict[int | None, dict[Point, Floats]] = defaultdict(
        lambda: defaultdict(lambda: np.full(len(records), np.nan))
    )
    for row in (*unsteered, *steered):
        point = Point(*UNSTEERED_POINT) if row.method is None else Point(tuple(row.layers or ()), row.strength)
        columns[row.draw][point][place[row.id]] = np.nan if row.score is None else row.score
    real = columns.pop(None)
    alone, *others = [Point(*UNSTEERED_POINT), *sorted(point for point in real if point.layers is not None)]
    whole = [
        draw
        for draw, found in sorted(columns.items(), key=lambda item: item[0] or 0)
        if all(point in found for point in others)
    ]
    nulls = [np.stack([real[alone], *(columns[draw][point] for point in others)], axis=1) for draw in whole]
    documents = {document: number for number, document in enumerate(dict.fromkeys(r.document_id for r in records))}
    return Cell(
        key,
        records,
        [alone, *others],
        np.stack([real[point] for point in (alone, *others)], axis=1),
        np.stack(nulls) if nulls else np.zeros((0, len(records), 1 + len(others))),
        len(columns) - len(whole),
        np.array([np.nan if record.human_score is None else record.human_score for record in records], float),
        np.array([documents[record.document_id] for record in records], np.int64),
    )
