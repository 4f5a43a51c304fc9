"""Sheets as CSV: no cell is a formula, every text comes back as it was, whatever a spreadsheet makes of the file."""

import csv
from pathlib import Path

import pytest

from core.errors import DataError
from data_prep.review_sheets.cells import guard, read_sheet, unguard, write_sheet

TEXTS = [
    "=1+1", "+1", "-1", "@SUM(A1)", "＝1", "  =1", "\t=1", "\ufeff=1", "\u00a0-1", "\u2003=1", "\rx", "\nx", "'=1", "''=1", "'", "'s", "", " ", "plain",
    '=HYPERLINK("http://x","y")', "- a list\n- in lines", 'a "quote", a comma; a semicolon\tand a tab', "one\r\ntwo\rthree",
    "שלום, עולם", "\u200fעם סימן", "Ẹ káàárọ̀", "'-' is a dash", "x=1",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_a_guarded_text_is_no_formula_and_comes_back(text: str) -> None:
    assert not guard(text).lstrip(" ").startswith(("=", "+", "-", "@", "＝", "\t", "\r", "\n"))
    assert unguard(guard(text)) == text


def test_what_people_type_is_read_as_they_typed_it() -> None:
    assert [unguard(text) for text in ("- a point", "=x", "'tis", "it's")] == ["- a point", "=x", "'tis", "it's"]


def test_a_file_comes_back_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    write_sheet([{"row": f"r{n}", "text": text} for n, text in enumerate(TEXTS)], ["row", "text"], path)
    assert path.read_bytes().startswith(b"\xef\xbb\xbfrow,text\r\n")
    lines = read_sheet(path, ["row", "text"])
    assert [line.cells["text"] for line in lines] == TEXTS
    with open(path, encoding="utf-8-sig", newline="") as handle:
        cells = [line[1] for line in csv.reader(handle)]
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)


def rewritten(tmp_path: Path, delimiter: str, encoding: str, end: str, first: str = "") -> Path:
    """A sheet as another program would save it: columns in another order, one more, empty lines and cells."""
    path = tmp_path / "saved.csv"
    lines = [
        ["mine", "text", " row "],
        ["", "", ""],
        ["x", 'שתיים; שתיים, "שתיים"\tסוף', "r2"],
        ["", "one\nline", "r1", "", ""],
        [" ", " "],
    ]
    with open(path, "w", encoding=encoding, newline="") as handle:
        handle.write(first)
        csv.writer(handle, delimiter=delimiter, lineterminator=end).writerows(lines)
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_separators_encodings_and_line_ends_of_spreadsheets(
    tmp_path: Path, delimiter: str, encoding: str, end: str
) -> None:
    lines = read_sheet(rewritten(tmp_path, delimiter, encoding, end), ["row", "text"])
    assert [(line.number, line.cells["row"], line.cells["text"]) for line in lines] == [
        (3, "r2", 'שתיים; שתיים, "שתיים"\tסוף'),
        (4, "r1", "one\nline"),
    ]


def test_excels_separator_line_is_passed_over(tmp_path: Path) -> None:
    lines = read_sheet(rewritten(tmp_path, ";", "utf-8-sig", "\r\n", first="sep=;\r\n"), ["row", "text"])
    assert [(line.number, line.cells["row"]) for line in lines] == [(3, "r2"), (4, "r1")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PK\x03\x04...", "is a spreadsheet file; save the sheet as CSV UTF-8"),
        ("row,text\nr1,é\n".encode("latin-1"), "is not UTF-8"),
        (b"row,words\nr1,x\n", "has no column text"),
        (b"row,text,text\nr1,x,y\n", "has column text twice"),
        (b'row,text\nr1,"x\n', "row 2 has a stray or unclosed quote"),
        (b"row,text\nr1,x,y\n", "row 2 has 3 cells, the header 2"),
        (b"", "has no column row"),
    ],
)
def test_a_file_that_is_no_sheet_is_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "sheet.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_sheet(path, ["row", "text"])
    with pytest.raises(DataError, match="cannot be read"):
        read_sheet(tmp_path / "absent.csv", ["row", "text"])
