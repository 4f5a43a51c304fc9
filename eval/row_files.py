"""A file of rows while it grows: rows appended as they come, by one process or several, then put in input order.

The main process appends to NAME.jsonl itself, process n to NAME.n.jsonl beside it. A run that was killed leaves these files,
and the next one goes on from all of them.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

from core.jsonl import Appender, read_jsonl
from core.records import Row, parse_row, write_rows

R = TypeVar("R", bound=Row)


class RowFiles(Generic[R]):
    """The files of one kind of rows in a run folder, as one of its processes sees them. ``key`` tells rows apart."""

    def __init__(
        self, path: str | Path, row_class: type[R], key: Callable[[R], Hashable] = lambda row: row.id, process: int = 0
    ) -> None:
        self.path, self._row_class, self._key = Path(path), row_class, key
        self._own = self.path if process == 0 else self.path.with_suffix(f".{process}{self.path.suffix}")

    def read(self) -> dict[Hashable, R]:
        """All rows written so far, by key."""
        rows = (
            parse_row(row, self._row_class, f"{path} line {number}")
            for path in self._paths()
            for number, row in read_jsonl(path)
        )
        return {self._key(row): row for row in rows}

    @contextmanager
    def appender(self) -> Iterator[Appender]:
        """Appends to this process's own file, which goes again where nothing was written."""
        with Appender(self._own) as out:
            try:
                yield out
            finally:
                if not self._own.stat().st_size:
                    self._own.unlink()

    def finish(self, keys: Iterable[Hashable]) -> list[R]:
        """Put the rows of these keys into one file, in their order, and remove the other files."""
        rows = self.read()
        ordered = [rows[key] for key in keys]
        write_rows(ordered, self.path)
        for path in self._paths():
            if path != self.path:
                path.unlink()
        return ordered

    def _paths(self) -> list[Path]:
        return sorted(self.path.parent.glob(f"{self.path.stem}*{self.path.suffix}"))
