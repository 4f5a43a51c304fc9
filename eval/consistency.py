"""Whether a judge scores the same item alike in two languages. It needs no gold: the texts mean the same."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from core.agreement import Figure
from core.bootstrap import Clusters, Floats
from eval.judged import JudgedItem

# Columns of absolute differences: 0 to 4 points.
DIFFERENCES = 5


class Consistencies(NamedTuple):
    """{judge: figures} of metrics.json, and notes on rows that could not be matched over languages."""

    by_judge: dict[str, dict[str, Any]]
    notes: list[str]


class _Pair(NamedTuple):
    item_id: str
    languages: str
    first: int | None
    second: int | None


def consistency(judges: Mapping[str, Sequence[JudgedItem]], resamples: int, seed: int) -> Consistencies:
    """Mean absolute difference in points and share of equal scores, over all pairs of languages and in each, "hi-te".

    Rows of one item and system are matched over languages; where a language has several, those with the same gold are. Pairs
    with an unscored side are left out and counted. A judge without a pair is left out.
    """
    by_judge, notes = {}, []
    for name, items in judges.items():
        pairs, unmatched = _pairs(items)
        if unmatched:
            notes.append(f"{name}: {unmatched} rows are several of one item in a language; consistency leaves them out")
        if pairs:
            apart: dict[str, list[_Pair]] = defaultdict(list)
            for pair in pairs:
                apart[pair.languages].append(pair)
            by_pair = {languages: _figures(apart[languages], resamples, seed) for languages in sorted(apart)}
            by_judge[name] = {**_figures(pairs, resamples, seed), "pairs": by_pair}
    return Consistencies(by_judge, notes)


def _pairs(items: Sequence[JudgedItem]) -> tuple[list[_Pair], int]:
    """The pairs of rows of the same text in two languages, and the number of rows that cannot be told apart."""
    pairs, unmatched = [], 0
    for by_language in _same_text(items):
        if len(by_language) > 1:
            several = sum(len(rows) for rows in by_language.values() if len(rows) > 1)
            unmatched += several
            alone = {code: rows[0] for code, rows in sorted(by_language.items()) if len(rows) == 1}
            for (first, a), (second, b) in combinations(alone.items(), 2):
                pairs.append(_Pair(a.item_id, f"{first}-{second}", a.score, b.score))
    return pairs, unmatched


def _same_text(items: Sequence[JudgedItem]) -> Iterator[dict[str, list[JudgedItem]]]:
    """Rows of one item and system by language; apart by gold where a language has several."""
    for by_language in _by_language(items, lambda item: (item.item_id, item.system)):
        if all(len(rows) == 1 for rows in by_language.values()):
            yield by_language
        else:
            same = [item for rows in by_language.values() for item in rows]
            yield from _by_language(same, lambda item: item.gold)


def _by_language(items: Sequence[JudgedItem], key: Any) -> list[dict[str, list[JudgedItem]]]:
    groups: dict[Any, dict[str, list[JudgedItem]]] = defaultdict(lambda: defaultdict(list))
    for item in items:
        groups[key(item)][item.language].append(item)
    return list(groups.values())


def _figures(pairs: Sequence[_Pair], resamples: int, seed: int) -> dict[str, Any]:
    scored = [
        (pair.item_id, abs(pair.first - pair.second))
        for pair in pairs
        if pair.first is not None and pair.second is not None
    ]
    cells = np.array([difference for _, difference in scored], np.int64).reshape(-1, 1)
    drawn_from = Clusters.from_rows(cells, [item_id for item_id, _ in scored], DIFFERENCES)
    drawn = list(drawn_from.resample(resamples, np.random.default_rng(seed)))

    def mean_difference(tables: Floats) -> Floats:
        return np.arange(DIFFERENCES) @ tables / tables.sum(axis=0)

    def equal(tables: Floats) -> Floats:
        return tables[0] / tables.sum(axis=0)

    reason = None if scored else "no pair has a score in both languages"
    return {
        name: Figure.from_draws(
            statistic(drawn_from.observed) if scored else np.array([np.nan]),
            [statistic(tables) for tables in drawn],
            reason,
            len(scored),
            len(pairs) - len(scored),
        ).to_json()
        for name, statistic in (("mean_absolute_difference", mean_difference), ("equal", equal))
    }
