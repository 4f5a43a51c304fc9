"""metrics.json of eval.probes as tables."""

from typing import Any

from eval.agree_table import NOTHING, figure_text, number
from eval.markdown_table import markdown_table
from eval.probe_pairs import REFERENCE_NONE
from eval.probe_records import REFERENCE_OTHER


def tables(metrics: dict[str, Any]) -> str:
    """For each judge a row a kind, the shift by language, and where the reference is taken, the share that does not move."""
    parts = []
    for judge, kinds in metrics["probes"].items():
        of_reference = {kind: entry for kind, entry in kinds.items() if kind in (REFERENCE_NONE, REFERENCE_OTHER)}
        parts.append(_kinds(judge, kinds))
        parts.append(_groups(judge, kinds, "language", "shift"))
        parts += [_groups(judge, of_reference, grouping, "unmoved") for grouping in ("language", "capability")]
    parts.append("\n".join(f"- {note}" for note in metrics["notes"]))
    return "\n\n".join(part for part in parts if part) + "\n"


def _kinds(judge: str, kinds: dict[str, Any]) -> str:
    rows = []
    for kind, entry in kinds.items():
        figures = entry["all"]
        below = figures["below_5"]
        given = f"{_share(figures['given_5'])} ({_share(figures['given_5_original'])})"
        agreed = f"{_share(figures['kappa'])} ({_share(figures['kappa_original'])})"
        counts = [str(figures["n"]), str(figures["unscored"]["either"])]
        shifts = [_figure(figures["shift"]), _figure(below and below["shift"]), _figure(figures["beyond_control"])]
        shares = [_share(figures[name]) for name in ("unmoved", "moved_up", "moved_down")]
        rows.append([kind, *counts, *shifts, *shares, given, agreed])
    heads = ["n", "unscored", "shift", "shift, gold < 5", "beyond control", "unmoved", "up", "down"]
    return markdown_table([judge, *heads, "given 5 (before)", "kappa (before)"], rows)


def _groups(judge: str, kinds: dict[str, Any], grouping: str, name: str) -> str:
    groups = sorted({group for entry in kinds.values() for group in entry[f"by_{grouping}"]})
    if len(groups) < 2:
        return ""
    rows = [
        [kind, *(_figure(entry[f"by_{grouping}"].get(group, {}).get(name)) for group in groups)]
        for kind, entry in kinds.items()
    ]
    return markdown_table([f"{judge}: {name} by {grouping}", *groups], rows)


def _figure(figure: dict[str, Any] | None) -> str:
    return NOTHING if figure is None or figure["value"] is None else figure_text(figure)


def _share(figure: dict[str, Any]) -> str:
    return number(figure["value"])
