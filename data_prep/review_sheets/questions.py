"""What a reviewer is shown and asked about a row, for every kind of sheet: the CSV and the page are both made from this."""

from typing import Literal, NamedTuple

from data_prep.review_sheets.options import Kind
from data_prep.review_sheets.sample import FIELDS, SampleRow

NAMES = {"instruction": "Instruction", "response": "Response", "reference_answer": "Reference answer"}


class Shown(NamedTuple):
    """A text to read. ``language`` is a code, for its direction and font."""

    column: str
    title: str
    text: str
    language: str


class Asked(NamedTuple):
    """A cell to fill. ``choices`` are the values of a scale with what each stands for, none for a free text."""

    column: str
    field: str
    answer: Literal["valid", "score", "text"]
    title: str
    language: str
    choices: tuple[tuple[str, str], ...] = ()


class Block(NamedTuple):
    """Texts to read, and the questions about them."""

    title: str
    shown: tuple[Shown, ...]
    asked: tuple[Asked, ...]


def blocks(kind: Kind, row: SampleRow) -> list[Block]:
    """The blocks of a row, in the order in which they are read."""
    if kind == "score":
        return [_score(row)]
    make = _translation if kind == "translation" else _translate
    return [make(row, field) for field in FIELDS if field in row.source]


def columns(kind: Kind, rows: list[SampleRow]) -> list[str]:
    """The columns of a sheet, without those that say whose row it is: for each field shown, then asked."""
    names: dict[str, list[str]] = {}
    for row in rows:
        for block in blocks(kind, row):
            group = names.setdefault(block.title, [])
            found = [*(text.column for text in block.shown), *(question.column for question in block.asked)]
            group += [name for name in found if name not in group]
    return [*(name for group in names.values() for name in group), "comment"]


def _translation(row: SampleRow, field: str) -> Block:
    name = NAMES[field]
    return Block(
        name,
        (
            Shown(f"source_{field}", "Source", row.source[field], source_language(row)),
            Shown(field, "Translation", getattr(row.record, field), row.language),
        ),
        (
            Asked(
                f"{field}_valid",
                field,
                "valid",
                f"Is the translation of the {name.lower()} valid?",
                row.language,
                (("valid", "Valid"), ("invalid", "Not valid")),
            ),
            Asked(f"corrected_{field}", field, "text", f"Correct the {name.lower()}", row.language),
        ),
    )


def _translate(row: SampleRow, field: str) -> Block:
    name = NAMES[field]
    return Block(
        name,
        (Shown(f"source_{field}", "Source", row.source[field], source_language(row)),),
        (Asked(f"translated_{field}", field, "text", f"Translation of the {name.lower()}", row.language),),
    )


def _score(row: SampleRow) -> Block:
    record = row.record
    scale = tuple((str(score), getattr(record, f"score{score}_description")) for score in range(1, 6))
    rubric = "\n".join([record.criteria, *(f"{score}: {text}" for score, text in scale)])
    shown = [
        Shown("system_prompt", "System prompt", record.system_prompt or "", "en"),
        Shown("instruction", "Instruction", record.instruction, row.language),
        Shown("response", "Response", record.response, row.language),
        Shown("reference_answer", "Reference answer", record.reference_answer or "", record.reference_language or "en"),
        Shown("rubric", "Rubric", rubric, "en"),
    ]
    kept = tuple(text for text in shown if text.text or text.column == "response")
    return Block("Response", kept, (Asked("score", "score", "score", record.criteria, "en", scale),))


def source_language(row: SampleRow) -> str:
    """The language translated from: the record's own where it is still to be translated."""
    return row.record.language if row.record.language != row.language else "en"
