"""What runs of eval.summaries measured, as SteerEval's tables ask for it, and averages over their cells by strength."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from core.errors import DataError
from eval.reporting.runs import RunRead

RULES = ("oracle", "nested", "leave_one_language_out", "unsupervised")
# Two runs of one metric in half precision may part in the third decimal.
SAME_WITHIN = 0.01
# An unsteered Pearson that is 0 but for rounding has no relative improvement.
NO_BASELINE = 1e-12


class Place(NamedTuple):
    """Whose scores: a metric on a model, for a language and a dimension."""

    metric: str
    model: str
    language: str
    dimension: str


class Way(NamedTuple):
    """How a cell was steered."""

    pivot: str
    method: str
    scale: str | None

    @property
    def label(self) -> str:
        return " ".join(word for word in (self.scale, self.method) if word) + f" → {self.pivot}"


class Cell(NamedTuple):
    """A cell of metrics.json and the run that it is of; ``one_point`` where its strength was chosen on a development set."""

    run: str
    content: Mapping[str, Any]
    one_point: bool = False

    @property
    def place(self) -> Place:
        return Place(*(self.content[name] for name in Place._fields))

    @property
    def way(self) -> Way | None:
        """None for a cell that is not steered, or at one strength, so that there is no oracle."""
        return (
            None
            if self.content["method"] is None or self.one_point
            else Way(*(self.content[name] for name in Way._fields))
        )


class SteeringMeasured:
    """The cells of several runs. Raises DataError where two runs measure one thing unlike."""

    def __init__(self, runs: Sequence[RunRead]) -> None:
        self.cells = [
            Cell(run.name, content, bool(run.metrics.get("dev"))) for run in runs for content in run.metrics["cells"]
        ]
        self.notes = [
            f"{run.name}: its strengths were chosen on a development set, so that only its unsteered scores are shown"
            for run in runs
            if run.metrics.get("dev")
        ]
        self._unsteered: dict[Place, Cell] = {}
        self._steered: dict[tuple[Place, Way], Cell] = {}
        for cell in self.cells:
            _put(self._unsteered, cell.place, cell, unsteered(cell.content))
            if cell.way:
                _put(self._steered, (cell.place, cell.way), cell, oracle_pearson(cell.content))

    @property
    def places(self) -> list[Place]:
        return list(self._unsteered)

    @property
    def ways(self) -> list[Way]:
        return list(dict.fromkeys(way for _, way in self._steered))

    def unsteered(self, place: Place) -> Cell | None:
        return self._unsteered.get(place)

    def steered(self, place: Place, way: Way) -> Cell | None:
        return self._steered.get((place, way))


def unsteered(content: Mapping[str, Any]) -> dict[str, Any]:
    """Pearson at strength 0, which every cell has."""
    return next(point["pearson"] for point in content["points"] if point["strength"] == 0)


def oracle_pearson(content: Mapping[str, Any]) -> dict[str, Any]:
    """Pearson at the strength that is best on the test scores; null, with the reason, where there is none."""
    chosen = content["selection"]["oracle"]
    return chosen.get("pearson") or {"value": None, "n": 0, "reason": chosen["reason"]}


class Average(NamedTuple):
    """Over cells steered on all their layers at one strength: Pearson's mean gain, the mean of gain over the unsteered
    value's size (the paper's relative improvement, None where all of these are 0), and the share of cells that gained.
    """

    cells: int
    gain: float
    relative: float | None
    improved: float


def averages(cells: Iterable[Cell]) -> dict[Way, dict[float, dict[str, Average]]]:
    """By way and strength, for each metric and for ``all`` of them. Cells without a correlation at a strength are left out."""
    found: dict[tuple[Way, float, str], list[tuple[float, float | None]]] = defaultdict(list)
    for cell in cells:
        for strength, gain, relative in _gains(cell.content) if cell.way else ():
            for metric in ("all", cell.place.metric):
                found[cell.way, strength, metric].append((gain, relative))  # type: ignore[index]
    sums: dict[Way, dict[float, dict[str, Average]]] = defaultdict(lambda: defaultdict(dict))
    for (way, strength, metric), values in sorted(found.items(), key=lambda item: item[0][1]):
        known = [relative for _, relative in values if relative is not None]
        sums[way][strength][metric] = Average(
            len(values),
            fmean(gain for gain, _ in values),
            fmean(known) if known else None,
            fmean(gain > 0 for gain, _ in values),
        )
    return sums


def _gains(content: Mapping[str, Any]) -> Iterator[tuple[float, float, float | None]]:
    """Strength, gain, relative improvement of each point that steers all the layers of its cell."""
    widest = max((len(point["layers"]) for point in content["points"] if point["layers"]), default=0)
    for point in content["points"]:
        if point["layers"] and len(point["layers"]) == widest and point["gain"] is not None:
            before = abs(point["pearson"]["value"] - point["gain"])
            yield point["strength"], point["gain"], point["gain"] / before if before > NO_BASELINE else None


def _put(places: dict[Any, Cell], key: Any, cell: Cell, figure: Mapping[str, Any]) -> None:
    other = places.setdefault(key, cell)
    theirs = unsteered(other.content) if isinstance(key, Place) else oracle_pearson(other.content)
    values = (figure["value"], theirs["value"])
    apart = None in values and values != (None, None)
    if figure["n"] != theirs["n"] or apart or (None not in values and abs(values[0] - values[1]) > SAME_WITHIN):
        place, how = (key, "unsteered") if isinstance(key, Place) else (key[0], key[1].label)
        raise DataError(
            f"{place.metric} of {place.model}, {place.language} {place.dimension}, {how}: measured in {other.run} "
            f"(n {theirs['n']}) and, otherwise, in {cell.run} (n {figure['n']}); name the run that the tables are to show"
        )
