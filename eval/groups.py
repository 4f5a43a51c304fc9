"""The figures of one judge or baseline: over all its rows, and by language, capability and source."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from core.agreement import COLUMNS, Figure, agreement
from core.length_control import kappa_within_quartiles, partial_spearman
from eval.judged import JudgedItem
from eval.row_figures import pearson_figure, unscored_rate

GROUPINGS = ("language", "capability", "source")
EXACT = ("exact", "exact_scored")


def grouped_figures(items: Sequence[JudgedItem], resamples: int, seed: int, exact_only: bool = False) -> dict[str, Any]:
    """{"all": figures, "by_language": {code: figures}, "by_capability": …, "by_source": …}; rows without a name are in all.

    ``exact_only`` gives no figure but exact accuracy, as for a judge that always says the same.
    """
    entry: dict[str, Any] = {"all": group_figures(items, resamples, seed, exact_only)}
    for grouping in GROUPINGS:
        groups: dict[str, list[JudgedItem]] = defaultdict(list)
        for item in items:
            if (name := getattr(item, grouping)) is not None:
                groups[name].append(item)
        entry[f"by_{grouping}"] = {
            name: group_figures(groups[name], resamples, seed, exact_only) for name in sorted(groups)
        }
    return entry


def group_figures(items: Sequence[JudgedItem], resamples: int, seed: int, exact_only: bool = False) -> dict[str, Any]:
    """All figures of one group of rows, as they stand in metrics.json."""
    gold, scores = [item.gold for item in items], [item.score for item in items]
    clusters = [item.item_id for item in items]
    expected = pearson_figure(gold, [item.expected_score for item in items], clusters, resamples, seed)
    agreed = agreement(gold, scores, clusters, resamples, seed).to_json()
    if exact_only:
        left_out = Figure(None, None, None, len(items), 0, "this baseline stands beside exact accuracy only").to_json()
        agreed = {
            name: left_out if isinstance(value, dict) and name not in EXACT else value for name, value in agreed.items()
        }
    return agreed | {
        "unscored_rate": unscored_rate(scores, clusters, resamples, seed).to_json(),
        "failures": dict(Counter(item.failure or "unscored" for item in items if item.score is None).most_common()),
        "confusion": confusion(items),
        "differences": differences(items),
        "expected_score": expected.to_json(),
        "length_control": None if exact_only else length_control(items, resamples, seed),
    }


def confusion(items: Sequence[JudgedItem]) -> list[list[int]] | None:
    """Counts of gold 1 to 5 (rows) by score 1 to 5 and unscored (columns); None where gold is not an integer."""
    if any(item.gold % 1 for item in items):
        return None
    counts = [[0] * COLUMNS for _ in range(5)]
    for item in items:
        counts[int(item.gold) - 1][COLUMNS - 1 if item.score is None else item.score - 1] += 1
    return counts


def differences(items: Sequence[JudgedItem]) -> dict[str, int] | None:
    """Counts of score − gold over scored items, from -4 to 4; None where gold is not an integer."""
    if any(item.gold % 1 for item in items):
        return None
    found = Counter(item.score - int(item.gold) for item in items if item.score is not None)
    return {str(difference): found[difference] for difference in range(-4, 5)}


def length_control(items: Sequence[JudgedItem], resamples: int, seed: int) -> dict[str, Any] | None:
    """Spearman given the length ratio, and kappa in each quartile of it beside its null; None without records."""
    ratios = [item.length_ratio for item in items if item.length_ratio is not None]
    if not items or len(ratios) < len(items):
        return None
    gold, scores = [item.gold for item in items], [item.score for item in items]
    clusters = [item.item_id for item in items]
    quartiles = kappa_within_quartiles(gold, scores, ratios, seed=seed, clusters=clusters, resamples=resamples)
    return {
        "partial_spearman": partial_spearman(gold, scores, ratios, clusters, resamples, seed).to_json(),
        "kappa_by_quartile": [_as_json(quartile._asdict()) for quartile in quartiles],
    }


def _as_json(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value.to_json() if isinstance(value, Figure) else value for name, value in row.items()}
