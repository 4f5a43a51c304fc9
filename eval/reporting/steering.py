"""What the steering sections of a report show, arranged from metrics.json, directions.json and similarity.json."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from statistics import fmean
from typing import Any, NamedTuple

from eval.summary.table import layers_in_short

RULES = {
    "oracle": ("Oracle", "chosen on the test scores"),
    "nested": ("Nested", "chosen on other documents"),
    "leave_one_language_out": ("Leave one language out", "chosen on the other languages"),
    "unsupervised": ("Unsupervised", "chosen by held-out alignment"),
}
GROUP = ("metric", "model", "pivot", "method", "scale")


class HeatMap(NamedTuple):
    """Gains in Pearson by row and strength, None where there is none; broken points stand in ``broken``."""

    caption: str
    strengths: list[float]
    rows: dict[str, dict[float, float | None]]
    broken: set[tuple[str, float]]

    @property
    def values(self) -> list[float]:
        return [value for row in self.rows.values() for value in row.values() if value is not None]


def setting(cell: Mapping[str, Any]) -> str:
    """How a cell of eval.summaries (or a row of its averages) was steered, in a few words."""
    model = str(cell["model"]).rstrip("/").rsplit("/", 1)[-1]
    if cell["method"] is None:
        return f"{cell['metric']} · {model} · not steered"
    kind = " ".join(word for word in (cell["scale"], cell["method"]) if word)
    return f"{cell['metric']} · {model} · {kind} toward {cell['pivot']}"


def unsteered(cell: Mapping[str, Any]) -> Mapping[str, Any]:
    """The point of strength 0, which every cell has."""
    return next(point for point in cell["points"] if point["strength"] == 0)


def by_layers(points: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """The points of each set of layers with the unsteered one, by strength; the widest set first."""
    points = list(points)
    sets = sorted(
        {tuple(point["layers"]) for point in points if point["layers"]}, key=lambda layers: (-len(layers), layers)
    )
    found = {
        layers_in_short(layers): [point for point in points if not point["layers"] or tuple(point["layers"]) == layers]
        for layers in sets or [()]
    }
    return {name: sorted(chosen, key=lambda point: point["strength"]) for name, chosen in found.items()}


class DevChoice(NamedTuple):
    """A cell whose strength was chosen on a development set: that set's cell, and the same cell of the input."""

    on_dev: Mapping[str, Any]
    there: Mapping[str, Any]

    @property
    def point(self) -> Mapping[str, Any]:
        """The point of the input at which it is steered; the unsteered one where the development set chose that."""
        return next((point for point in self.there["points"] if point["layers"]), unsteered(self.there))


def dev_choices(metrics: Mapping[str, Any]) -> list[DevChoice]:
    """What was chosen on --dev, with what it gives on the input; nothing where there was none."""
    names = ("language", "dimension", "metric")
    there = {tuple(cell[name] for name in names): cell for cell in metrics["cells"]}
    keys = [
        (tuple(cell[name] for name in names), cell) for cell in metrics.get("dev", ()) if cell["method"] is not None
    ]
    return [DevChoice(cell, there[key]) for key, cell in keys if key in there]


def language_maps(cells: Sequence[Mapping[str, Any]]) -> list[HeatMap]:
    """For each way to steer and each dimension, the gain of each language at each strength on the widest set of layers."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for cell in cells:
        if any(point["gain"] is not None for point in cell["points"]):
            groups[(*(cell[name] for name in GROUP), cell["dimension"])].append(cell)
    return [_language_map(group) for group in groups.values()]


def _language_map(cells: Sequence[Mapping[str, Any]]) -> HeatMap:
    rows: dict[str, dict[float, float | None]] = {}
    broken = set()
    for cell in cells:
        steered = [point for point in next(iter(by_layers(cell["points"]).values())) if point["layers"]]
        rows[cell["language"]] = {point["strength"]: point["gain"] for point in steered}
        broken |= {(cell["language"], point["strength"]) for point in steered if point["broken"]}
    strengths = sorted({strength for row in rows.values() for strength in row})
    return HeatMap(f"{cells[0]['dimension']}, {setting(cells[0])}", strengths, rows, broken)


def layer_maps(rows: Sequence[Mapping[str, Any]]) -> list[HeatMap]:
    """For each way to steer with several sets of layers, the mean gain over cells of each set at each strength."""
    maps = []
    ordered = sorted(rows, key=lambda row: [str(row[name]) for name in GROUP])
    for _, found in groupby(ordered, key=lambda row: [row[name] for name in GROUP]):
        group = sorted(found, key=lambda row: (-len(row["layers"]), row["layers"]))
        values: dict[str, dict[float, float | None]] = defaultdict(dict)
        for row in group:
            values[layers_in_short(row["layers"])][row["strength"]] = row["mean_gain"]
        if len(values) > 1:
            strengths = sorted({row["strength"] for row in group})
            maps.append(HeatMap(f"Mean over cells, {setting(group[0])}", strengths, dict(values), set()))
    return maps


def similarity(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """similarity.json by pair and layer, and how alike each language's vector is to the others', the least alike last."""
    cosines: dict[tuple[str, str], dict[str, float]] = {}
    for layer, pairs in metrics["cosines"].items():
        for pair in pairs:
            one, other = pair["languages"]
            cosines.setdefault((one, other), {})[layer] = pair["cosine"]
    with_others = {
        code: {
            layer: fmean(by_layer[layer] for pair, by_layer in cosines.items() if code in pair)
            for layer in metrics["cosines"]
        }
        for code in metrics["languages"]
    }
    means = {code: fmean(by_layer.values()) for code, by_layer in with_others.items()}
    return {
        "pivot": metrics["pivot"],
        "layers": list(metrics["cosines"]),
        "rows": [{"languages": list(pair), "cosines": by_layer} for pair, by_layer in cosines.items()],
        "with_others": with_others,
        "mean_with_others": dict(sorted(means.items(), key=lambda item: -item[1])),
    }
