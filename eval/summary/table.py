"""The metrics of eval.summaries as tables: what each way to choose a strength gives, side by side, then each cell in full."""

from collections.abc import Mapping, Sequence
from typing import Any

from eval.correlation import STATISTICS
from eval.markdown_table import markdown_table

SELECTIONS = {
    "oracle": "oracle",
    "nested": "nested",
    "leave_one_language_out": "other languages",
    "unsupervised": "unsupervised",
}
FIGURES = (*STATISTICS, "within_system", "length_partial")
DASH = "–"
LEGEND = (
    "Pearson with human scores, in brackets the gain over unsteered. Oracle: strength chosen on the test scores, no result. "
    "Nested: on the other folds of documents. Other languages: on these. Unsupervised: by held-out sentences. Null: the mean "
    "gain that the oracle finds along directions of sign-flipped pairs; p with its smallest possible value. A gain counts "
    "when it beats its null."
)


def table(metrics: Mapping[str, Any]) -> list[str]:
    """Lines for a terminal: what markdown has, each cell's points and baselines, and the notes."""
    found = [line for cell in metrics["cells"] for line in _cell(cell)]
    return markdown(metrics).splitlines() + found + [f"note: {note}" for note in metrics["notes"]]


def markdown(metrics: Mapping[str, Any]) -> str:
    """table.md: a row a cell with every selection and its null, a row a strength over all cells, and what the columns mean."""
    rated = [cell for cell in metrics["cells"] if cell["n_human"]]
    if not rated:
        return "No summary has a human score."
    heads = ["language", "dimension", "metric", "n", "one rater", "unsteered", *SELECTIONS.values()]
    heads += ["gain of nested, 95 %", "null oracle", "p oracle", "p nested"]
    parts = [markdown_table(heads, [_row(cell) for cell in rated]), LEGEND]
    if metrics["strengths"]:
        heads = ["metric", "layers", "strength", "cells", "broken", "mean gain", "mean relative gain", "improved"]
        parts.append(markdown_table(heads, [_strength_row(row) for row in metrics["strengths"]]))
    return "\n\n".join(parts)


def layers_in_short(layers: Sequence[int] | None) -> str:
    """Layers as runs: 0–3, 7; a dash for none."""
    if not layers:
        return DASH
    runs: list[list[int]] = []
    for layer in layers:
        if runs and layer == runs[-1][-1] + 1:
            runs[-1].append(layer)
        else:
            runs.append([layer])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)


def _row(cell: Mapping[str, Any]) -> list[str]:
    chosen = [cell["selection"][name] for name in SELECTIONS]
    gain = cell["selection"]["nested"].get("gain", {"value": None})
    null = cell["selection"]["oracle"].get("null") or {}
    row = [cell["language"], cell["dimension"], _steered(cell), str(cell["n_human"])]
    row += [_number(cell["ceiling"]["value"]), _number(cell["points"][0]["pearson"]["value"])]
    row += [_with_gain(selection) for selection in chosen]
    row += [_interval(gain), _number(null.get("mean_gain"), "+")]
    return row + [_p(cell["selection"][name]) for name in ("oracle", "nested")]


def _strength_row(row: Mapping[str, Any]) -> list[str]:
    relative = row["mean_relative_improvement"]
    return [
        _steered(row),
        layers_in_short(row["layers"]),
        f"{row['strength']:+g}",
        str(row["cells"]),
        str(row["broken"]),
        _number(row["mean_gain"], "+"),
        DASH if relative is None else f"{relative:+.1%}",
        f"{row['improved']:.0%}",
    ]


def _steered(row: Mapping[str, Any]) -> str:
    """The metric, and how and whither it is steered."""
    how = " ".join(part for part in (row["scale"], row["method"]) if part)
    return f"{row['metric']}, {how} → {row['pivot']}" if how else row["metric"]


def _with_gain(selection: Mapping[str, Any]) -> str:
    if "reason" in selection or selection["pearson"]["value"] is None:
        return DASH
    return f"{_number(selection['pearson']['value'])} ({_number(selection['gain']['value'], '+')})"


def _interval(figure: Mapping[str, Any]) -> str:
    if figure["value"] is None or figure["low"] is None:
        return DASH
    return f"[{figure['low']:+.3f}, {figure['high']:+.3f}]"


def _p(selection: Mapping[str, Any]) -> str:
    null = selection.get("null")
    return f"{null['p_value']:.3f} (≥ {null['smallest_p']:.3f})" if null and null["p_value"] is not None else DASH


def _number(value: float | None, sign: str = "") -> str:
    return DASH if value is None else f"{value:{sign}.3f}"


def _cell(cell: Mapping[str, Any]) -> list[str]:
    count = f"{cell['n']} summaries, {cell['n_human']} with human scores"
    lines = [
        f"{cell['language']} {cell['dimension']}, {_steered(cell)}: {count}",
        "  layers     strength     mean  moved by  " + " ".join(f"{name:<21}" for name in FIGURES),
    ]
    lines += [_point(point) for point in cell["points"]]
    if not cell["n_human"]:
        return lines
    for name, title in SELECTIONS.items() if cell["method"] else ():
        lines.append(f"  {title}: {_choice(cell['selection'][name])}")
    for found in cell["selection"]["development"]:
        gain = f"{found['gain']['value']:+.3f} [{found['gain']['low']:+.3f}, {found['gain']['high']:+.3f}]"
        lines.append(f"  chosen on {found['size']} documents: gain {gain} on some {found['n_test']} other summaries")
    for name, figures in cell["baselines"].items():
        lines.append(f"  baseline {name:<31}" + " ".join(f"{_figure(figures[key]):<21}" for key in STATISTICS))
    return lines


def _choice(selection: Mapping[str, Any]) -> str:
    if "reason" in selection:
        return str(selection["reason"])
    points = "; ".join(
        "unsteered" if part["layers"] is None else f"layers {layers_in_short(part['layers'])} at {part['strength']:+g}"
        for part in selection["chosen"]
    )
    null = selection["null"]
    beside = f", null {_number(null['mean_gain'], '+')}, p {_p(selection)}" if null else ""
    return f"{points}: pearson {_figure(selection['pearson'])}, gain {_figure(selection['gain'])}{beside}; {selection['note']}"


def _point(point: Mapping[str, Any]) -> str:
    mean = DASH if point["mean_score"] is None else f"{point['mean_score']:.3f}"
    by = DASH if point["moved_sd"] is None else f"{point['moved_sd']:+.2f} SD"
    figures = " ".join(f"{_figure(point[name]):<21}" for name in FIGURES)
    where = f"  {layers_in_short(point['layers']):<10}{point['strength']:>+9g}{mean:>9}{by:>10}"
    return f"{where}  {figures}{'  broken' if point['broken'] else ''}".rstrip()


def _figure(figure: Mapping[str, Any]) -> str:
    if figure["value"] is None:
        return str(figure["reason"])
    interval = "" if figure["low"] is None else f" [{figure['low']:+.2f}, {figure['high']:+.2f}]"
    return f"{figure['value']:+.3f}{interval}"
