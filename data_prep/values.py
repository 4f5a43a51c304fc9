"""Cells of foreign tables read as what a field holds: a whole score, a list of scores, an id."""

import ast
import math
from typing import Any

from core.errors import DataError


def whole_score(value: Any, where: str) -> int | None:
    """A score as an integer: 4, "4", 4.0 and "4.0" are 4, an empty cell is None. Raises DataError for any other value."""
    number = score_number(value, where)
    if number is None:
        return None
    if not number.is_integer():
        raise DataError(f"{where}: score {value!r} is not a whole number; judge scores are integers from 1 to 5")
    return int(number)


def score_number(value: Any, where: str) -> float | None:
    """A score as a number; an empty cell is None. Raises DataError for what is not a finite number."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise DataError(f"{where}: score {value!r} is not a number; mend the cell or its column map")
    return number


def score_list(value: Any, where: str) -> list[float]:
    """The raters' scores in a cell: a list, or its text with bare or quoted numbers ("[3, 4]", "['3', '4']").

    An empty cell is no scores. Raises DataError for anything else.
    """
    cell = value
    if isinstance(cell, str):
        try:
            cell = ast.literal_eval(cell) if cell.strip() else []
        except (SyntaxError, ValueError):
            raise DataError(f"{where}: {value!r} is not a list of scores; write it like [3, 4]") from None
    if cell is None:
        return []
    cells = cell if isinstance(cell, list | tuple) else [cell]
    return [number for item in cells if (number := score_number(item, where)) is not None]


def id_text(value: Any) -> Any:
    """An id as text where it is a whole number; anything else is left for the row's own check."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def text_ids(row: dict[str, Any]) -> dict[str, Any]:
    """The row with id and item_id as text, without those that are empty."""
    ids = {name: id_text(row[name]) for name in ("id", "item_id") if row.get(name) not in (None, "")}
    return {name: value for name, value in row.items() if name not in ("id", "item_id")} | ids
