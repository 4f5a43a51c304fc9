"""Sets items aside: all rows of an item, in every language, go to one side."""

import random
from collections.abc import Iterator, Sequence

from core.errors import ConfigError
from core.joins import nfc
from core.records import JudgeRecord, SummaryRecord
from data_prep.rows import AnyRow


def hold_out(rows: Sequence[AnyRow], items: int, seed: int) -> tuple[list[AnyRow], list[AnyRow]]:
    """(rows kept, rows of ``items`` items drawn by ``seed``), each in the order given.

    Items are item_ids for records (those with the same instruction count as one), documents for summaries, and documents,
    or lines where there are none, for parallel rows. Raises ConfigError where no item would be kept.
    """
    groups = _groups(rows)
    names = sorted(set(groups))
    if items >= len(names):
        raise ConfigError(f"holdout_items is {items}, but the data hold {len(names)} items; hold out fewer")
    held = set(random.Random(seed).sample(names, items))
    kept = [row for row, group in zip(rows, groups, strict=True) if group not in held]
    return kept, [row for row, group in zip(rows, groups, strict=True) if group in held]


def _groups(rows: Sequence[AnyRow]) -> list[str]:
    """For each row the name of its group; two rows that share a key are in one group."""
    parents: dict[str, str] = {}

    def root(key: str) -> str:
        while parents.setdefault(key, key) != key:
            parents[key] = key = parents[parents[key]]
        return key

    firsts = []
    for row in rows:
        first, *others = _keys(row)
        firsts.append(first)
        for other in others:
            low, high = sorted((root(first), root(other)))
            parents[high] = low  # the smallest key names the group, so that row order does not matter
    return [root(first) for first in firsts]


def _keys(row: AnyRow) -> Iterator[str]:
    if isinstance(row, JudgeRecord):
        yield f"item {row.item_id}"
        yield f"text {nfc(row.instruction)}"
    elif isinstance(row, SummaryRecord):
        yield f"document {row.document_id}"
    else:
        yield f"document {row.document_id}" if row.document_id else f"line {row.id}"
