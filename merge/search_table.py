"""A search's result as a few lines: both recipes on both halves, and how much of the gain is selection."""

from collections.abc import Mapping
from typing import Any

from eval.markdown_table import markdown_table

_HEADS = ("half", "kappa", "n", "uniform", "chosen", "difference", "p")


def table(metrics: Mapping[str, Any]) -> str:
    """Uniform, chosen and their difference by half and language, as a Markdown table, and what it says."""
    rows = [row for name, half in metrics["halves"].items() for row in _rows(name, half, metrics["objective"])]
    chosen = metrics["chosen"]
    densities = f"; densities {_settings(chosen['densities'])}" if chosen["densities"] else ""
    gains = {name: _number(half["gain"]["value"]) for name, half in metrics["halves"].items()}
    lines = [
        markdown_table(_HEADS, rows),
        "",
        f"chosen of {metrics['evaluations']}: number {chosen['number']}, weights {_settings(chosen['weights'])}{densities}",
        f"gain {gains['search']} on the half that chose, {gains['held_out']} on the half held out",
        f"optimism {_figure(metrics['optimism'])}",
    ]
    return "\n".join(lines if chosen["number"] else [*lines, "no weights were better than uniform ones"])


def _rows(name: str, half: Mapping[str, Any], objective: str) -> list[list[str]]:
    where = name.replace("_", "-")
    rows = []
    for language, difference in half["difference"]["by_language"].items():
        sides = [half[side]["by_language"][language] for side in ("uniform", "chosen")]
        p_value = difference["p_value"]
        shown = [*map(_figure, sides), _figure(difference["difference"]), "" if p_value is None else f"{p_value:.2g}"]
        rows.append([where, language, str(sides[0]["n"]), *shown])
    values = [_number(half[side]["objective"]) for side in ("uniform", "chosen")]
    return [*rows, [where, objective, str(half["gain"]["n"]), *values, _figure(half["gain"]), ""]]


def _settings(by_expert: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in by_expert.items())


def _figure(figure: Mapping[str, Any]) -> str:
    interval = "" if figure["low"] is None else f" [{_number(figure['low'])}, {_number(figure['high'])}]"
    return _number(figure["value"]) + interval


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"
