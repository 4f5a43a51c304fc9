"""The sample that people are shown: its rows, who reviews them, and the fingerprint that ties a filled sheet to it."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from core.errors import DataError
from core.joins import join
from core.jsonl import dumps, write_json
from core.records import JudgeRecord, Row, Text, read_rows, write_rows
from data_prep.review_sheets.options import Kind

FIELDS = ("instruction", "response", "reference_answer")
SAMPLE_FILE, ROWS_FILE = "sample.json", "sample.jsonl"


class SampleRow(Row):
    """One row of a sheet. Its ``id`` (hi_001) says nothing of the record, whose own id may tell the score.

    ``language`` is the sheet's; ``source`` holds the texts in the language translated from, by field.
    """

    language: Text
    record: JudgeRecord
    source: dict[str, str]


class Sample(BaseModel):
    """What sample.json holds: everything about the sample but its rows."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: Kind
    sample: str
    seed: int
    reviewers: dict[str, list[str]]
    instructions: str
    rows: dict[str, int]
    strata: dict[str, dict[str, int]]


class DrawnSample(NamedTuple):
    """A sample with its rows, in the order of the sheets."""

    about: Sample
    rows: list[SampleRow]


def sample_rows(
    records: Sequence[JudgeRecord], code: str, kind: Kind, sources: Sequence[JudgeRecord]
) -> list[SampleRow]:
    """The rows of one language's sheets. Raises DataError for a translation whose source is not known."""
    if kind == "translation":
        texts = _sources(records, code, sources)
    elif kind == "translate":
        texts = [_texts(record, ("instruction", "response")) for record in records]
    else:
        texts = [{} for _ in records]
    return [
        SampleRow(id=f"{code}_{number:03d}", language=code, record=record, source=source)
        for number, (record, source) in enumerate(zip(records, texts, strict=True), start=1)
    ]


def fingerprint(kind: Kind, rows: Iterable[SampleRow]) -> str:
    """The name of a sample: equal rows under an equal question have an equal one. Words, so that no spreadsheet computes it."""
    content = "\n".join([kind, *(dumps(row.model_dump()) for row in rows)])
    return f"sample_{hashlib.sha256(content.encode()).hexdigest()[:16]}"


def save(sample: DrawnSample, folder: Path) -> None:
    """Write sample.json and sample.jsonl."""
    write_rows(sample.rows, folder / ROWS_FILE)
    write_json(sample.about.model_dump(), folder / SAMPLE_FILE)


def load(folder: Path) -> DrawnSample:
    """Read what `save` wrote. Raises DataError where it is not there or was edited."""
    path = folder / SAMPLE_FILE
    try:
        about = Sample.model_validate_json(path.read_bytes())
    except OSError:
        raise DataError(f"sample {folder} holds no {SAMPLE_FILE}; name a folder that --action draw made") from None
    except ValidationError as error:
        raise DataError(f"{path} is broken ({error.errors()[0]['msg']}); draw the sample again") from None
    rows = read_rows(folder / ROWS_FILE, SampleRow)
    if fingerprint(about.kind, rows) != about.sample:
        raise DataError(f"{folder / ROWS_FILE} was edited since it was drawn; draw the sample again into a new folder")
    return DrawnSample(about, rows)


def _sources(records: Sequence[JudgeRecord], code: str, sources: Sequence[JudgeRecord]) -> list[dict[str, str]]:
    """The source texts of translations: of the records of the same ids, or else from ``extra``."""
    if not sources:
        return [_from_extra(record) for record in records]
    known = {source.id for source in sources}
    pairs = join(
        records,
        sources,
        lambda row: row.id if row.id in known else source_id(row.id, code),
        lambda row: row.id,
        (f"the {code} records", "source"),
        partial=True,
    )
    for record, source in pairs:
        if source.language == record.language:
            raise DataError(f"source: row {source.id} is in {code} too; pass the records that were translated from")
    return [_texts(source, _translated_fields(record)) for record, source in pairs]


def source_id(record_id: str, code: str) -> str:
    """The id of the record that one in language ``code`` was translated from, where translations are marked with it."""
    return record_id.removesuffix(f"__{code}")


def _from_extra(record: JudgeRecord) -> dict[str, str]:
    texts = {field: record.extra.get(f"{field}_en") for field in _translated_fields(record)}
    found = {field: text for field, text in texts.items() if isinstance(text, str) and text.strip()}
    if "instruction" not in found:
        raise DataError(f"row {record.id} carries no English source in extra.instruction_en; pass --source RECORDS")
    return found


def _translated_fields(record: JudgeRecord) -> list[str]:
    """The fields that are in the record's language and hold a text."""
    fields = FIELDS if record.reference_language == record.language else FIELDS[:2]
    return [field for field in fields if (getattr(record, field) or "").strip()]


def _texts(record: JudgeRecord, fields: Iterable[str]) -> dict[str, str]:
    texts = {field: getattr(record, field) or "" for field in fields}
    return {field: text for field, text in texts.items() if text.strip()}
