"""How experts of a merge differ, layer by layer, as inline SVG: angles, signs that conflict, lengths."""

import io
import math
from collections.abc import Sequence
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from eval.reporting.charts import ACCENT, INK, MUTED, STYLE, inline

_TICKS = 12
_LABEL_HEIGHT = 0.09  # of an axis
_COLOURS = """<style>
svg { --ink: #1d2329; --muted: #626b76; --accent: #1f6fb2; --bad: #b8432a; background: #fff; font-family: sans-serif }
@media (prefers-color-scheme: dark) {
  svg { --ink: #e8e5df; --muted: #9ba4ae; --accent: #6db1ea; --bad: #f0886c; background: #15181c }
}
</style>"""


def experts_chart(layers: Sequence[dict[str, Any]], name: str) -> str:
    """Cosines of every pair, sign conflicts beside chance, and norms by expert against depth, as one ``<svg>``.

    ``layers`` are those of experts.json; ``name`` makes the ids inside the SVG the chart's own. The same input gives the
    same text.
    """
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=(7.2, 7.6), layout="constrained")
        cosines, signs, norms = figure.subplots(3, sharex=True)
        _cosines(cosines, layers)
        _signs(signs, layers)
        _norms(norms, layers)
        _layer_axis(norms, [layer["layer"] for layer in layers])
        text = io.StringIO()
        figure.savefig(
            text,
            format="svg",
            transparent=True,
            metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")),
        )
    return inline(text.getvalue())


def standalone(svg: str) -> str:
    """An inline chart as a file of its own, with the colours that it takes from the page elsewhere."""
    opening, rest = svg.split(">", 1)
    return f'{opening} xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">{_COLOURS}{rest}\n'


def _cosines(axes: Axes, layers: Sequence[dict[str, Any]]) -> None:
    pairs = [[_number(layer["pairs"][at]["cosine"]) for layer in layers] for at in range(len(layers[0]["pairs"]))]
    for pair in pairs:
        axes.plot(pair, color=MUTED, linewidth=0.7, alpha=0.7)
    defined = [[value for value in column if not math.isnan(value)] for column in zip(*pairs, strict=True)]
    axes.plot(
        [sum(d) / len(d) if d else math.nan for d in defined], color=ACCENT, linewidth=2, marker="o", markersize=3
    )
    axes.axhline(0, color=MUTED, linewidth=0.8, zorder=1)
    axes.set_ylabel("cosine of two experts")


def _signs(axes: Axes, layers: Sequence[dict[str, Any]]) -> None:
    conflict, chance = ([_number(layer[key]) for layer in layers] for key in ("conflict", "conflict_by_chance"))
    axes.plot(conflict, color=ACCENT, linewidth=2, marker="o", markersize=3)
    axes.plot(chance, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
    axes.set_ylim(-0.03, 1.03)
    axes.set_ylabel("share with both signs")


def _norms(axes: Axes, layers: Sequence[dict[str, Any]]) -> None:
    experts = list(layers[0]["norm"])
    lines = {name: [_number(layer["relative_norm"][name]) for layer in layers] for name in experts}
    for values in lines.values():
        axes.plot(values, color=ACCENT, linewidth=1.2, alpha=0.8, marker="o", markersize=2)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("‖expert − base‖ / ‖base‖")
    axes.margins(x=0.02)
    top = axes.get_ylim()[1] or 1
    place = -math.inf
    ends = {name: next((v for v in reversed(values) if not math.isnan(v)), 0) / top for name, values in lines.items()}
    for name, end in sorted(ends.items(), key=lambda item: item[1]):
        place = max(end, place + _LABEL_HEIGHT)
        axes.annotate(name, (1.01, place), xycoords="axes fraction", color=INK, va="center")


def _layer_axis(axes: Axes, names: Sequence[str]) -> None:
    each = math.ceil(len(names) / _TICKS)
    numbered = [at for at, name in enumerate(names) if name.isdigit()]
    others = [at for at, name in enumerate(names) if not name.isdigit()]
    ticks = sorted([*numbered[::each], *others])
    axes.set_xticks(ticks, [names[at].rsplit(".", 1)[-1] for at in ticks])
    for label, at in zip(axes.get_xticklabels(), ticks, strict=True):
        label.set_rotation(0 if names[at].isdigit() else 90)
    axes.set_xlabel("layer")


def _number(value: float | None) -> float:
    return math.nan if value is None else value
