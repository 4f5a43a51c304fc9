"""The rows that systems are ranked by: a judge's score of each response, beside what people and gold gave it."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from core.errors import DataError
from core.joins import nfc
from core.records import JudgeRecord, Prediction
from eval.judged import Judged


class SystemRow(NamedTuple):
    """One response of a system. ``people`` is the mean of its human scores and ``gold`` its gold score; each may be None."""

    id: str
    item_id: str
    language: str
    system: str
    score: int | None
    people: float | None
    gold: float | None


def system_rows(paired: Mapping[str, Sequence[Judged]]) -> dict[str, list[SystemRow]]:
    """The rows of each judge. Raises DataError for a row without a system."""
    return {judge: [_row(judge, row, record) for row, record in rows] for judge, rows in paired.items()}


def _row(judge: str, row: Prediction, record: JudgeRecord | None) -> SystemRow:
    system = row.system or (record.system if record is not None else None)
    if system is None:
        mend = "name it in the records" if record is not None else "pass --records with records that name it"
        raise DataError(f"judge {judge}: {row.id} names no system that wrote the response; {mend}")
    people = fmean(record.human_scores) if record is not None and record.human_scores else None
    gold = row.gold if row.gold is not None or record is None else record.gold
    return SystemRow(nfc(row.id), nfc(row.item_id), row.language, system, row.score, people, gold)
