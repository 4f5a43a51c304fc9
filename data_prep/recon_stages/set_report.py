"""What is said of every finished set: counts by score, the length baseline with its interval, and its capabilities."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from core.agreement import agreement
from core.baselines import length_baseline
from core.records import JudgeRecord

NO_CAPABILITY = "(none)"
NO_SOURCE = "(none)"


def set_figures(records: Sequence[JudgeRecord], seed: int) -> dict[str, Any]:
    """items, by_score, and ``length_baseline``: the linear kappa that length alone reaches, as a figure of metrics.json."""
    by_score = Counter(record.score for record in records)
    figures = {"items": len(records), "by_score": {str(score): by_score[score] for score in range(1, 6)}}
    return figures | {"length_baseline": _length_kappa(records, seed)}


def _length_kappa(records: Sequence[JudgeRecord], seed: int) -> dict[str, Any]:
    baseline = length_baseline(records, seed)
    if baseline is None:
        return {"value": None, "low": None, "high": None, "n": len(records), "reason": "fewer than two items"}
    judged = [records[row] for row in baseline.rows]
    gold = [float(record.score or 0) for record in judged]
    return agreement(gold, baseline.verdicts, [record.item_id for record in judged], seed=seed).kappa.to_json()


def figures_line(language: str, figures: dict[str, Any]) -> str:
    """The figures of one set in one line."""
    scores = " ".join(f"{score}:{count}" for score, count in figures["by_score"].items())
    kappa = figures["length_baseline"]
    if kappa["value"] is None:
        shown = f"none ({kappa['reason']})"
    elif kappa["low"] is None:
        shown = f"kappa {kappa['value']:.2f}"
    else:
        shown = f"kappa {kappa['value']:.2f} [{kappa['low']:.2f}, {kappa['high']:.2f}]"
    return f"{language}: {figures['items']} items, scores {scores}; length baseline {shown}, n {kappa['n']}"


def capability_counts(records: Sequence[JudgeRecord]) -> dict[str, dict[str, int]]:
    """Items by capability and, within it, by source; the most frequent first."""
    totals = Counter(record.capability or NO_CAPABILITY for record in records)
    counts: dict[str, dict[str, int]] = {}
    for name, _ in sorted(totals.items(), key=lambda pair: (-pair[1], pair[0])):
        sources = Counter(
            record.source or NO_SOURCE for record in records if (record.capability or NO_CAPABILITY) == name
        )
        counts[name] = dict(sorted(sources.items()))
    return counts


def capability_table(counts: dict[str, dict[str, int]]) -> str:
    """The counts as a Markdown table with totals."""
    sources = sorted({source for row in counts.values() for source in row})
    total = sum(sum(row.values()) for row in counts.values())
    lines = [f"| capability | {' | '.join(sources)} | all | share |", f"|---|{'---:|' * (len(sources) + 2)}"]
    for name, row in counts.items():
        cells = " | ".join(str(row.get(source, 0)) for source in sources)
        items = sum(row.values())
        lines.append(f"| {name} | {cells} | {items} | {100 * items / total:.0f} % |")
    columns = " | ".join(str(sum(row.get(source, 0) for row in counts.values())) for source in sources)
    return "\n".join([*lines, f"| all | {columns} | {total} | 100 % |", ""])


def plot_capabilities(counts: dict[str, dict[str, int]], path: Path) -> None:
    """The counts as horizontal bars, stacked by source, in an SVG whose text stays text. The same counts give the same file."""
    names = list(counts)[::-1]
    sources = sorted({source for row in counts.values() for source in row})
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "capabilities", "font.size": 9}):
        figure = Figure(figsize=(6.4, 1.2 + 0.32 * len(names)), layout="constrained")
        axes = figure.subplots()
        left = [0] * len(names)
        for source in sources:
            widths = [counts[name].get(source, 0) for name in names]
            axes.barh(names, widths, left=left, label=source, height=0.7)
            left = [start + width for start, width in zip(left, widths, strict=True)]
        axes.bar_label(axes.containers[-1], labels=[str(total) for total in left], padding=3)  # type: ignore[arg-type]
        axes.spines[["top", "right"]].set_visible(False)
        axes.margins(x=0.08)
        axes.set_xlabel("items")
        figure.legend(loc="outside right upper", frameon=False)
        figure.savefig(path, metadata={"Date": None})
