"""metrics.json of eval.agree as plain tables that read well in a terminal and are Markdown too."""

from collections.abc import Iterator, Sequence
from typing import Any

FIGURES = ("kappa", "pearson", "spearman", "kendall", "exact")
NOTHING = "–"


def tables(metrics: dict[str, Any]) -> str:
    """Judges and baselines over all rows, kappa by language, length control, comparisons, notes: each where it has rows."""
    parts = [_overall(metrics), _by_language(metrics), _length_control(metrics), _comparisons(metrics)]
    notes = "\n".join(f"- {note}" for note in metrics["notes"])
    return "\n\n".join(part for part in (*parts, notes) if part) + "\n"


def figure_text(figure: dict[str, Any] | None) -> str:
    """``.64 [.60, .68]``; a dash, with the reason, where there is no value."""
    if figure is None:
        return NOTHING
    if figure["value"] is None:
        return f"{NOTHING} ({figure['reason']})"
    interval = "" if figure["low"] is None else f" [{number(figure['low'])}, {number(figure['high'])}]"
    return number(figure["value"]) + interval


def number(value: float | None, digits: int = 2) -> str:
    """A number as tables of agreement print it: ``.64``, ``-.08``, ``1.00``."""
    if value is None:
        return NOTHING
    text = f"{value:.{digits}f}"
    if float(text) == 0:
        text = text.removeprefix("-")
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def _entries(metrics: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from metrics["judges"].items()
    for name, entry in metrics["baselines"].items():
        yield f"{name} baseline", entry


def _overall(metrics: dict[str, Any]) -> str:
    rows = [
        [name, str(entry["all"]["n"]), str(entry["all"]["n_unscored"])]
        + [_short(entry["all"][figure]) for figure in FIGURES]
        for name, entry in _entries(metrics)
    ]
    return _table(["judge", "n", "unscored", *FIGURES], rows)


def _by_language(metrics: dict[str, Any]) -> str:
    languages = sorted({code for _, entry in _entries(metrics) for code in entry["by_language"]})
    if len(languages) < 2:
        return ""
    # The majority baseline has no kappa anywhere.
    rows = [
        [name, *(_short(entry["by_language"].get(code, {}).get("kappa")) for code in languages)]
        for name, entry in _entries(metrics)
        if any(group["kappa"]["value"] is not None for group in entry["by_language"].values())
    ]
    return _table(["kappa by language", *languages], rows)


def _length_control(metrics: dict[str, Any]) -> str:
    rows = []
    for name, entry in _entries(metrics):
        control = entry["all"]["length_control"]
        if control:
            quartiles = [f"{_value(q['kappa'])} ({_null(q)})" for q in control["kappa_by_quartile"]]
            rows.append([name, _short(control["partial_spearman"]), *quartiles])
    heads = [f"kappa, quarter {n} (null)" for n in (1, 2, 3, 4)]
    return _table(["length held fixed", "partial spearman", *heads], rows) if rows else ""


def _comparisons(metrics: dict[str, Any]) -> str:
    rows = []
    for row in metrics["comparisons"]:
        p_value = NOTHING if row["p"] is None else f"{number(row['p'], 4)} ({number(row['p_smallest'], 4)})"
        pair = f"{row['a']} − {row['b']}"
        rows.append([pair, row["statistic"], str(row["n"]), _short(row["difference"]), p_value])
    return _table(["compared on the same items", "statistic", "n", "difference", "p (smallest)"], rows) if rows else ""


def _short(figure: dict[str, Any] | None) -> str:
    return NOTHING if figure is None or figure["value"] is None else figure_text(figure)


def _value(figure: dict[str, Any]) -> str:
    return number(figure["value"])


def _null(quartile: dict[str, Any]) -> str:
    if quartile["null_mean"] is None:
        return NOTHING
    return f"{number(quartile['null_low'])} to {number(quartile['null_high'])}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table with padded columns: the first to the left, the others to the right."""
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (heads, *rows)]
    first, *others = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        [row[0].ljust(first), *(cell.rjust(width) for cell, width in zip(row[1:], others, strict=True))]
        for row in cells
    ]
    rule = ["-" * first, *("-" * (width - 1) + ":" for width in others)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (lines[0], rule, *lines[1:]))
