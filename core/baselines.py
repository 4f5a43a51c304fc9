"""Cheap judges that stand beside every real one: length, overlap with the reference, and the most frequent score.

Each learns on four folds and judges the fifth, and its verdicts then count as those of one fixed judge.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sacrebleu import sentence_chrf

from core.bootstrap import Floats
from core.errors import DataError

FOLDS = 5


class ScoredResponse(Protocol):
    """What a baseline reads of a record (`core.records.JudgeRecord` has it): the uncut texts and the gold score."""

    @property
    def item_id(self) -> str: ...
    @property
    def language(self) -> str: ...
    @property
    def response(self) -> str: ...
    @property
    def reference_answer(self) -> str | None: ...
    @property
    def reference_language(self) -> str | None: ...
    @property
    def gold(self) -> float | None: ...


@dataclass(frozen=True)
class Baseline:
    """Verdicts 1 to 5 of a cheap judge on those records that it can judge; ``rows`` are their positions."""

    rows: list[int]
    verdicts: list[int]


def length_ratio(response: str, reference: str | None) -> float:
    """Characters of the response over characters of the reference; characters of the response where there is none."""
    return len(response) / len(reference) if reference else float(len(response))


def gold_share_cuts(train_values: Sequence[float] | Floats, train_gold: Sequence[float] | Floats) -> Floats:
    """The 4 cuts that give the training values the verdicts 1 to 5 in the shares their gold has; above a cut is higher.

    A gold mean counts as the nearest score, a half as the higher. No value passes the cut to a score that no training gold
    reaches.
    """
    gold = np.asarray(train_gold, float)
    shares = np.array([(gold < score + 0.5).mean() for score in range(1, 5)])
    cuts = np.quantile(np.asarray(train_values, float), shares)
    return np.where(shares == 0, -np.inf, np.where(shares == 1, np.inf, cuts))


def out_of_fold(
    values: Sequence[float], gold: Sequence[float], groups: Sequence[str], folds: int = FOLDS, seed: int = 0
) -> list[int]:
    """Verdicts 1 to 5 from values, cut at the gold shares of the other folds. Rows of a group share a fold.

    Raises DataError where there are fewer than two groups.
    """
    all_values, all_gold = np.asarray(values, float), np.asarray(gold, float)
    verdicts = np.zeros(len(all_values), int)
    for test in _folds(groups, folds, seed):
        cuts = gold_share_cuts(all_values[~test], all_gold[~test])
        verdicts[test] = 1 + np.searchsorted(cuts, all_values[test])
    return verdicts.tolist()


def length_baseline(records: Sequence[ScoredResponse], seed: int = 0) -> Baseline | None:
    """The verdicts that length alone gives the records with gold; None where these are of fewer than two items.

    One measure serves the whole set: where any of these records lacks a reference, it is the characters of the response.
    """
    rows = [row for row, record in enumerate(records) if record.gold is not None]
    by_ratio = all(records[row].reference_answer for row in rows)
    values = [length_ratio(records[row].response, records[row].reference_answer if by_ratio else None) for row in rows]
    return _cut(records, rows, values, seed)


def overlap_baseline(records: Sequence[ScoredResponse], seed: int = 0) -> Baseline | None:
    """The verdicts that chrF (Popović 2015) of response and reference gives the records where they share a language.

    None where these are of fewer than two items.
    """
    pairs = {
        row: (record.response, record.reference_answer)
        for row, record in enumerate(records)
        if record.gold is not None and record.reference_answer and record.reference_language == record.language
    }
    values = [sentence_chrf(response, [reference]).score for response, reference in pairs.values()]
    return _cut(records, list(pairs), values, seed)


def majority_baseline(records: Sequence[ScoredResponse], seed: int = 0) -> Baseline | None:
    """The most frequent gold score of the other folds (the lowest of equals) for each record with gold.

    It stands beside exact accuracy only: it has no kappa or correlation to speak of. None as for `length_baseline`.
    """
    rows = [row for row, record in enumerate(records) if record.gold is not None]
    groups = [records[row].item_id for row in rows]
    if len(set(groups)) < 2:
        return None
    gold = np.floor(np.array([records[row].gold for row in rows], float) + 0.5).astype(int)
    verdicts = np.zeros(len(rows), int)
    for test in _folds(groups, FOLDS, seed):
        verdicts[test] = np.bincount(gold[~test]).argmax()
    return Baseline(rows, verdicts.tolist())


def _cut(records: Sequence[ScoredResponse], rows: list[int], values: list[float], seed: int) -> Baseline | None:
    groups = [records[row].item_id for row in rows]
    if len(set(groups)) < 2:
        return None
    gold = [float(gold) for row in rows if (gold := records[row].gold) is not None]
    return Baseline(rows, out_of_fold(values, gold, groups, seed=seed))


def _folds(groups: Sequence[str], folds: int, seed: int) -> Iterator[NDArray[np.bool_]]:
    """The test rows of each fold as a mask. The folds do not depend on the order of the rows."""
    names = sorted(set(groups))
    if len(names) < 2:
        raise DataError(f"baseline: {len(names)} item ids cannot be split into folds; give at least two")
    shuffled = np.random.default_rng(seed).permutation(len(names))
    fold_of = {names[name]: place % folds for place, name in enumerate(shuffled)}
    row_folds = np.array([fold_of[group] for group in groups])
    return (row_folds == fold for fold in range(min(folds, len(names))))
