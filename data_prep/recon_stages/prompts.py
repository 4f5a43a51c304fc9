"""The prompts that a set is made from, with those parts that they bring: these are kept byte for byte."""

import ast
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from core.config import check_known
from core.errors import DataError
from core.joins import nfc
from core.progress import warn
from core.records import check_unique
from data_prep.items import ItemNames
from data_prep.options import ConvertConfig
from data_prep.tables import read_table
from data_prep.values import id_text

SCORES = (1, 2, 3, 4, 5)
RUBRIC = ("criteria", *(f"score{score}_description" for score in SCORES))
_RESPONSES = {f"score_{score}_response": score for score in SCORES}
_FEEDBACK = {f"score_{score}_feedback": score for score in SCORES}
FIELDS = (
    *("id", "instruction", "system_prompt", "source", "capability", "rubric", *RUBRIC, "reference_answer"),
    *_RESPONSES,
    *_FEEDBACK,
)


@dataclass(frozen=True)
class Prompt:
    """An instruction and the parts it brings. ``rubric`` holds those of its six texts that are given, ``responses`` and
    ``feedback`` are by score; columns without a field are in ``extra``.
    """

    id: str
    instruction: str
    system_prompt: str | None = None
    source: str | None = None
    capability: str | None = None
    rubric: Mapping[str, str] = field(default_factory=dict)
    reference_answer: str | None = None
    responses: Mapping[int, str] = field(default_factory=dict)
    feedback: Mapping[int, str] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)


def read_prompts(
    paths: Sequence[Path], columns: Mapping[str, str], quoting: Literal["csv", "none"] | None = None
) -> list[Prompt]:
    """Read tables (JSON Lines, JSON, CSV, TSV, parquet) of one prompt a row; ``columns`` maps a field to its column.

    ``rubric`` is a column that holds the whole rubric as JSON or as the text of a Python dict. Cells of white space alone
    are parts that are missing. Raises DataError for rows without instruction, broken rubrics, and ids that occur twice.
    """
    for name in columns:
        check_known(name, FIELDS, "columns: field ")
    names = ItemNames()
    prompts = [prompt for path in paths for prompt in _read(path, columns, quoting, names)]
    if not prompts:
        raise DataError(f"{', '.join(map(str, paths))}: no prompts; check the input")
    check_unique([prompt.id for prompt in prompts], ", ".join(map(str, paths)))
    repeated = len(prompts) - len({nfc(prompt.instruction) for prompt in prompts})
    if repeated:
        warn(f"{repeated} of {len(prompts)} prompts repeat the instruction of another; each is an item of its own")
    return prompts


def _read(path: Path, columns: Mapping[str, str], quoting: Any, names: ItemNames) -> Iterator[Prompt]:
    table = ConvertConfig(input=str(path), format="columns", output=path, quoting=quoting)
    for where, row in read_table(table):
        for name, column in columns.items():
            if column not in row:
                raise DataError(f"{where}: no column {column!r} (mapped to {name}); the row has {', '.join(row)}")
        yield _prompt(row, columns, names, where)


def _prompt(row: dict[str, Any], columns: Mapping[str, str], names: ItemNames, where: str) -> Prompt:
    source_of = {name: columns.get(name, name) for name in FIELDS}
    cells = {name: id_text(row[column]) for name, column in source_of.items() if column in row}
    given = {name: cell for name, cell in cells.items() if not _is_empty(cell)}
    for name, cell in given.items():
        if name != "rubric" and not isinstance(cell, str):
            raise DataError(f"{where}: {name} holds {type(cell).__name__}, not text; mend the cell or its column map")
    if "instruction" not in given:
        raise DataError(f"{where}: no instruction; map it, e.g. --columns '{{instruction: input}}'")
    rubric = _rubric(given["rubric"], where) if "rubric" in given else {}
    rubric |= {name: given[name] for name in RUBRIC if name in given}
    used = {*source_of.values(), "extra"}
    others = {name: value for name, value in row.items() if name not in used and not _is_empty(value)}
    return Prompt(
        id=given.get("id") or names.item_id(given["instruction"], "", None),
        instruction=given["instruction"],
        system_prompt=given.get("system_prompt"),
        source=given.get("source"),
        capability=given.get("capability"),
        rubric=rubric,
        reference_answer=given.get("reference_answer"),
        responses={score: given[name] for name, score in _RESPONSES.items() if name in given},
        feedback={score: given[name] for name, score in _FEEDBACK.items() if name in given},
        extra={**(row.get("extra") or {}), **others},
    )


def _is_empty(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())


def _rubric(cell: Any, where: str) -> dict[str, str]:
    value = cell
    if isinstance(cell, str):
        try:
            value = json.loads(cell)
        except ValueError:
            try:
                value = ast.literal_eval(cell)
            except (SyntaxError, ValueError):
                raise DataError(f"{where}: rubric is neither JSON nor a Python dict: {cell[:40]!r}; mend it") from None
    if not isinstance(value, dict) or any(not isinstance(value.get(name, ""), str) for name in RUBRIC):
        raise DataError(f"{where}: rubric is not a mapping of {RUBRIC[0]}, {RUBRIC[1]}, … to texts; mend the cell")
    return {name: value[name] for name in RUBRIC if not _is_empty(value.get(name))}


def kept_parts(prompts: Sequence[Prompt]) -> dict[str, int]:
    """How many prompts bring each part whole; responses and feedback are counted over all scores."""
    counts: Counter[str] = Counter(dict.fromkeys(("capability", "rubric", "reference", "response", "feedback"), 0))
    for prompt in prompts:
        counts["capability"] += prompt.capability is not None
        counts["rubric"] += len(prompt.rubric) == len(RUBRIC)
        counts["reference"] += prompt.reference_answer is not None
        counts["response"] += len(prompt.responses)
        counts["feedback"] += len(prompt.feedback)
    return dict(counts)
