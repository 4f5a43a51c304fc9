"""The figures of one judge or baseline: over all its rows, and by language, capability, source and length quartile."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from core.agreement import COLUMNS, Agreement, Figure, figures
from core.contingency import SHARES
from core.group_means import group_means
from core.length_control import kappa_within_quartiles, partial_spearman
from eval.judged import JudgedItem
from eval.row_figures import pearson_figure, unscored_rate

GROUPINGS = ("language", "capability", "source", "length_quartile")
AGREEMENT = tuple(field.name for field in fields(Agreement))
TAU_C = ("kendall_c", "kendall_c_scored")
EXACT = ("exact", "exact_scored")


def grouped_figures(
    items: Sequence[JudgedItem], resamples: int, seed: int, exact_only: bool = False, tau_c: bool = False
) -> dict[str, Any]:
    """{"all": figures, "by_language": {code: figures}, "by_capability": …, "by_source": …}; rows without a name are in all.

    With records there is "by_length_quartile" too, and with several languages "mean_over_languages".
    ``exact_only`` gives no figure but exact accuracy, as for a judge that always says the same; ``tau_c`` adds Kendall's tau-c.
    """

    def measured(some: Sequence[JudgedItem], with_length: bool) -> dict[str, Any]:
        found = group_figures(some, resamples, seed, exact_only, tau_c)
        return found | {"length_control": length_control(some, resamples, seed) if with_length else None}

    entry: dict[str, Any] = {"all": measured(items, not exact_only)}
    for grouping in GROUPINGS:
        groups: dict[str, list[JudgedItem]] = defaultdict(list)
        for item in items:
            if (name := getattr(item, grouping)) is not None:
                groups[name].append(item)
        if groups or grouping != "length_quartile":
            with_length = not exact_only and grouping != "length_quartile"
            entry[f"by_{grouping}"] = {name: measured(groups[name], with_length) for name in sorted(groups)}
    if len(entry["by_language"]) > 1:
        entry["mean_over_languages"] = mean_over_languages(items, resamples, seed, exact_only, tau_c)
    return entry


def group_figures(
    items: Sequence[JudgedItem], resamples: int, seed: int, exact_only: bool = False, tau_c: bool = False
) -> dict[str, Any]:
    """The figures of one group of rows as they stand in metrics.json, but for the length control."""
    gold, scores = [item.gold for item in items], [item.score for item in items]
    clusters = [item.item_id for item in items]
    found = figures(gold, scores, [*AGREEMENT, *SHARES, *(TAU_C if tau_c else ())], clusters, resamples, seed)
    agreed = Agreement(**{name: found[name] for name in AGREEMENT}).to_json()
    agreed |= {name: found[name].to_json() for name in TAU_C if tau_c}
    if exact_only:
        left_out = Figure(None, None, None, len(items), 0, "this baseline stands beside exact accuracy only").to_json()
        agreed = {
            name: left_out if isinstance(value, dict) and name not in EXACT else value for name, value in agreed.items()
        }
    expected = pearson_figure(gold, [item.expected_score for item in items], clusters, resamples, seed)
    return agreed | {
        "shares": {name: found[name].to_json() for name in SHARES},
        "unscored_rate": unscored_rate(scores, clusters, resamples, seed).to_json(),
        "failures": dict(Counter(item.failure or "unscored" for item in items if item.score is None).most_common()),
        "confusion": confusion(items),
        "differences": differences(items),
        "score_distribution": score_distribution(items),
        "expected_score": expected.to_json(),
    }


def mean_over_languages(
    items: Sequence[JudgedItem], resamples: int, seed: int, exact_only: bool = False, tau_c: bool = False
) -> dict[str, Any]:
    """The mean over languages of each figure, with its interval: {statistic: {mean, low, high, n_defined, n_groups}}."""
    names = EXACT if exact_only else (*AGREEMENT, *(TAU_C if tau_c else ()))
    gold, scores = [item.gold for item in items], [item.score for item in items]
    languages, clusters = [item.language for item in items], [item.item_id for item in items]
    means = group_means(gold, scores, languages, names, clusters, resamples, seed)
    return {name: mean.to_json() for name, mean in means.items()}


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


def score_distribution(items: Sequence[JudgedItem]) -> dict[str, list[int] | None]:
    """How often each score from 1 to 5 was given, and how often gold has it, over scored items."""
    scored = [item for item in items if item.score is not None]
    given, gold = Counter(item.score for item in scored), Counter(item.gold for item in scored)
    integer = not any(value % 1 for value in gold)
    return {
        "gold": [gold[score] for score in range(1, 6)] if integer else None,
        "score": [given[score] for score in range(1, 6)],
    }


def length_control(items: Sequence[JudgedItem], resamples: int, seed: int) -> dict[str, Any] | None:
    """Spearman given the length ratio, and kappa in each quartile of it beside its null; None without records."""
    ratios = [item.length_ratio for item in items if item.length_ratio is not None]
    if not items or len(ratios) < len(items):
        return None
    gold, scores = [item.gold for item in items], [item.score for item in items]
    clusters = [item.item_id for item in items]
    by_quartile = kappa_within_quartiles(gold, scores, ratios, seed=seed, clusters=clusters, resamples=resamples)
    return {
        "partial_spearman": partial_spearman(gold, scores, ratios, clusters, resamples, seed).to_json(),
        "kappa_by_quartile": [quartile.to_json() for quartile in by_quartile],
    }
