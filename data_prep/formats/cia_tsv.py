"""The scored responses of AI4Bharat/CIA's artifacts: a TSV row holds a prompt, two rubrics and a response for each score."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.errors import DataError
from core.progress import warn
from core.records import JudgeRecord
from data_prep.delimited import read_delimited
from data_prep.options import ConvertConfig
from data_prep.rows import RecordMaker

_RUBRIC = ("criteria", *(f"score{n}_description" for n in range(1, 6)))
_COLUMNS = (
    "source",
    "id",
    "capability",
    "system_prompt",
    "input",
    "reference_answer",
    "specific_rubric",
    "general_rubric",
)


def cia_tsv(config: ConvertConfig) -> Iterator[JudgeRecord]:
    """One record for each response that is not empty, id ``{id}__s{score}``; the rubric not judged by is in ``extra``.

    A response cell is empty where CIA could not read its writer's output; these are named in one line.
    """
    maker, empty = RecordMaker(config), []
    for line, row in read_delimited(Path(config.input), "csv"):
        where = f"{config.input} line {line}"
        shared = _shared_fields(row, config.rubric, where)
        for score in range(1, 6):
            row_id = f"{row['id']}__s{score}"
            if not row[f"score_{score}_response"].strip():
                empty.append(row_id)
                continue
            texts = {"response": row[f"score_{score}_response"], "feedback": row[f"score_{score}_feedback"] or None}
            record = maker.make({**shared, **texts, "id": row_id, "score": score}, where)
            if record is not None:
                yield record
    if empty:
        warn(f"{config.input}: {len(empty)} responses are empty and were left out ({', '.join(empty)})")


def _shared_fields(row: dict[str, str], rubric: str, where: str) -> dict[str, Any]:
    wanted = [*_COLUMNS, *(f"score_{n}_{what}" for n in range(1, 6) for what in ("response", "feedback"))]
    missing = [name for name in wanted if name not in row]
    if missing:
        raise DataError(f"{where}: no column {missing[0]}; the file has {', '.join(row)}")
    rubrics = {name: _rubric(row[f"{name}_rubric"], f"{where}: {name}_rubric") for name in ("specific", "general")}
    (other,) = rubrics.keys() - {rubric}
    task = {name: row[name] for name in ("task", "instance_idx") if row.get(name)}
    return {
        "item_id": row["id"],
        "instruction": row["input"],
        "reference_answer": row["reference_answer"] or None,
        "system_prompt": row["system_prompt"] or None,
        "source": row["source"] or None,
        "capability": row["capability"] or None,
        **rubrics[rubric],
        "extra": {**task, f"{other}_rubric": rubrics[other]},
    }


def _rubric(cell: str, where: str) -> dict[str, str]:
    """A rubric cell: JSON in one of the files, the text of a Python dict in the other."""
    try:
        value = json.loads(cell) if cell.lstrip().startswith('{"') else ast.literal_eval(cell)
    except (SyntaxError, ValueError):
        raise DataError(f"{where} is neither JSON nor a Python dict: {cell[:40]!r}; mend the cell") from None
    if not isinstance(value, dict) or any(not isinstance(value.get(name), str) for name in _RUBRIC):
        raise DataError(f"{where} lacks one of {', '.join(_RUBRIC)}; mend the cell")
    return {name: value[name] for name in _RUBRIC}
