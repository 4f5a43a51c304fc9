"""scores.jsonl of eval.summaries: every summary at every strength, each text scored once, written as it is scored."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from core.jsonl import Appender, read_jsonl
from core.progress import track
from core.records import ScoreRow, SummaryRecord, parse_row
from eval.gptscore import EMPTY, NOT_FINITE, TOO_LONG, GPTScore, Prompted
from eval.steering.directions import Directions
from eval.steering.hooks import Method, Scale

SHORTENED = "shortened"
_IN_WORDS = {
    SHORTENED: "documents were shortened to fit, visibly",
    EMPTY: "summaries are empty: missing, not scored",
    TOO_LONG: "summaries leave no room for their document: not scored",
    NOT_FINITE: "scores are not finite: missing",
}


class Setting(NamedTuple):
    """How the summaries of one language are scored. Without directions: at strength 0 alone."""

    directions: Directions | None
    method: Method | None
    scale: Scale | None
    strengths: list[float]
    allow_other_model: bool


class Scored(NamedTuple):
    """All score rows, and by language how many summaries there are and how many were shortened or lack a score, and why."""

    rows: list[ScoreRow]
    counts: dict[str, dict[str, int]]

    def notes(self) -> list[str]:
        """A line for each thing that befell some summaries of a language."""
        return [
            f"{language}: {count[what]} {words}"
            for language, count in self.counts.items()
            for what, words in _IN_WORDS.items()
            if count.get(what)
        ]


def score_summaries(
    records: Sequence[SummaryRecord], settings: dict[str, Setting], metric: GPTScore, model: str, path: Path
) -> Scored:
    """Score all records, appending to the file at ``path``; rows that it holds are kept and not scored again.

    Summaries that share language, document and text (one on two dimensions) are scored once.
    """
    by_text: dict[tuple[str, str, str], list[SummaryRecord]] = defaultdict(list)
    for record in records:
        by_text[record.language, record.document, record.summary].append(record)
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    with Appender(path) as file:
        rows = [parse_row(row, ScoreRow, f"{path} line {number}") for number, row in read_jsonl(path)]
        there = {(row.id, row.method, row.strength, row.draw) for row in rows}
        for (language, document, summary), members in track(by_text.items(), len(by_text), "score"):
            setting, prompted = settings[language], metric.prompted(document, summary)
            new = [
                (record, strength)
                for strength in setting.strengths
                for record in members
                if (record.id, setting.method, strength, None) not in there
            ]
            scores = _score(metric, prompted, setting, sorted({strength for _, strength in new}))
            for record, strength in new:
                rows.append(_row(record, setting, strength, scores[strength], model))
                file.write(rows[-1].model_dump())
            counts[language]["summaries"] += len(members)
            if isinstance(prompted, str):
                counts[language][prompted] += len(members)
            elif prompted.shortened:
                counts[language][SHORTENED] += len(members)
    for language, count in counts.items():
        missing = sum(row.language == language and row.score is None for row in rows)
        count[NOT_FINITE] = missing - (count[EMPTY] + count[TOO_LONG]) * len(settings[language].strengths)
    return Scored(rows, {language: dict(count) for language, count in counts.items()})


def _score(
    metric: GPTScore, prompted: Prompted | str, setting: Setting, strengths: list[float]
) -> dict[float, float | None]:
    if isinstance(prompted, str) or not strengths:
        return dict.fromkeys(strengths)
    scores = metric.scores(
        prompted,
        strengths,
        setting.directions,
        setting.method or "vector",
        setting.scale or "relative",
        setting.allow_other_model,
    )
    return dict(zip(strengths, scores, strict=True))


def _row(record: SummaryRecord, setting: Setting, strength: float, score: float | None, model: str) -> ScoreRow:
    directions = setting.directions
    return ScoreRow(
        id=record.id,
        document_id=record.document_id,
        language=record.language,
        dimension=record.dimension,
        metric="gptscore",
        model=model,
        pivot=None if directions is None else directions.facts.pivot,
        method=setting.method,
        scale=setting.scale,
        layers=None if directions is None else directions.layers,
        strength=strength,
        draw=None,
        score=score,
    )
