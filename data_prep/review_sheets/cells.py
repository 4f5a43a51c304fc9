"""CSV that spreadsheets open and save: written so that no cell is run as a formula, read whatever a spreadsheet made of it."""

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from core.errors import DataError
from core.jsonl import atomic

# A cell that starts like this is a formula, or part of one, in some spreadsheet (OWASP, CSV Injection); apostrophes of
# our own and of the text stand before it.
_FORMULA = re.compile(r"'*[ \t\r\n\u00a0\ufeff]*[=+\-@＝＋－＠]|'*[\t\r\n]")
_DELIMITERS = ",;\t"


class SheetLine(NamedTuple):
    """A line of a sheet, ``number`` as spreadsheets count rows: from 1, the header's, whatever line breaks cells hold."""

    number: int
    cells: dict[str, str]


def guard(text: str) -> str:
    """A cell's text with an apostrophe before it where a spreadsheet would run it."""
    return f"'{text}" if _FORMULA.match(text) else text


def unguard(cell: str) -> str:
    """The text that `guard` was given. What people type themselves has no apostrophe to lose."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def write_sheet(rows: Iterable[dict[str, str]], columns: Sequence[str], path: Path) -> None:
    """Write a CSV with guarded cells, CRLF line ends and the byte-order mark by which spreadsheets know UTF-8."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([guard(row.get(name, "")) for name in columns] for row in rows)
    with atomic(path) as handle:
        handle.write("\ufeff" + text.getvalue())


def read_sheet(path: Path, needed: Collection[str]) -> list[SheetLine]:
    """The rows of a sheet that hold something, unguarded. Columns may stand in any order, among others.

    Commas, semicolons or tabs separate cells, whichever shows the ``needed`` columns in the header. Raises DataError for a
    file that is no such table: another format or encoding, a needed column that is missing, a column there twice, a broken
    quote, or a cell outside all columns.
    """
    text = re.sub(r"\Asep=.\r?\n", "", _decoded(path))  # Excel's own first line, which it does not show
    delimiter = max(_DELIMITERS, key=lambda mark: len(set(needed) & set(_header(text, mark))))
    names = _header(text, delimiter)
    missing = [f"no column {name}" for name in needed if name not in names]
    twice = [f"column {name} twice" for name in names if name and names.count(name) > 1]
    if fault := next(iter(missing + twice), None):
        raise DataError(f"{path}: the header has {fault}; keep the header of the sheet that was sent out")
    return [
        SheetLine(number, _cells(path, number, names, fields))
        for number, fields in enumerate(_rows(path, text, delimiter), start=1)
        if number > 1 and any(field.strip() for field in fields)
    ]


def _cells(path: Path, number: int, names: list[str], fields: list[str]) -> dict[str, str]:
    if any(field.strip() for field in fields[len(names) :]):
        raise DataError(f"{path} row {number} has {len(fields)} cells, the header {len(names)}; mend the row")
    filled = fields + [""] * (len(names) - len(fields))
    return {name: unguard(field) for name, field in zip(names, filled, strict=False) if name}


def _header(text: str, delimiter: str) -> list[str]:
    try:
        return [name.strip() for name in next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])]
    except csv.Error:
        return []


def _rows(path: Path, text: str, delimiter: str) -> Iterator[list[str]]:
    csv.field_size_limit(2**31 - 1)  # the default refuses cells over 128 KiB
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    whole = 0
    try:
        for fields in reader:
            whole += 1
            yield fields
    except csv.Error as error:
        raise DataError(
            f"{path} row {whole + 1} has a stray or unclosed quote ({error}); save the sheet again as CSV"
        ) from None


def _decoded(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"sheet {path} cannot be read ({error.strerror}); name a filled CSV file") from None
    if data[:2] in (b"PK", b"\xd0\xcf"):
        raise DataError(f"{path} is a spreadsheet file; save the sheet as CSV UTF-8 and name that")
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8, so letters are lost; save the sheet as CSV UTF-8 instead") from None
