"""scores.jsonl of eval.summaries: every summary under every sweep, each text scored once, written as it is scored."""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from typing import Any, NamedTuple

from core.progress import Progress
from core.records import ScoreRow, SummaryRecord
from eval.row_files import RowFiles
from eval.steering.sweep import Sweep
from eval.summary.metric import EMPTY, NO_REFERENCE, NO_SCORE, TOO_LONG, Metric, Scores

SHORTENED = "shortened"
LISTED = 10
_IN_WORDS = {
    SHORTENED: "summaries with texts longer than the model reads (documents shortened visibly; by COMET, read up to its limit)",
    EMPTY: "empty summaries: missing, not scored",
    TOO_LONG: "summaries that leave no room for their document: not scored",
    NO_REFERENCE: "summaries without a reference: not scored",
    NO_SCORE: "summaries without a score at some point: not finite, or none was written",
}

SweepsOf = Callable[[SummaryRecord], Sequence[Sweep]]


class Scored(NamedTuple):
    """All score rows, and by language and by what befell them (a key of _IN_WORDS) the ids of summaries."""

    rows: list[ScoreRow]
    befell: dict[str, dict[str, list[str]]]

    def counts(self) -> dict[str, dict[str, int]]:
        """How many summaries of a language each thing befell."""
        return {code: {what: len(ids) for what, ids in found.items()} for code, found in self.befell.items()}

    def notes(self) -> list[str]:
        """A line for each thing that befell some summaries of a language, with the first of their ids."""
        return [
            f"{language}: {len(ids)} {_IN_WORDS[what]}: {', '.join(ids[:LISTED])}{', …' if len(ids) > LISTED else ''}"
            for language, found in self.befell.items()
            for what, ids in found.items()
            if what in _IN_WORDS
        ]


def row_key(row: ScoreRow) -> Hashable:
    """What tells the scores of a run apart."""
    layers = None if row.layers is None else tuple(row.layers)
    return row.id, row.metric, row.method, layers, row.strength, row.draw


def score_summaries(
    records: Sequence[SummaryRecord],
    sweeps_of: SweepsOf,
    metric: Metric,
    model: str,
    files: RowFiles[ScoreRow],
    process: int = 0,
    processes: int = 1,
) -> None:
    """Score this process's share of the records, each text once; rows that are there are kept and not scored again.

    A sweep that was stopped half way is scored whole again, so that what it shares its passes with stays the same.
    """
    done = files.read()
    batches = list(_batches(records, metric))[process::processes]
    with files.appender() as out, Progress(sum(map(len, batches)), "score") as progress:
        for texts in batches:
            out.write_all(row.model_dump() for row in _score(texts, sweeps_of, metric, model, done.keys()))
            progress.update(len(texts))


def _batches(records: Sequence[SummaryRecord], metric: Metric) -> Iterator[list[list[SummaryRecord]]]:
    """Records of one text together, texts of one language in batches. Language after language, for the sake of null draws."""
    texts: dict[str, dict[Hashable, list[SummaryRecord]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        texts[record.language][metric.key(record)].append(record)
    for by_key in texts.values():
        groups = list(by_key.values())
        for start in range(0, len(groups), metric.batch_size):
            yield groups[start : start + metric.batch_size]


def _score(
    texts: list[list[SummaryRecord]], sweeps_of: SweepsOf, metric: Metric, model: str, done: Collection[Hashable]
) -> Iterator[ScoreRow]:
    """The rows of a batch of texts that are not there yet."""
    wanted: dict[Sweep, list[tuple[int, SummaryRecord]]] = defaultdict(list)
    for text, members in enumerate(texts):
        for record in members:
            for sweep in sweeps_of(record):
                wanted[sweep].append((text, record))
    missing = {
        sweep: asked
        for sweep, asked in wanted.items()
        if any(row_key(row) not in done for _, record in asked for row in _rows(record, sweep, None, metric, model))
    }
    if not missing:
        return
    prepared = [metric.prepare(members[0]) for members in texts]
    scorable = [text for text, found in enumerate(prepared) if not isinstance(found, str)]
    scores = metric.score([prepared[text] for text in scorable], list(missing)) if scorable else []
    place = {text: number for number, text in enumerate(scorable)}
    for number, (sweep, asked) in enumerate(missing.items()):
        for text, record in asked:
            found = scores[place[text]][number] if text in place else None
            for row in _rows(record, sweep, found, metric, model):
                if row_key(row) not in done:
                    yield row


def _rows(record: SummaryRecord, sweep: Sweep, scores: Scores | None, metric: Metric, model: str) -> Iterator[ScoreRow]:
    """A record's rows under one sweep: a row for each name of the metric and each strength."""
    for name in metric.names:
        for place, strength in enumerate(sweep.strengths):
            yield ScoreRow(
                id=record.id,
                document_id=record.document_id,
                language=record.language,
                dimension=record.dimension,
                metric=name,
                model=model,
                pivot=None if sweep.directions is None else sweep.directions.facts.pivot,
                method=sweep.method,
                scale=sweep.scale,
                layers=sweep.layers,
                strength=strength,
                draw=sweep.draw,
                score=None if scores is None else scores[name][place],
            )


def gather(records: Sequence[SummaryRecord], metric: Metric, files: RowFiles[ScoreRow]) -> Scored:
    """All rows, put in order into one file, and what befell the summaries."""
    order = {record.id: place for place, record in enumerate(records)}
    written = files.read().values()
    rows = files.finish(map(row_key, sorted(written, key=lambda row: _place(row, order))))
    befell: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    missing = {row.id for row in rows if row.score is None}
    for record in records:
        prepared, found = metric.prepare(record), befell[record.language]
        found["summaries"].append(record.id)
        if isinstance(prepared, str):
            found[prepared].append(record.id)
        elif record.id in missing:
            found[NO_SCORE].append(record.id)
        if not isinstance(prepared, str) and prepared.shortened:
            found[SHORTENED].append(record.id)
    return Scored(rows, {language: dict(found) for language, found in befell.items()})


def _place(row: ScoreRow, order: dict[str, int]) -> tuple[Any, ...]:
    """By record; unsteered, real and null; layers, strength, name."""
    draw = -1 if row.draw is None else row.draw
    return order[row.id], row.method is not None, draw, row.layers or [], row.strength, row.metric
