"""metrics.json of eval.agree as plain tables that read well in a terminal and are Markdown too."""

from collections.abc import Iterator
from typing import Any

from eval.markdown_table import markdown_table

FIGURES = ("kappa", "pearson", "spearman", "kendall", "exact")
SHARES = {"lower_by_2": "≤ −2", "lower": "−1", "higher": "+1", "higher_by_2": "≥ +2"}
NOTHING = "–"


def tables(metrics: dict[str, Any]) -> str:
    """Judges and baselines over all rows, then ranks and comparisons, then languages, then what may mislead, then notes.

    A table without rows is left out. What else stands in metrics.json is for eval.report.
    """
    parts = [
        *(_overall(metrics), _ranks(metrics), _comparisons(metrics)),
        *(_by_language(metrics), _comparisons_by_language(metrics), _consistency(metrics)),
        *(_generosity(metrics), _length_control(metrics), _annotators(metrics)),
    ]
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
    shown = [*FIGURES, *(["kendall_c"] if any("kendall_c" in entry["all"] for _, entry in _entries(metrics)) else [])]
    rows = [
        [name, str(entry["all"]["n"]), str(entry["all"]["n_unscored"])]
        + [_short(entry["all"][figure]) for figure in shown]
        for name, entry in _entries(metrics)
    ]
    return markdown_table(["judge", "n", "unscored", *shown], rows)


def _ranks(metrics: dict[str, Any]) -> str:
    """Judges by cluster: those of one cluster cannot be told apart."""
    rankings = [row for row in metrics.get("ranks", []) if row["group"] == "all"]
    cells: dict[str, list[str]] = {}
    for ranking in rankings:
        for judge in ranking["judges"]:
            rank = (
                NOTHING if judge["rank"] is None else f"{judge['cluster']} ({judge['rank']}) {number(judge['value'])}"
            )
            cells.setdefault(judge["name"], []).append(rank)
    heads = [f"{ranking['statistic']}: cluster (rank)" for ranking in rankings]
    return markdown_table(["ranked on the same items", *heads], [[name, *row] for name, row in cells.items()])


def _by_language(metrics: dict[str, Any]) -> str:
    """Kappa, or Pearson where gold has no kappa, with the mean over languages."""
    languages = sorted({code for _, entry in _entries(metrics) for code in entry["by_language"]})
    if len(languages) < 2:
        return ""
    of_judges = [group for entry in metrics["judges"].values() for group in entry["by_language"].values()]
    statistic = "kappa" if any(group["kappa"]["value"] is not None for group in of_judges) else "pearson"
    # The majority baseline has neither anywhere.
    rows = [
        [
            name,
            *(_short(entry["by_language"].get(code, {}).get(statistic)) for code in languages),
            _mean(entry, statistic),
        ]
        for name, entry in _entries(metrics)
        if any(group[statistic]["value"] is not None for group in entry["by_language"].values())
    ]
    return markdown_table([f"{statistic} by language", *languages, "mean"], rows)


def _mean(entry: dict[str, Any], statistic: str) -> str:
    mean = entry.get("mean_over_languages", {}).get(statistic)
    if mean is None or mean["mean"] is None:
        return NOTHING
    few = "" if mean["n_defined"] == mean["n_groups"] else f" (of {mean['n_defined']})"
    return figure_text(mean | {"value": mean["mean"]}) + few


def _generosity(metrics: dict[str, Any]) -> str:
    rows = []
    for name, entry in _entries(metrics):
        figures = entry["all"]
        if "shares" in figures and figures["generosity"]["value"] is not None:
            shares = [_value(figures["shares"][share]) for share in SHARES]
            rows.append([name, _short(figures["generosity"]), *shares])
    return markdown_table(["score − gold", "mean (generosity)", *(f"share {place}" for place in SHARES.values())], rows)


def _consistency(metrics: dict[str, Any]) -> str:
    rows = [
        [name, str(found["equal"]["n"]), _short(found["mean_absolute_difference"]), _short(found["equal"])]
        for name, found in metrics.get("consistency", {}).items()
    ]
    return markdown_table(["one item in two languages", "pairs", "mean difference", "equal"], rows)


def _annotators(metrics: dict[str, Any]) -> str:
    found = metrics.get("annotators")
    groups = {"all": found["all"], **found["by_language"]} if found else {}
    names = ("pairwise_pearson", "alpha", "leave_one_out", "leave_one_out_pooled")
    rows = [
        [group, str(one["raters"]), str(one["alpha"]["n"]), *(_short(one[name]) for name in names)]
        for group, one in groups.items()
        if group == "all" or len(groups) > 2
    ]
    heads = ["pairwise pearson", "alpha (interval)", "one against the rest", "the same, pooled"]
    return markdown_table(["annotators", "raters", "n", *heads], rows)


def _length_control(metrics: dict[str, Any]) -> str:
    rows = []
    for name, entry in _entries(metrics):
        control = entry["all"]["length_control"]
        if control:
            quartiles = [f"{_value(q['kappa'])} ({_null(q)})" for q in control["kappa_by_quartile"]]
            rows.append([name, _short(control["partial_spearman"]), *quartiles])
    heads = [f"kappa, quarter {n} (null)" for n in (1, 2, 3, 4)]
    return markdown_table(["length held fixed", "partial spearman", *heads], rows)


def _comparisons(metrics: dict[str, Any]) -> str:
    rows = [
        [
            *(f"{row['a']} − {row['b']}", row["statistic"], str(row["n"]), _short(row["difference"])),
            *(number(row.get(p), 4) for p in ("p", "p_smallest", "p_holm")),
        ]
        for row in metrics["comparisons"]
        if row.get("group", "all") == "all"
    ]
    heads = ["statistic", "n", "difference", "p", "smallest p", "p, Holm"]
    return markdown_table(["compared on the same items", *heads], rows)


def _comparisons_by_language(metrics: dict[str, Any]) -> str:
    """Differences, with a star where the corrected p is at most .05."""
    apart = [row for row in metrics["comparisons"] if row.get("group", "all") != "all"]
    languages = sorted({row["group"] for row in apart})
    pairs: dict[str, dict[str, str]] = {}
    for row in apart:
        star = "*" if row["p_holm"] is not None and row["p_holm"] <= 0.05 else ""
        pairs.setdefault(f"{row['a']} − {row['b']}", {})[row["group"]] = _short(row["difference"]) + star
    rows = [[pair, *(cells.get(code, NOTHING) for code in languages)] for pair, cells in pairs.items()]
    return markdown_table(["difference (* p, Holm ≤ .05)", *languages], rows)


def _short(figure: dict[str, Any] | None) -> str:
    return NOTHING if figure is None or figure["value"] is None else figure_text(figure)


def _value(figure: dict[str, Any]) -> str:
    return number(figure["value"])


def _null(quartile: dict[str, Any]) -> str:
    if quartile["null_mean"] is None:
        return NOTHING
    return f"{number(quartile['null_low'])} to {number(quartile['null_high'])}"
