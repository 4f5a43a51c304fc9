"""predictions.jsonl while it grows: rows appended as they come, by one process or several, then put in input order.

The main process appends to predictions.jsonl itself, process n to predictions.n.jsonl beside it. A run that was killed
leaves these files, and the next one goes on from all of them.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from core.jsonl import Appender, read_jsonl
from core.records import Prediction, parse_row, write_rows

FILE = "predictions.jsonl"


class PredictionFiles:
    """The prediction files of a run folder, as one of its processes sees them."""

    def __init__(self, folder: str | Path, process: int = 0) -> None:
        self._folder = Path(folder)
        self._own = self._folder / (FILE if process == 0 else f"predictions.{process}.jsonl")

    def read(self) -> dict[str, Prediction]:
        """All rows written so far, by id."""
        return {
            row["id"]: parse_row(row, Prediction, f"{path} line {number}")
            for path in self._paths()
            for number, row in read_jsonl(path)
        }

    @contextmanager
    def appender(self) -> Iterator[Appender]:
        """Appends to this process's own file, which goes again where nothing was written."""
        with Appender(self._own) as out:
            try:
                yield out
            finally:
                if not self._own.stat().st_size:
                    self._own.unlink()

    def finish(self, ids: Sequence[str]) -> list[Prediction]:
        """Put all rows into predictions.jsonl in the order of ``ids`` and remove the other files."""
        rows = self.read()
        predictions = [rows[one] for one in ids]
        write_rows(predictions, self._folder / FILE)
        for path in self._paths():
            if path.name != FILE:
                path.unlink()
        return predictions

    def _paths(self) -> list[Path]:
        return sorted(self._folder.glob("predictions*.jsonl"))
