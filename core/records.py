"""The rows that pass between the parts: judge records, predictions, parallel sentences, summaries and their scores."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from core.errors import DataError
from core.jsonl import read_jsonl, write_jsonl

Score = Annotated[int, Field(ge=1, le=5)]
# Far beyond any scale, so that sums of squares stay finite.
HumanScore = Annotated[float, Field(ge=-1e9, le=1e9)]
Text = Annotated[str, Field(min_length=1)]


class Row(BaseModel):
    """Base of every row: identified by ``id``; a value of another type is refused, never converted."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, protected_namespaces=())

    id: Text


class JudgeRecord(Row):
    """One response to judge: f(instruction in X, rubric and reference in English, response in X) → feedback and score.

    ``item_id`` names the prompt: it is the same over languages and responses. Columns that are not fields are kept in ``extra``.
    """

    item_id: Text
    language: Text
    instruction: Text
    response: str
    criteria: Text
    score1_description: str
    score2_description: str
    score3_description: str
    score4_description: str
    score5_description: str
    reference_answer: str | None = None
    reference_language: str | None = None
    feedback: str | None = None
    score: Score | None = None
    human_scores: list[Annotated[float, Field(ge=1, le=5)]] | None = None
    system: str | None = None
    source: str | None = None
    capability: str | None = None
    system_prompt: str | None = None
    extra: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _keep_unknown_columns(cls, row: Any) -> Any:
        if not isinstance(row, dict):
            return row
        unknown = {name: value for name, value in row.items() if name not in cls.model_fields}
        if not unknown:
            return row
        known = {name: value for name, value in row.items() if name in cls.model_fields}
        return {**known, "extra": {**(row.get("extra") or {}), **unknown}}

    @property
    def gold(self) -> float | None:
        """The score to agree with: the gold score, else the mean of the human scores, else None."""
        if self.score is not None:
            return float(self.score)
        return sum(self.human_scores) / len(self.human_scores) if self.human_scores else None


class Prediction(Row):
    """One verdict of one judge. ``score`` is None where the output was unscored, and ``failure`` then says why."""

    item_id: Text
    language: Text
    system: str | None
    judge: Text
    template: Text
    gold: float | None
    score: Score | None
    expected_score: Annotated[float, Field(ge=1, le=5)] | None
    score_mass: float | None
    failure: str | None
    feedback: str
    raw: str
    prompt_tokens: int
    shortened: bool

    @model_validator(mode="after")
    def _scored_or_why_not(self) -> Self:
        if (self.score is None) != (self.failure is not None):
            raise ValueError("a prediction has a score, or a failure that says why it has none")
        return self


class SummaryRecord(Row):
    """One summary on one dimension, with the scores of the people who read it (none, one or many)."""

    language: Text
    dimension: Text
    system: str | None = None
    document_id: Text
    document: Text
    reference: str | None = None
    summary: str
    human_scores: list[HumanScore] = Field(default_factory=list)
    human_score: HumanScore | None = None

    @model_validator(mode="after")
    def _mean_of_raters(self) -> Self:
        if self.human_score is None and self.human_scores:
            self.human_score = sum(self.human_scores) / len(self.human_scores)
        return self


class ScoreRow(Row):
    """One score of a summary under one setting. ``draw`` numbers a null draw; None is the real direction."""

    document_id: Text
    language: Text
    dimension: Text
    metric: Text
    model: Text
    pivot: str | None
    method: str | None
    scale: str | None
    layers: list[int] | None
    strength: float
    draw: int | None
    score: float | None


R = TypeVar("R", bound=Row)


def read_records(path: str | Path) -> list[JudgeRecord]:
    """Read records.jsonl. Raises DataError naming line, field and value; ids must be unique."""
    return read_rows(path, JudgeRecord)


def write_records(records: Iterable[JudgeRecord], path: str | Path) -> int:
    """Write records.jsonl atomically; returns the number of rows."""
    return write_rows(records, path)


def read_rows(path: str | Path, row_class: type[R], unique: bool = True) -> list[R]:
    """Read rows of one kind. Raises DataError naming line, field and value, or the ids that occur twice."""
    rows = [parse_row(row, row_class, f"{path} line {number}") for number, row in read_jsonl(path)]
    if not rows:
        raise DataError(f"{path} holds no rows; check the command that wrote it")
    if unique:
        check_unique([row.id for row in rows], path)
    return rows


def write_rows(rows: Iterable[Row], path: str | Path) -> int:
    """Write rows of one kind atomically; returns their number."""
    return write_jsonl((row.model_dump() for row in rows), path)


def parse_row(row: dict[str, Any], row_class: type[R], where: str) -> R:
    """One checked row. Raises DataError naming the place, the field and what it holds."""
    try:
        return row_class.model_validate(row)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in fault["loc"]) or "row"
        given = "" if fault["type"] == "missing" else f", got {_short(fault['input'])}"
        others = f" (and {error.error_count() - 1} more faults)" if error.error_count() > 1 else ""
        raise DataError(f"{where}: {field}: {fault['msg']}{given}{others}; mend the row or its column map") from None


def check_unique(ids: Sequence[str], where: str | Path) -> None:
    """Raises DataError naming the ids that occur more than once."""
    seen: set[str] = set()
    twice = list(dict.fromkeys(i for i in ids if i in seen or seen.add(i)))  # type: ignore[func-returns-value]
    if twice:
        some = ", ".join(twice[:5]) + (", …" if len(twice) > 5 else "")
        raise DataError(f"{where}: {len(twice)} ids occur more than once ({some}); give every row its own id")


def read_parallel(path: str | Path, languages: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Read parallel.jsonl: rows of id, document_id and one column a language code, which must hold text for ``languages``."""
    rows = []
    for number, row in read_jsonl(path):
        for column in ("id", *languages):
            if not isinstance(row.get(column), str) or not row[column].strip():
                codes = ", ".join(name for name in row if name not in ("id", "document_id"))
                raise DataError(f"{path} line {number}: no text in column {column!r}; the row has {codes}")
        rows.append(row)
    if not rows:
        raise DataError(f"{path} holds no rows; check the command that wrote it")
    check_unique([row["id"] for row in rows], path)
    return rows


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
