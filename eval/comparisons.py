"""Judges against each other and against the baselines, on the items that both judged."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

from core.agreement import paired_difference
from eval.judged import JudgedItem


class Comparisons(NamedTuple):
    """Rows of metrics.json, and notes on judges whose items differ."""

    rows: list[dict[str, Any]]
    notes: list[str]


def compare(
    judges: Mapping[str, Sequence[JudgedItem]],
    baselines: Mapping[str, Sequence[JudgedItem]],
    resamples: int,
    seed: int,
) -> Comparisons:
    """Every pair of judges, and each judge with each baseline: by kappa, or by Pearson where gold is not an integer."""
    rows, notes = [], []
    for (a, items_a), (b, items_b) in _pairs(judges, baselines):
        by_id = {item.id: item for item in items_b}
        common = [(item, by_id[item.id]) for item in items_a if item.id in by_id]
        if b in judges and len(common) < max(len(items_a), len(items_b)):
            notes.append(f"{a} ({len(items_a)} rows) and {b} ({len(items_b)}) are compared on {len(common)} in common")
        gold = [item.gold for item, _ in common]
        statistic = "pearson" if any(value % 1 for value in gold) else "kappa"
        clusters = [item.item_id for item, _ in common]
        scores_a, scores_b = [item.score for item, _ in common], [item.score for _, item in common]
        paired = paired_difference(gold, scores_a, scores_b, clusters, statistic, resamples, seed)
        rows.append(
            {
                "a": a,
                "b": b,
                "statistic": statistic,
                "difference": paired.difference.to_json(),
                "p": paired.p_value,
                "p_smallest": paired.smallest_p,
                "n": len(common),
            }
        )
    return Comparisons(rows, notes)


def _pairs(
    judges: Mapping[str, Sequence[JudgedItem]], baselines: Mapping[str, Sequence[JudgedItem]]
) -> Iterator[tuple[tuple[str, Sequence[JudgedItem]], tuple[str, Sequence[JudgedItem]]]]:
    yield from combinations(judges.items(), 2)
    named = {f"{name} baseline": items for name, items in baselines.items()}
    yield from product(judges.items(), named.items())
