"""Train and test do not meet: records of different sets may share neither an item id nor an instruction."""

import unicodedata
from collections.abc import Mapping, Sequence
from itertools import combinations

from core.errors import DataError
from core.progress import warn
from core.records import JudgeRecord


def check_disjoint(sets: Mapping[str, Sequence[JudgeRecord]], allow: bool = False) -> None:
    """Compare every two sets, each under the name that a message calls it by (its file, say).

    Instructions are the same where they are equal after NFC. Raises DataError naming the shared items, or warns of them
    where ``allow`` is True.
    """
    keys = {name: (_item_ids(records), _instructions(records)) for name, records in sets.items()}
    for (one, one_keys), (other, other_keys) in combinations(keys.items(), 2):
        for what, mine, theirs in zip(("item ids", "instructions"), one_keys, other_keys, strict=True):
            shared = [mine[key] for key in mine if key in theirs]
            if shared:
                some = ", ".join(shared[:3]) + (", …" if len(shared) > 3 else "")
                fault = f"{one} and {other} share {len(shared)} {what} ({some})"
                if not allow:
                    raise DataError(f"{fault}; split the rows by item_id, or pass --allow_overlap true")
                warn(f"{fault}; allowed by allow_overlap")


def _item_ids(records: Sequence[JudgeRecord]) -> dict[str, str]:
    return {record.item_id: record.item_id for record in records}


def _instructions(records: Sequence[JudgeRecord]) -> dict[str, str]:
    """The instructions, each with the item that has it; a message names the item, for the text may be long."""
    return {unicodedata.normalize("NFC", record.instruction): record.item_id for record in records}
