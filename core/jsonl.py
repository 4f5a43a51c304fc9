"""JSON Lines in and out: UTF-8, written whole and atomically or appended with a synced end, read past a cut last line."""

import json
import math
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from core.errors import DataError
from core.progress import warn


def read_jsonl(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number from 1, row). A last line without its newline that does not parse was cut by a crash: warned of, left out.

    Raises DataError for a missing file, and with the line number for any other line that is not a JSON object.
    """
    try:
        handle = open(path, "rb")  # noqa: SIM115 (closed below; opened here to name the fault)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); name an existing JSON Lines file") from None
    with handle:
        for number, line in enumerate(handle, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
            except (ValueError, RecursionError) as error:
                if not line.endswith(b"\n"):
                    warn(f"{path} line {number} is cut off and was left out")
                    return
                raise DataError(f"{path} line {number} {_fault(error)}") from None
            if not isinstance(row, dict):
                raise DataError(f"{path} line {number} holds {type(row).__name__}; every line is one JSON object")
            yield number, row


def _fault(error: ValueError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return "is nested too deep; mend or delete the line"
    if isinstance(error, UnicodeDecodeError):
        return f"is not UTF-8 (byte {error.start}); convert the file, e.g. with iconv -t UTF-8"
    return f"is not JSON ({getattr(error, 'msg', error)}); mend or delete the line"


def write_jsonl(rows: Iterable[Mapping[str, Any]], path: str | Path) -> int:
    """Write all rows atomically: the file appears whole or not at all. Returns their number."""
    count = 0
    with atomic(path) as handle:
        for row in rows:
            try:
                handle.write(dumps(row) + "\n")
            except ValueError as error:  # NaN, infinity, or half of a surrogate pair
                raise DataError(f"row {row.get('id')} cannot be written ({error}); mend its values") from None
            count += 1
    return count


def write_json(value: Any, path: str | Path) -> None:
    """Write one JSON document atomically. Raises ValueError on NaN, which no JSON reader takes."""
    with atomic(path) as handle:
        handle.write(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


class Appender:
    """Append rows; what is written is on disk, newlines and all, when the call returns. A cut last line is dropped first."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        drop_cut_line(self.path)
        self._handle = open(self.path, "a", encoding="utf-8", newline="\n")  # noqa: SIM115 (lives as long as the appender)

    def write(self, row: Mapping[str, Any]) -> None:
        self.write_all([row])

    def write_all(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Rows that come together: waiting for the disk, some milliseconds, is once for all of them."""
        self._handle.writelines(dumps(row) + "\n" for row in rows)
        self._handle.flush()
        os.fsync(self._handle.fileno())

    def close(self) -> None:
        self._handle.close()

    def __enter__(self) -> "Appender":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def drop_cut_line(path: Path) -> None:
    """Cut a file back to its last newline, so that the next row does not join a half-written one."""
    if not path.exists():
        return
    with open(path, "rb+") as handle:
        data = handle.read()
        if data and not data.endswith(b"\n"):
            handle.truncate(data.rfind(b"\n") + 1)


def dumps(row: Mapping[str, Any]) -> str:
    """One row as JSON text. Raises ValueError on NaN or infinity."""
    return json.dumps(row, ensure_ascii=False, allow_nan=False)


def finite(value: float) -> float | None:
    """The value, or None where it is NaN or infinite."""
    return value if math.isfinite(value) else None


@contextmanager
def atomic(path: str | Path) -> Iterator[IO[str]]:
    """A text file that takes its name only when the block ends without an error."""
    path = Path(path)
    make_folder(path.parent)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(descriptor, "w", encoding="utf-8", newline="\n") as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def make_folder(folder: Path) -> None:
    """Make a folder and its parents. Raises DataError where that cannot be, as below a file or without the right to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"output folder {folder} cannot be made ({error.strerror}); name another place") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
