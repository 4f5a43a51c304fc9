"""Ids for rows that come without: an item is named after its English side, so that languages and subsets agree.

Row order would not do: translated sets lack the rows whose translation failed, each language its own.
"""

import hashlib
from collections import Counter

from core.joins import nfc


class ItemNames:
    """Names the items and rows of one data set.

    Rows with the same rubric criteria and reference answer, or with the same instruction, are one item. Its name is the
    hash of criteria and reference as they stand in its first row: these stay English where instruction and response are
    translated. Without a reference the name depends on the instruction, and languages do not share it.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._rows: Counter[tuple[str, str]] = Counter()

    def item_id(self, instruction: str, criteria: str, reference: str | None) -> str:
        """The id of the item a row belongs to; texts are compared in NFC, whatever their white space."""
        by_rubric = _hash("rubric", criteria, reference or instruction)
        by_instruction = _hash("instruction", instruction)
        name = self._names.get(by_instruction) or self._names.get(by_rubric) or by_rubric
        self._names.setdefault(by_instruction, name)
        self._names.setdefault(by_rubric, name)
        return name

    def document_id(self, document: str) -> str:
        """The id of a document, named after its text."""
        return _hash("document", document)

    def row_id(self, item_id: str, kind: str) -> str:
        """An id for the next row of an item in a language, or on a dimension: item__kind__1, item__kind__2, …"""
        self._rows[item_id, kind] += 1
        return f"{item_id}__{kind}__{self._rows[item_id, kind]}"


def _hash(*texts: str) -> str:
    joined = "\x1f".join(" ".join(nfc(text).split()) for text in texts)
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()[:16]
