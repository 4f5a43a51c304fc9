"""From filled sheets to judgements: one row for each question, reviewer and row of the sample."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from core.errors import DataError
from core.joins import nfc
from core.records import Row, Score, Text
from data_prep.review_sheets.cells import SheetLine, read_sheet
from data_prep.review_sheets.options import Kind
from data_prep.review_sheets.questions import Asked, Block, blocks
from data_prep.review_sheets.sample import DrawnSample, SampleRow

_VALIDITY = dict.fromkeys(("valid", "yes", "y", "1"), True) | dict.fromkeys(
    ("invalid", "not valid", "no", "n", "0"), False
)
# Spreadsheets write 4 as 4.0 or 4,0 where they take the column for decimals.
_SCORE = re.compile(r"([1-5])(?:[.,]0+)?")
SPREADSHEET_LIMIT = 32_767
WHOSE = ("row", "reviewer", "sample")


class Filled(NamedTuple):
    """A line that a reviewer filled, and where it stands."""

    where: str
    cells: dict[str, str]


class Judgement(Row):
    """What one reviewer said about one text. ``valid``, ``score`` and ``written`` are None where that was not asked or left empty.

    ``row`` names the row of the sheet; ``shown`` is the text that was judged (kind translate: the source); ``written`` is a
    corrected text that differs from it, or the translation.
    """

    row: Text
    record_id: Text
    item_id: Text
    language: Text
    kind: Kind
    field: Text
    reviewer: Text
    shown: str
    valid: bool | None
    score: Score | None
    written: str | None
    comment: str | None

    @property
    def answered(self) -> bool:
        """Whether the question that counts was answered."""
        return {"translation": self.valid, "score": self.score, "translate": self.written}[self.kind] is not None


def read_judgements(
    sample: DrawnSample, sheets: Sequence[Path], reviewers: Mapping[str, Sequence[str]]
) -> list[Judgement]:
    """Judgements by language, reviewer and row, in the order of the sample; rows that a sheet lacks are unanswered.

    ``reviewers`` are those known for each language. Raises DataError, naming file, row and cell, for a sheet of another
    sample, an unknown or doubled row, a reviewer who is not known, and an answer that is not on its scale.
    """
    rows = {row.id: row for row in sample.rows}
    lines: dict[tuple[str, str, str], Filled] = {}
    for path in sheets:
        for line in read_sheet(path, WHOSE):
            if line.cells["row"].startswith("#"):  # the instructions
                continue
            where = f"{path} row {line.number}"
            row, reviewer = _whose(line, where, sample.about.sample, rows, reviewers)
            key = (row.language, reviewer, row.id)
            if key in lines:
                raise DataError(
                    f"{where}: {row.id} of {reviewer} stands in {lines[key].where} already; "
                    "keep one of them, or correct the reviewer"
                )
            lines[key] = Filled(where, line.cells)
    if not lines:
        raise DataError(f"no filled row in {', '.join(map(str, sheets))}; name the sheets that came back")
    came_back = {(code, reviewer) for code, reviewer, _ in lines}
    return [
        judgement
        for code, names in reviewers.items()
        for reviewer in names
        if (code, reviewer) in came_back
        for row in sample.rows
        if row.language == code
        for judgement in _judgements(sample.about.kind, row, reviewer, lines.get((code, reviewer, row.id)))
    ]


def _judgements(kind: Kind, row: SampleRow, reviewer: str, filled: Filled | None) -> Iterator[Judgement]:
    answers: dict[str, dict[str, Any]] = {}
    for block in blocks(kind, row):
        if filled:
            _check_shown(block, row, filled)
        for asked in block.asked:
            answer = _answer(asked, row, filled) if filled else None
            answers.setdefault(asked.field, {})[asked.answer] = answer
    for field, given in answers.items():
        shown = _shown(kind, row, field)
        written = given.get("text")
        yield Judgement(
            id=f"{row.language}/{row.record.id}/{field}/{reviewer}",
            row=row.id,
            record_id=row.record.id,
            item_id=row.record.item_id,
            language=row.language,
            kind=kind,
            field=field,
            reviewer=reviewer,
            shown=shown,
            valid=given.get("valid"),
            score=given.get("score"),
            written=None
            if kind == "translation" and written and _as_written(written) == _as_written(shown)
            else written,
            comment=(filled.cells.get("comment", "").strip() or None) if filled else None,
        )


def _shown(kind: Kind, row: SampleRow, field: str) -> str:
    if kind == "score":
        return row.record.response
    return row.source[field] if kind == "translate" else getattr(row.record, field)


def _answer(asked: Asked, row: SampleRow, filled: Filled) -> str | bool | int | None:
    """The answer in a cell, None where it is empty."""
    place = f"{filled.where} ({row.id}), column {asked.column}"
    if asked.column not in filled.cells:
        raise DataError(f"{place}: the sheet lacks this column; keep the header of the sheet that was sent out")
    cell = filled.cells[asked.column]
    if not cell.strip():
        return None
    if asked.answer == "text":
        if len(cell) == SPREADSHEET_LIMIT:
            raise DataError(f"{place}: the text was cut at {len(cell)} characters, a spreadsheet's limit; use the page")
        return cell
    plain = _plain(cell)
    if asked.answer == "valid":
        if plain not in _VALIDITY:
            raise DataError(f"{place}: {cell!r} is no answer; write valid or invalid, or leave it empty")
        return _VALIDITY[plain]
    match = _SCORE.fullmatch(plain)
    if not match:
        raise DataError(f"{place}: {cell!r} is not on the scale; write 1, 2, 3, 4 or 5, or leave it empty")
    return int(match[1])


def _check_shown(block: Block, row: SampleRow, filled: Filled) -> None:
    """Raises DataError where a text to read is another one: corrected in its place, or rows that were sorted column by column.

    A column may be missing or empty; white space, punctuation, case and a cut at the spreadsheet's limit are its own doing.
    """
    for shown in block.shown:
        cell, sent = (_letters(text) for text in (filled.cells.get(shown.column, ""), shown.text))
        if cell and cell != sent and not (len(cell) > SPREADSHEET_LIMIT // 2 and sent.startswith(cell)):
            raise DataError(
                f"{filled.where} ({row.id}), column {shown.column}: the text is not the one that was sent out; put it back, "
                "and write a better text into the column for it"
            )


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, nfc(text).casefold()))


def _plain(cell: str) -> str:
    """An answer without case, marks that cannot be seen, and with ASCII digits in place of those of any script."""
    seen = _visible(cell).replace("٫", ".")
    digits = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in seen)
    return " ".join(digits.casefold().split())


def _whose(
    line: SheetLine, where: str, name: str, rows: Mapping[str, SampleRow], reviewers: Mapping[str, Sequence[str]]
) -> tuple[SampleRow, str]:
    """The row of the sample ``name`` that a line is about, and who filled it."""
    row_id, reviewer, drawn = (_visible(line.cells[column]).strip() for column in WHOSE)
    if drawn != name:
        raise DataError(
            f"{where}: the sheet is of another sample ({drawn or 'none named'}), not of {name}; "
            "read it with the folder that it was drawn in"
        )
    if row_id not in rows:
        raise DataError(f"{where}: {row_id!r} is no row of the sample; they are called like {next(iter(rows))}")
    code = rows[row_id].language
    known = {nfc(one).casefold(): one for one in reviewers[code]}
    if nfc(reviewer).casefold() not in known:
        raise DataError(
            f"{where}: reviewer {reviewer!r} is none of {', '.join(reviewers[code])}, who review {code}; "
            "correct the sheet, or name who came later with --reviewers"
        )
    return rows[row_id], known[nfc(reviewer).casefold()]


def _as_written(text: str) -> str:
    """A text without what a browser or a spreadsheet changes in it unasked: its line ends and its Unicode form."""
    return nfc(text.replace("\r\n", "\n").replace("\r", "\n"))


def _visible(cell: str) -> str:
    """Without direction marks and the like, which right-to-left spreadsheets leave around what is typed."""
    return "".join(c for c in cell if unicodedata.category(c) != "Cf")
