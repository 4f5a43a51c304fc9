"""Texts that no tokenizer takes, found before a model is loaded."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from core.errors import DataError

LISTED = 5


def check_characters(rows: Iterable[Mapping[str, Any]], where: str | Path) -> None:
    """Raises DataError naming the rows that hold half of a character: a lone surrogate, which JSON can name (\\ud800)."""
    broken = [ascii(row["id"]) for row in rows if not _is_text(row)]
    if broken:
        some = ", ".join(broken[:LISTED]) + (", …" if len(broken) > LISTED else "")
        raise DataError(f"{where}: {len(broken)} rows hold half of a character ({some}); mend their texts")


def _is_text(row: Mapping[str, Any]) -> bool:
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
