"""Judges ranked on the items that all of them judged, in clusters that paired tests can tell apart."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from core.agreement import figures
from core.multiple_tests import holm, rank_clusters
from core.paired import permutation_test
from eval.judged import JudgedItem, with_each_language

STATISTICS = ("kappa", "pearson")
LEVEL = 0.05


class Ranks(NamedTuple):
    """Rows of metrics.json, and a note where some items are not common to all judges."""

    rows: list[dict[str, Any]]
    notes: list[str]


def rank(judges: Mapping[str, Sequence[JudgedItem]], resamples: int, seed: int) -> Ranks:
    """The order of two or more judges by kappa (where gold is an integer) and by Pearson: over all, and in each language.

    Clusters are those of `core.multiple_tests.rank_clusters`, by permutation tests of every pair, Holm-corrected over the
    pairs of one ranking at level 0.05. A judge without a value has no rank.
    """
    if len(judges) < 2:
        return Ranks([], [])
    by_id = {name: {item.id: item for item in items} for name, items in judges.items()}
    first = next(iter(judges.values()))
    common = [item for item in first if all(item.id in rows for rows in by_id.values())]
    notes = []
    if not common:
        return Ranks([], ["no ranks: no row is common to all judges"])
    if len(common) < max(map(len, judges.values())):
        notes.append(f"ranks are over the {len(common)} rows that all {len(judges)} judges have")
    rows = []
    for group, items in with_each_language(common).items():
        gold, clusters = [item.gold for item in items], [item.item_id for item in items]
        scores = {name: [rows[item.id].score for item in items] for name, rows in by_id.items()}
        for statistic in STATISTICS:
            if statistic != "kappa" or not any(value % 1 for value in gold):
                ranked = _ranked(gold, scores, clusters, statistic, resamples, seed)
                rows.append({"group": group, "statistic": statistic, "n": len(items), "judges": ranked})
    return Ranks(rows, notes)


def _ranked(
    gold: Sequence[float],
    scores: Mapping[str, Sequence[int | None]],
    clusters: Sequence[str],
    statistic: str,
    resamples: int,
    seed: int,
) -> list[dict[str, Any]]:
    values = {name: figures(gold, own, [statistic], resamples=0)[statistic].value for name, own in scores.items()}
    defined = {name: value for name, value in values.items() if value is not None}
    order = sorted(defined, key=lambda name: (-defined[name], name))
    pairs = list(combinations(order, 2))
    p_values = holm(
        [permutation_test(gold, scores[a], scores[b], clusters, statistic, resamples, seed) for a, b in pairs]
    )
    told_apart = {pair for pair, p in zip(pairs, p_values, strict=True) if p is not None and p <= LEVEL}
    found = rank_clusters(order, lambda better, worse: (better, worse) in told_apart)
    ranked = [
        {
            "name": name,
            "value": defined[name],
            "rank": 1 + sum(value > defined[name] for value in defined.values()),
            "cluster": cluster,
        }
        for name, cluster in zip(order, found, strict=True)
    ]
    return ranked + [
        {"name": name, "value": None, "rank": None, "cluster": None} for name in values if name not in defined
    ]
