"""Feedback-Collection, Feedback-Bench (prometheus-eval) and Intel (ai4bharat): rows of ``orig_*`` columns.

In Intel ``orig_instruction`` and ``orig_response`` are translated despite their names; rubric, reference and feedback
are English.
"""

from collections.abc import Iterator
from typing import Any

from core.errors import DataError
from core.records import JudgeRecord
from data_prep.options import ConvertConfig
from data_prep.rows import RecordMaker
from data_prep.tables import read_table
from data_prep.values import text_ids, whole_score

_REQUIRED = ("instruction", "response", "criteria", *(f"score{n}_description" for n in range(1, 6)))
_OPTIONAL = ("reference_answer", "feedback", "score")
# Prompts and outputs that were built from the other columns.
_DERIVED = ("instruction", "input", "output", "messages")


def feedback_collection(config: ConvertConfig) -> Iterator[JudgeRecord]:
    """One record a row; other columns are kept in ``extra``, but for the prompts built from these."""
    maker = RecordMaker(config)
    for where, row in read_table(config):
        record = maker.make(judged_row(row, where), where)
        if record is not None:
            yield record


def judged_row(row: dict[str, Any], where: str) -> dict[str, Any]:
    """The fields of a row of ``orig_*`` columns. Raises DataError naming the first column it lacks."""
    for name in _REQUIRED:
        if row.get(f"orig_{name}") is None:
            raise DataError(f"{where}: no column orig_{name}; the row has {', '.join(row)}")
    fields = {name: row[f"orig_{name}"] for name in (*_REQUIRED, *_OPTIONAL) if row.get(f"orig_{name}") is not None}
    used = {f"orig_{name}" for name in (*_REQUIRED, *_OPTIONAL)}
    others = {name: value for name, value in row.items() if name not in used and name not in _DERIVED}
    if "score" in fields:
        fields["score"] = whole_score(fields["score"], where)
    return {**text_ids(others), **fields}
