"""The strength curve of one steering cell as inline SVG whose colours follow the page's light or dark scheme."""

import io
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from eval.reporting.steering import by_layers

# Matplotlib knows fixed colours only, so each stands for a CSS variable of the page until the SVG is written.
INK, MUTED, ACCENT, BAD = "#010101", "#020202", "#030303", "#040404"
_VARIABLES = {INK: "var(--ink)", MUTED: "var(--muted)", ACCENT: "var(--accent)", BAD: "var(--bad)"}
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "axes.unicode_minus": True,
}
DASHED: Any = (0, (4, 3))
# Of the gains that null draws reach.
NULL_QUANTILES = (0.025, 0.975)

Points = Sequence[Mapping[str, Any]]


def strength_chart(cell: Mapping[str, Any], name: str) -> str:
    """Pearson with people (where there are human scores) and the mean score against strength, as one ``<svg>``.

    ``cell`` is one of eval.summaries. The widest set of layers has its interval, narrower sets are thin lines; broken points
    are crosses, the oracle is ringed, and a band shows what the same choice reaches on null draws. ``name`` makes the ids
    inside the SVG the chart's own. The same input gives the same text.
    """
    widest, *narrower = by_layers(cell["points"]).values()
    scored = any(point["pearson"]["value"] is not None for point in widest)
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=(4.4, 3.7 if scored else 2.1), layout="constrained")
        axes = figure.subplots(2 if scored else 1, sharex=True, squeeze=False)[:, 0]
        for points in narrower:
            if scored:
                _thin(axes[0], points, [_number(point["pearson"]["value"]) for point in points])
            _thin(axes[-1], points, [_number(point["mean_score"]) for point in points])
        if scored:
            _pearson(axes[0], widest, cell["selection"]["oracle"])
        _line(axes[-1], widest, [_number(point["mean_score"]) for point in widest])
        axes[-1].set(xlabel="strength", ylabel="mean score")
        _strength_axis(axes[-1], [point["strength"] for point in widest])
        return drawn(figure)


def drawn(figure: Figure) -> str:
    """A figure as an inline ``<svg>``."""
    text = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(text, format="svg", transparent=True, metadata=nothing)
    return inline(text.getvalue())


def _pearson(axes: Axes, points: Points, oracle: Mapping[str, Any]) -> None:
    strengths = [point["strength"] for point in points]
    figures = [point["pearson"] for point in points]
    lows, highs = ([_number(figure[side]) for figure in figures] for side in ("low", "high"))
    axes.fill_between(strengths, lows, highs, color=ACCENT, alpha=0.15, linewidth=0)
    _line(axes, points, [_number(figure["value"]) for figure in figures])
    unsteered = next((f["value"] for s, f in zip(strengths, figures, strict=True) if s == 0), None)
    if unsteered is not None:
        axes.axhline(unsteered, color=MUTED, linewidth=0.8, linestyle=DASHED, zorder=1)
    gains = (oracle.get("null") or {}).get("gains")
    if unsteered is not None and gains:
        low, high = np.quantile(gains, NULL_QUANTILES)
        axes.axhspan(unsteered + low, unsteered + high, color=MUTED, alpha=0.25, linewidth=0, zorder=0)
    if "chosen" in oracle:
        place = (oracle["chosen"][0]["strength"], oracle["pearson"]["value"])
        axes.plot(*place, "o", markersize=11, markerfacecolor="none", markeredgecolor=INK, markeredgewidth=1.2)
        axes.annotate("oracle", place, xytext=(0, 9), textcoords="offset points", ha="center")
        axes.margins(y=0.16)
    axes.set_ylabel("Pearson")


def _thin(axes: Axes, points: Points, values: Sequence[float]) -> None:
    axes.plot([point["strength"] for point in points], values, color=MUTED, linewidth=0.9, alpha=0.8, zorder=1)


def _line(axes: Axes, points: Points, values: Sequence[float]) -> None:
    strengths = [point["strength"] for point in points]
    axes.axvline(0, color=MUTED, linewidth=0.8, zorder=1)
    axes.margins(x=0.07)
    axes.plot(strengths, values, color=ACCENT, linewidth=1.6, zorder=2)
    for broken, marker, colour, size in ((False, "o", ACCENT, 4), (True, "X", BAD, 7)):
        chosen = [(s, v) for s, v, point in zip(strengths, values, points, strict=True) if point["broken"] is broken]
        if chosen:
            axes.plot(*zip(*chosen, strict=True), marker, color=colour, markersize=size, zorder=3)


def _strength_axis(axes: Axes, strengths: Sequence[float]) -> None:
    """A grid that spans more than a decade is log-spaced on both sides of 0, and so is its axis."""
    sizes = sorted({abs(strength) for strength in strengths if strength})
    if sizes and sizes[-1] >= 10 * sizes[0]:
        axes.set_xscale("symlog", linthresh=sizes[0], linscale=0.5)
    each = math.ceil(len(sizes) / 4)
    ticks = sorted(s for s in set(strengths) if s == 0 or abs(s) in sizes[::-1][::each])
    axes.set_xticks(ticks, [f"{tick:.2g}".replace("-", "−") for tick in ticks])
    axes.set_xticks([], minor=True)


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def inline(svg: str) -> str:
    """The ``<svg>`` element alone, in the page's font and colours, as wide as its box, without ids that nothing refers to."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'<svg [^>]*?(viewBox="[^"]*")[^>]*>', r'<svg \1 role="img">', svg)
    svg = re.sub(r"\s*<style.*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' id="[\w.]+_\d+"', "", svg)
    svg = re.sub(r" font-family: [^;\"]*;?", "", svg)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, variable)
    return re.sub(r"\n\s*", "\n", svg).strip()
