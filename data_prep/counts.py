"""Counts of converted rows, and the checks that need all of them."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from core.errors import DataError
from core.records import JudgeRecord, SummaryRecord, check_unique
from data_prep.options import SourceConfig
from data_prep.rows import AnyRow


class Counts:
    """What was converted, and the checks that need all rows."""

    def __init__(self) -> None:
        self.by_language: Counter[str] = Counter()
        self.by_score: Counter[str] = Counter()
        self._ids: list[str] = []
        self._items: set[str] = set()
        self._documents: dict[tuple[str, str], int] = {}

    def check(self, rows: Iterator[AnyRow], config: SourceConfig) -> Iterator[AnyRow]:
        """Yield the rows, counting. Raises DataError where there are none, or ids occur twice."""
        for row in rows:
            self._ids.append(row.id)
            self._count(row, config)
            yield row
        if not self._ids:
            wanted = f" in {', '.join(config.languages())}" if config.language else ""
            raise DataError(f"{config.input} holds no rows{wanted}; check the input and --language")
        check_unique(self._ids, config.input)

    def as_dict(self) -> dict[str, Any]:
        """Counts for the manifest."""
        return {
            "rows": len(self._ids),
            "items": len(self._items),
            "by_language": dict(sorted(self.by_language.items())),
            "by_score": dict(sorted(self.by_score.items())),
        }

    def __str__(self) -> str:
        languages = ", ".join(f"{code} {count}" for code, count in sorted(self.by_language.items()))
        scores = ", ".join(f"{score}: {count}" for score, count in sorted(self.by_score.items()))
        return f"{languages}; {len(self._items)} items" + (f"; scores {scores}" if scores else "")

    def _count(self, row: AnyRow, config: SourceConfig) -> None:
        if isinstance(row, JudgeRecord):
            self.by_language[row.language] += 1
            self._items.add(row.item_id)
            self.by_score["none" if row.score is None else str(row.score)] += 1
        elif isinstance(row, SummaryRecord):
            self.by_language[row.language] += 1
            self._items.add(row.document_id)
            key = (row.language, row.document_id)
            if self._documents.setdefault(key, hash(row.document)) != hash(row.document):
                raise DataError(
                    f"{config.input}: document_id {row.document_id} ({row.language}) stands for two documents; "
                    "map it to columns that tell documents apart"
                )
        else:
            self.by_language.update(row.texts().keys())
            self._items.add(row.document_id or row.id)
