"""CSV and TSV in: quotes that enclose fields or quotes that are text, and in both cases no row lost in silence."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from core.errors import DataError

Quoting = Literal["csv", "none"]


def read_delimited(
    path: Path, quoting: Quoting | None = None, header: Sequence[str] = ()
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield (line number, row) of a table; fields are separated by tabs in .tsv, by commas elsewhere.

    Without ``header`` the first line names the columns.

    ``quoting`` "none" (the default of .tsv): a quote is a character like any other and each line is one row. "csv": quotes
    enclose fields, which may hold line breaks. Raises DataError for a row whose fields are not as many as the header's,
    and for a quote that is never closed or closes in the middle of a field.
    """
    tabs = path.suffix.lower() == ".tsv"
    delimiter = "\t" if tabs else ","
    quoting = quoting or ("none" if tabs else "csv")
    rows = _split(path, delimiter) if quoting == "none" else _parse(path, delimiter)
    if not header:
        _, header = next(rows, (0, []))
    if len(set(header)) < len(header):
        raise DataError(f"{path}: the header names a column twice ({', '.join(header)}); rename one")
    for line, fields in rows:
        if len(fields) != len(header):
            other = "csv" if quoting == "none" else "none"
            raise DataError(
                f"{path} line {line} has {len(fields)} fields, the header {len(header)}; "
                f"mend the line, or pass --quoting {other} if that is how the file was written"
            )
        yield line, dict(zip(header, fields, strict=True))


def read_lines(path: Path) -> list[str]:
    """The lines of a UTF-8 text file, with \\n or \\r\\n at their ends and nowhere else. Raises DataError if unreadable."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); name an existing text file") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 (byte {error.start}); convert it, e.g. with iconv -t UTF-8") from None
    lines = text.split("\n")  # not splitlines: texts hold other line separators of Unicode
    return [line.removesuffix("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]


def _split(path: Path, delimiter: str) -> Iterator[tuple[int, Sequence[str]]]:
    for number, line in enumerate(read_lines(path), start=1):
        if line:
            yield number, line.split(delimiter)


def _parse(path: Path, delimiter: str) -> Iterator[tuple[int, Sequence[str]]]:
    csv.field_size_limit(2**31 - 1)  # the default refuses fields over 128 KiB
    read_lines(path)  # names the fault where the file cannot be read as UTF-8
    with open(path, encoding="utf-8-sig", newline="") as handle:
        reader = csv.reader(handle, delimiter=delimiter, strict=True)
        first = 1
        try:
            for fields in reader:
                if fields:
                    yield first, fields
                first = reader.line_num + 1
        except csv.Error as error:
            raise DataError(
                f"{path}: the row that starts at line {first} has a stray or unclosed quote ({error}); "
                "mend it, or pass --quoting none if quotes are text"
            ) from None
