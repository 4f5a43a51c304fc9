"""Validation records in two halves: on one the search chooses, on the other its choice is measured."""

import random
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from core.errors import DataError
from core.records import JudgeRecord

LEAST = 2  # items of a language in a half; fewer leave nothing to resample


class Halves(NamedTuple):
    """The records of each half, in their own order."""

    search: list[JudgeRecord]
    held_out: list[JudgeRecord]


def split(records: Sequence[JudgeRecord], languages: Sequence[str], seed: int) -> Halves:
    """Deal the items out at random, those of the same languages one by one to each half in turn.

    Items that share an NFC-equal instruction count as one, so that none is on both sides. Raises DataError where a
    language has too few items or only one gold score in a half.
    """
    groups = _groups(records)
    spoken: dict[str, set[str]] = defaultdict(set)
    for record, group in zip(records, groups, strict=True):
        spoken[group].add(record.language)
    strata: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for group in sorted(spoken):
        strata[tuple(sorted(spoken[group]))].append(group)
    rng = random.Random(seed)
    dealt: list[str] = []
    for _, stratum in sorted(strata.items()):
        rng.shuffle(stratum)
        dealt += stratum  # an odd one out shifts the turn, so that the halves stay of one size
    first = set(dealt[::2])
    halves = Halves([], [])
    for record, group in zip(records, groups, strict=True):
        halves[group not in first].append(record)
    for name, half in halves._asdict().items():
        for language in languages:
            _check(name.replace("_", "-"), language, [record for record in half if record.language == language])
    return halves


def _check(half: str, language: str, records: Sequence[JudgeRecord]) -> None:
    items = len({record.item_id for record in records})
    if items < LEAST:
        raise DataError(
            f"{language} has {items} items in the {half} half, fewer than {LEAST}; add records of other items (those that "
            "share an instruction stay together)"
        )
    gold = {record.gold for record in records}
    if len(gold) == 1:
        raise DataError(
            f"every record of {language} in the {half} half has gold {gold.pop():g}, so that kappa says nothing; add records "
            "of other scores, or split with another seed"
        )


def _groups(records: Sequence[JudgeRecord]) -> list[str]:
    """For each record the name of its group: items linked by shared instructions."""
    parent: dict[str, str] = {}

    def root(key: str) -> str:
        while parent.setdefault(key, key) != key:
            key = parent[key]
        return key

    names = [f"item {record.item_id}" for record in records]
    for name, record in zip(names, records, strict=True):
        parent[root(f"text {unicodedata.normalize('NFC', record.instruction)}")] = root(name)
    return [root(name) for name in names]
