"""Judges against each other and against the baselines, on the items that both judged: over all, and in each language."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

from core.multiple_tests import holm
from core.paired import paired_difference
from eval.judged import JudgedItem, with_each_language


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
    """Every pair of judges, and each judge with each baseline: by kappa, or by Pearson where gold is not an integer.

    ``p_holm`` is corrected for all rows of the table that have a p.
    """
    rows, notes = [], []
    for (a, items_a), (b, items_b) in _pairs(judges, baselines):
        by_id = {item.id: item for item in items_b}
        common = [item for item in items_a if item.id in by_id]
        if b in judges and len(common) < max(len(items_a), len(items_b)):
            notes.append(f"{a} ({len(items_a)} rows) and {b} ({len(items_b)}) are compared on {len(common)} in common")
        for group, items in with_each_language(common).items():
            compared = _compared(items, [by_id[item.id] for item in items], resamples, seed)
            rows.append({"a": a, "b": b, "group": group, **compared})
    corrected = holm([row["p"] for row in rows])
    return Comparisons([row | {"p_holm": p} for row, p in zip(rows, corrected, strict=True)], notes)


def _compared(
    items_a: Sequence[JudgedItem], items_b: Sequence[JudgedItem], resamples: int, seed: int
) -> dict[str, Any]:
    gold, clusters = [item.gold for item in items_a], [item.item_id for item in items_a]
    statistic = "pearson" if any(value % 1 for value in gold) else "kappa"
    scores_a, scores_b = ([item.score for item in items] for items in (items_a, items_b))
    paired = paired_difference(gold, scores_a, scores_b, clusters, statistic, resamples, seed)
    return {
        "statistic": statistic,
        "difference": paired.difference.to_json(),
        "p": paired.p_value,
        "p_smallest": paired.smallest_p,
        "n": len(gold),
    }


def _pairs(
    judges: Mapping[str, Sequence[JudgedItem]], baselines: Mapping[str, Sequence[JudgedItem]]
) -> Iterator[tuple[tuple[str, Sequence[JudgedItem]], tuple[str, Sequence[JudgedItem]]]]:
    yield from combinations(judges.items(), 2)
    named = {f"{name} baseline": items for name, items in baselines.items()}
    yield from product(judges.items(), named.items())
