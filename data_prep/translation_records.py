"""What data_prep.translate reads and writes: records and their unique texts, one row at a time; translated and rejected records."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from core.errors import DataError
from core.jsonl import atomic, dumps, read_jsonl
from core.records import JudgeRecord, parse_row
from data_prep.hub_rows import hub_row
from data_prep.translation import Kind, Translated, text_key
from data_prep.translation_table import FIELDS, Rejected, TranslationTable

SOURCE = "en"
RECORDS, REJECTED, HUB = "records.jsonl", "rejected.jsonl", "hub.jsonl"


class SourceText(NamedTuple):
    """A text to translate; ``key`` is that of all texts equal to it."""

    key: bytes
    kind: Kind
    text: str


@dataclass
class Survey:
    """What a file of records holds: rows, and the unique texts of each kind."""

    rows: int = 0
    texts: Counter[Kind] = field(default_factory=Counter)


@dataclass
class Written:
    """Rows written, and rows rejected by the kinds of fault that their last answers had."""

    rows: int = 0
    rejected: int = 0
    by_fault: Counter[str] = field(default_factory=Counter)


def survey(path: Path, fields: tuple[str, ...]) -> Survey:
    """Check every record before anything is paid for, and count. Raises DataError for a wrong row, id or language."""
    found = Survey()
    ids: set[bytes] = set()
    for record in read_english(path):
        name = hashlib.blake2b(record.id.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if name in ids:
            raise DataError(f"{path}: id {record.id} occurs more than once; give every row its own id")
        ids.add(name)
    found.rows = len(ids)
    if not found.rows:
        raise DataError(f"{path} holds no rows; check the command that wrote it")
    found.texts.update(text.kind for text in unique_texts(path, fields))
    return found


def read_english(path: Path) -> Iterator[JudgeRecord]:
    """The records, one at a time. Raises DataError for one that is not in English."""
    for number, row in read_jsonl(path):
        record = parse_row(row, JudgeRecord, f"{path} line {number}")
        _check_writable(row, f"{path} line {number}")
        if record.language != SOURCE:
            raise DataError(
                f"{path} line {number}: record {record.id} is in {record.language}; translation is from English (language en)"
            )
        yield record


def _check_writable(row: dict[str, Any], where: str) -> None:
    """Raises DataError for NaN and for half of a surrogate pair, which JSON readers take and no file of ours can hold."""
    try:
        dumps(row).encode()
    except ValueError as error:
        raise DataError(f"{where} cannot be written again ({error}); mend its values") from None


def unique_texts(path: Path, fields: tuple[str, ...]) -> Iterator[SourceText]:
    """Each text of these fields once, in the order of the file."""
    seen: set[bytes] = set()
    for _, row in read_jsonl(path):
        for name in fields:
            text = row.get(name)
            if text and (key := text_key(text)) not in seen:
                seen.add(key)
                yield SourceText(key, FIELDS[name], text)


def write_translated(
    path: Path, output: Path, language: str, fields: tuple[str, ...], table: TranslationTable, mark_ids: bool
) -> Written:
    """Write each record in the language, as a record and as a row for the Hub, or the reasons why not."""
    written = Written()
    with (
        atomic(output / RECORDS) as records,
        atomic(output / HUB) as hub,
        atomic(output / REJECTED) as rejects,
    ):
        for record in read_english(path):
            result = table.translate(record, language, fields)
            if isinstance(result, Rejected):
                rejects.write(dumps(rejected_row(result, language)) + "\n")
                written.rejected += 1
                written.by_fault.update(sorted({f.kind for one in result.fields.values() for f in one.rejected[-1]}))
                continue
            if mark_ids:
                result.id = f"{result.id}__{language}"
            records.write(dumps(result.model_dump()) + "\n")
            hub.write(dumps(hub_row(result)) + "\n")
            written.rows += 1
    return written


def rejected_row(rejected: Rejected, language: str) -> dict[str, Any]:
    """A row of rejected.jsonl: which texts of a record could not be translated, why each answer was rejected, and the last."""

    def reasons(name: str, one: Translated) -> list[str]:
        return [f"{name}, attempt {number}: {reason}" for number, reason in enumerate(one.reasons, start=1)]

    return {
        "id": rejected.record.id,
        "item_id": rejected.record.item_id,
        "language": language,
        "fields": list(rejected.fields),
        "reasons": [reason for name, one in rejected.fields.items() for reason in reasons(name, one)],
        "sources": {name: getattr(rejected.record, name) for name in rejected.fields},
        "texts": {name: one.last for name, one in rejected.fields.items()},
    }
