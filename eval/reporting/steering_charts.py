"""Curves of steering beside those of strength, as inline SVG: development sets, held-out alignment and vectors by layer."""

import math
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from eval.reporting.charts import ACCENT, BAD, DASHED, INK, MUTED, STYLE, drawn

ALIGNMENTS = {"retrieval": "own sentence nearest", "cosine": "cosine", "explained_variance": "explained variance"}
_MARKERS = "os^DvP*X"
_COLOURS = (MUTED, ACCENT, BAD, INK)
# A map that explains less than nothing is far from useful, however far.
LEAST_EXPLAINED = -1.0


def development_chart(selection: Mapping[str, Any], name: str) -> str:
    """The gain on the other documents of what a development set of each size chooses, beside the oracle's and nested gain."""
    points = selection["development"]
    sizes = [point["size"] for point in points]
    gains = [point["gain"] for point in points]
    values, lows, highs = ([_number(gain[side]) for gain in gains] for side in ("value", "low", "high"))
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=(4.4, 2.1), layout="constrained")
        axes = figure.subplots()
        axes.fill_between(sizes, lows, highs, color=ACCENT, alpha=0.15, linewidth=0)
        axes.plot(sizes, values, color=ACCENT, linewidth=1.6, marker="o", markersize=4)
        axes.axhline(0, color=MUTED, linewidth=0.8, linestyle=DASHED, zorder=1)
        for rule in ("oracle", "nested"):
            gain = selection[rule].get("gain", {}).get("value")
            if gain is not None:
                axes.axhline(gain, color=INK, linewidth=0.8, zorder=1)
                axes.annotate(rule, (1.01, gain), xycoords=("axes fraction", "data"), va="center")
        axes.set_xticks(sizes, [str(size) for size in sizes])
        axes.set(xlabel="documents with human scores to choose on", ylabel="gain in Pearson")
        return drawn(figure)


def alignment_chart(held_out: Mapping[str, Mapping[str, Mapping[str, float | None]]], name: str) -> str:
    """Retrieval, cosine and explained variance on held-out pairs by layer, a line a method."""
    layers = list(held_out)
    methods = list(held_out[layers[0]])
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=(4.6, 6.2), layout="constrained")
        all_axes = figure.subplots(len(ALIGNMENTS), sharex=True)
        for axes, (kind, label) in zip(all_axes, ALIGNMENTS.items(), strict=True):
            lines = {method: [_number(held_out[layer][method][kind]) for layer in layers] for method in methods}
            _lines(axes, layers, lines)
            axes.set_ylabel(label)
        low, high = all_axes[-1].get_ylim()
        all_axes[-1].set_ylim(max(low, LEAST_EXPLAINED), max(high, LEAST_EXPLAINED + 1))
        all_axes[-1].set_xlabel("layer")
        _legend(figure, all_axes[0])
        return drawn(figure)


def similarity_chart(with_others: Mapping[str, Mapping[str, float]], name: str) -> str:
    """Each language's mean cosine with the others by layer: who stands apart?"""
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=(4.6, 3.4), layout="constrained")
        axes = figure.subplots()
        lines = {code: list(by_layer.values()) for code, by_layer in with_others.items()}
        _lines(axes, list(next(iter(with_others.values()))), lines)
        axes.set(xlabel="layer", ylabel="mean cosine with the others")
        _legend(figure, axes)
        return drawn(figure)


def _lines(axes: Axes, layers: Sequence[str], lines: Mapping[str, Sequence[float]]) -> None:
    """Lines told apart by marker, not by colour alone."""
    for (name, values), marker, colour in zip(lines.items(), cycle(_MARKERS), cycle(_COLOURS), strict=False):
        axes.plot(
            values,
            color=colour,
            linewidth=1.4,
            marker=marker,
            markersize=5,
            markevery=max(1, len(layers) // 8),
            label=name.replace("_", " "),
        )
    each = math.ceil(len(layers) / 10)
    axes.set_xticks(range(0, len(layers), each), layers[::each])
    axes.margins(x=0.03)


def _legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False, columnspacing=1.2)


def _number(value: float | None) -> float:
    return math.nan if value is None else value
