"""Systems ranked by one judge's mean score, with tests of each two on the same prompts."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from statistics import fmean
from typing import Any

from core.corrected_means import corrected_mean
from core.means import mean_figure, paired_means
from core.multiple_tests import holm, rank_clusters
from eval.leaderboard_rows import SystemRow
from eval.ranks import LEVEL

# A prompt in a language: what two systems both answered.
Cell = tuple[str, str]


def board(rows: Sequence[SystemRow], resamples: int, seed: int) -> dict[str, Any]:
    """{"systems": best first, "comparisons": each two}; p-values are corrected by Holm over the comparisons here.

    A system above another that is not significantly better shares its cluster (`core.multiple_tests.rank_clusters`). One
    without a mean stands last and has no rank.
    """
    by_system: dict[str, list[SystemRow]] = defaultdict(list)
    for row in rows:
        by_system[row.system].append(row)
    entries = [_means(name, group, resamples, seed) for name, group in by_system.items()]
    entries.sort(key=lambda entry: (-(entry["mean"]["value"] or 0), entry["system"]))
    compared = _comparisons([entry["system"] for entry in entries], by_system, resamples, seed)
    better = {
        (row["a"], row["b"])
        for row in compared
        if row["p_holm"] is not None and row["p_holm"] <= LEVEL and row["difference"]["value"] > 0
    }
    values = {entry["system"]: entry["mean"]["value"] for entry in entries if entry["mean"]["value"] is not None}
    clusters = dict(zip(values, rank_clusters(list(values), lambda a, b: (a, b) in better), strict=True))
    for entry in entries:
        value = values.get(entry["system"])
        rank = None if value is None else 1 + sum(other > value for other in values.values())
        entry |= {"rank": rank, "cluster": clusters.get(entry["system"])}
    return {"systems": entries, "comparisons": compared}


def _means(name: str, rows: Sequence[SystemRow], resamples: int, seed: int) -> dict[str, Any]:
    """A system's mean by the judge, by people, and by the judge corrected by people.

    ``bounds``: the mean over all its rows if the unscored ones were all 1, or all 5.
    """
    scores, people = [row.score for row in rows], [row.people for row in rows]
    clusters = [row.item_id for row in rows]
    human = mean_figure(people, clusters, resamples, seed)
    return {
        "system": name,
        "mean": mean_figure(scores, clusters, resamples, seed).to_json(),
        "bounds": [fmean(score or 1 for score in scores), fmean(score or 5 for score in scores)],
        "n_items": len(set(clusters)),
        "n_items_people": len({row.item_id for row in rows if row.people is not None}),
        "people": human.to_json() if human.n else None,
        "corrected": corrected_mean(scores, people, clusters, resamples, seed).to_json() if human.n else None,
    }


def _comparisons(
    names: Sequence[str], by_system: dict[str, list[SystemRow]], resamples: int, seed: int
) -> list[dict[str, Any]]:
    """Each system against each below it, on the prompts where both have a score; several responses are averaged."""
    cells = {name: _cell_means(by_system[name]) for name in names}
    rows: list[dict[str, Any]] = []
    for a, b in combinations(names, 2):
        common = [cell for cell in cells[a] if cell in cells[b]]
        scores_a, scores_b = [cells[a][cell] for cell in common], [cells[b][cell] for cell in common]
        paired = paired_means(scores_a, scores_b, [item for item, _ in common], resamples, seed)
        of = {"n_a": len(cells[a]), "n_b": len(cells[b]), "n": len(common)}
        test = {"p": paired.p_value, "p_smallest": paired.smallest_p}
        rows.append({"a": a, "b": b, **of, "difference": paired.difference.to_json(), **test})
    corrected = holm([row["p"] for row in rows])
    return [row | {"p_holm": p} for row, p in zip(rows, corrected, strict=True)]


def _cell_means(rows: Sequence[SystemRow]) -> dict[Cell, float | None]:
    """The mean score of a system's responses to each prompt in each language; None where none of them has a score."""
    scores: dict[Cell, list[int]] = defaultdict(list)
    for row in rows:
        scores[row.item_id, row.language] += [] if row.score is None else [row.score]
    return {cell: fmean(found) if found else None for cell, found in scores.items()}
