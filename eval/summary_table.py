"""The metrics of eval.summaries as lines of text."""

from typing import Any

from eval.correlation import STATISTICS


def table(metrics: dict[str, Any]) -> list[str]:
    """A block of lines a cell: each strength, the oracle, the baselines; then the notes."""
    found = [line for cell in metrics["cells"] for line in _cell(cell)]
    return found + [f"note: {note}" for note in metrics["notes"]]


def _cell(cell: dict[str, Any]) -> list[str]:
    steered = f"{cell['method']} toward {cell['pivot']}" if cell["method"] else "unsteered"
    scale = f", {cell['scale']}" if cell["scale"] else ""
    count = f"{cell['n']} summaries, {cell['n_human']} with human scores"
    lines = [
        f"{cell['language']} {cell['dimension']}, {cell['metric']} {steered}{scale}: {count}",
        "  strength     mean  moved by  " + "".join(f"{name:<22}" for name in STATISTICS),
    ]
    lines += [_point(point) for point in cell["points"]]
    if not cell["n_human"]:
        return lines
    oracle = cell["oracle"]
    if oracle["strength"] is not None:
        lines.append(f"  oracle {oracle['strength']:+g}: pearson {_figure(oracle['pearson'])}; {oracle['note']}")
    for name, figures in cell["baselines"].items():
        lines.append(f"  baseline {name:<19}" + _figures(figures))
    return lines


def _point(point: dict[str, Any]) -> str:
    mean = "—" if point["mean_score"] is None else f"{point['mean_score']:.3f}"
    moved = "—" if point["moved_sd"] is None else f"{point['moved_sd']:+.2f} SD"
    broken = "  broken" if point["broken"] else ""
    return f"  {point['strength']:>+8g}{mean:>9}{moved:>10}  {_figures(point)}{broken}".rstrip()


def _figures(figures: dict[str, Any]) -> str:
    return "".join(f"{_figure(figures[name]):<22}" for name in STATISTICS)


def _figure(figure: dict[str, Any]) -> str:
    if figure["value"] is None:
        return str(figure["reason"])
    interval = "" if figure["low"] is None else f" [{figure['low']:+.2f}, {figure['high']:+.2f}]"
    return f"{figure['value']:+.3f}{interval}"
