"""CSV and TSV: no row is lost to a stray quote (case 29), none to a separator that is no line end."""

from pathlib import Path

import pytest

from core.errors import DataError
from data_prep.delimited import Quoting, read_delimited, read_lines

# Four data rows; the hypothesis of row 1 starts with a quote, that of row 3 holds one.
CASE_29 = 'id\thyp\n1\t"a quote starts\n2\tplain\n3\tan inch is 1" long\n4\tlast\n'


def table(path: Path, text: str, quoting: Quoting | None = None) -> list[dict[str, str]]:
    path.write_bytes(text.encode())
    return [row for _, row in read_delimited(path, quoting)]


def test_case_29_quotes_are_text_in_tsv(tmp_path: Path) -> None:
    rows = table(tmp_path / "a.tsv", CASE_29)
    assert [row["id"] for row in rows] == ["1", "2", "3", "4"]
    assert rows[0]["hyp"] == '"a quote starts'
    assert rows[2]["hyp"] == 'an inch is 1" long'


def test_case_29_read_as_csv_is_an_error_never_fewer_rows(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 2 has a stray or unclosed quote"):
        table(tmp_path / "a.tsv", CASE_29, "csv")


def test_case_29_an_unclosed_quote_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 3 has a stray or unclosed quote .*--quoting none"):
        table(tmp_path / "a.csv", 'id,hyp\n1,fine\n2,"never closed\n3,more\n')


def test_quoted_fields_hold_commas_line_breaks_and_quotes(tmp_path: Path) -> None:
    rows = table(tmp_path / "a.csv", 'id,hyp\r\n1,"two\nlines, and ""quotes"""\r\n2,x\r\n')
    assert rows == [{"id": "1", "hyp": 'two\nlines, and "quotes"'}, {"id": "2", "hyp": "x"}]


def test_line_numbers_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,hyp\n1,"two\nlines"\n2,x\n')
    assert [line for line, _ in read_delimited(path)] == [2, 4]


@pytest.mark.parametrize(("name", "text"), [("a.tsv", "id\thyp\n1\ta\tb\n"), ("a.csv", "id,hyp\n1\n")])
def test_a_row_with_other_fields_than_the_header_is_an_error(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(DataError, match=r"line 2 has \d fields, the header 2"):
        table(tmp_path / name, text)


def test_a_column_named_twice_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="names a column twice"):
        table(tmp_path / "a.csv", "id,id\n1,2\n")


def test_a_field_longer_than_the_csv_limit_is_read(tmp_path: Path) -> None:
    assert len(table(tmp_path / "a.csv", f"id,hyp\n1,{'x' * 200_000}\n")[0]["hyp"]) == 200_000


def test_lines_end_at_newlines_only(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffone\u2028still one\r\ntwo\x0bstill two\x85\r\nthree".encode())
    assert read_lines(path) == ["one\u2028still one", "two\x0bstill two\x85", "three"]


def test_text_that_is_not_utf8_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(b"id\thyp\n1\tcaf\xe9\n")
    with pytest.raises(DataError, match=r"not UTF-8 \(byte 12\)"):
        list(read_delimited(path))
