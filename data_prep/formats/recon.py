"""Recon (ai4bharat/recon): ``orig_*`` columns where the rows have ``orig_instruction``, else the prompt in ``messages``."""

from collections.abc import Iterator
from typing import Any

from core.errors import DataError
from core.records import JudgeRecord
from data_prep.formats.feedback_collection import judged_row
from data_prep.judge_prompt import parse_judge_prompt
from data_prep.options import ConvertConfig
from data_prep.rows import RecordMaker
from data_prep.tables import read_table
from data_prep.values import text_ids, whole_score

_USED = ("messages", "orig_score", "orig_feedback")


def recon(config: ConvertConfig) -> Iterator[JudgeRecord]:
    """One record a row; the gold score and feedback are ``orig_score`` and ``orig_feedback``."""
    maker = RecordMaker(config)
    for where, row in read_table(config):
        fields = judged_row(row, where) if "orig_instruction" in row else _from_messages(row, where)
        record = maker.make(fields, where)
        if record is not None:
            yield record


def _from_messages(row: dict[str, Any], where: str) -> dict[str, Any]:
    for name in _USED[:2]:
        if row.get(name) is None:
            raise DataError(f"{where}: no column {name}; the row has {', '.join(row)}")
    turns = row["messages"] if isinstance(row["messages"], list) else []
    prompts = [turn.get("content") for turn in turns if isinstance(turn, dict) and turn.get("role") == "user"]
    if len(prompts) != 1 or not isinstance(prompts[0], str):
        raise DataError(f"{where}: messages holds {len(prompts)} user turns; one, the judge prompt, is expected")
    others = {name: value for name, value in row.items() if name not in _USED}
    verdict = {"score": whole_score(row["orig_score"], where), "feedback": row.get("orig_feedback")}
    return {**text_ids(others), **parse_judge_prompt(prompts[0], where), **verdict}
