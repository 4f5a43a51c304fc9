"""The verdicts behind a report's figures, with the records that were judged: which are far from gold, and which are shown."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from core.records import JudgeRecord, Prediction, read_records, read_rows
from core.run import fingerprint, shown_path
from eval.reporting.runs import RunRead

Kind = Literal["too high", "too low", "unscored"]
# What a page may hold of verdicts' texts, so that it stays quick to open.
MOST_BYTES = 2_000_000


class Verdict(NamedTuple):
    """One verdict and, where its texts were found, the record judged."""

    row: Prediction
    record: JudgeRecord | None

    @property
    def gold(self) -> float | None:
        return self.row.gold if self.row.gold is not None or self.record is None else self.record.gold

    @property
    def difference(self) -> float | None:
        """Score minus gold, where there are both."""
        return None if self.row.score is None or self.gold is None else self.row.score - self.gold

    @property
    def kind(self) -> Kind | None:
        """Unscored, or at least two points from gold; None for a verdict that needs no look."""
        if self.row.score is None:
            return "unscored"
        off = self.difference or 0
        return "too high" if off >= 2 else "too low" if off <= -2 else None


class Gathered(NamedTuple):
    """The verdicts of all runs, each once, and what could not be found."""

    verdicts: list[Verdict]
    notes: list[str]


class Chosen(NamedTuple):
    """The verdicts that a page lists, and how many there are besides."""

    shown: list[Verdict]
    left_out: int


def gather(runs: Sequence[RunRead], records: Sequence[JudgeRecord] = ()) -> Gathered:
    """The verdicts of runs of eval.judge, and those that runs of eval.agree measured, where the files are as they were.

    Texts come from the records that the runs judged, or where these cannot be found from ``records``, by id.
    """
    given = {record.id: record for record in records}
    found: dict[tuple[str, str, str, str], Verdict] = {}
    notes: list[str] = []
    for run in runs:
        if run.command not in ("eval.judge", "eval.agree"):
            continue
        rows = run.predictions or list(_rows(run, notes))
        texts = given | {record.id: record for record in _records(run)}
        without = 0
        for row in rows:
            record = texts.get(row.id)
            if record is not None and (record.item_id, record.language) != (row.item_id, row.language):
                record = None  # another test set with the same ids
            without += record is None
            if run.manifest["config"].get("against") == "annotators" and record is not None:
                # What eval.agree measured against: people's mean, whatever other gold there is.
                row, record = row.model_copy(update={"gold": None}), record.model_copy(update={"score": None})
            found.setdefault((row.judge, row.id, row.language, row.raw), Verdict(row, record))
        if without:
            notes.append(f"{run.name}: the texts of {without} of {len(rows)} verdicts were not found; pass --records")
    return Gathered(list(found.values()), notes)


def far_off(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Those at least two points from gold, the farthest first, then those that are unscored."""
    return sorted((one for one in verdicts if one.kind), key=lambda one: -abs(one.difference or 0))


def choose(verdicts: Sequence[Verdict], limit: int, most_bytes: int = MOST_BYTES) -> Chosen:
    """As many as may be listed: in turn the next of each judge, language and kind, so that every filter finds some."""
    groups: dict[tuple[str, str, Kind | None], list[Verdict]] = defaultdict(list)
    for one in verdicts:
        groups[one.row.judge, one.row.language, one.kind].append(one)
    shown: list[Verdict] = []
    size = 0
    for one in _in_turn(list(groups.values())):
        size += sum(len(text.encode()) for text in texts(one).values() if text)
        if len(shown) == limit or size > most_bytes:
            break
        shown.append(one)
    return Chosen(far_off(shown), len(verdicts) - len(shown))


def texts(verdict: Verdict) -> dict[str, str | None]:
    """The texts of a verdict by name, in reading order; None where a record is absent or has none."""
    row, record = verdict
    names = ("instruction", "criteria", "response", "reference", "gold_feedback")
    if record is None:
        judged: dict[str, str | None] = dict.fromkeys(names)
    else:
        given = (record.instruction, record.criteria, record.response, record.reference_answer, record.feedback)
        judged = dict(zip(names, given, strict=True))
    return judged | {"feedback": row.feedback, "raw": row.raw if row.score is None else None}


def disagreement_row(verdict: Verdict) -> dict[str, Any]:
    """A row of disagreements.csv: every verdict that needs a look, with its texts as they are."""
    row = verdict.row
    return {
        "judge": row.judge,
        "language": row.language,
        "kind": verdict.kind,
        "gold": verdict.gold,
        "score": row.score,
        "difference": verdict.difference,
        "expected_score": row.expected_score,
        "failure": row.failure,
        "id": row.id,
        "item_id": row.item_id,
        "system": row.system,
        **texts(verdict),
    }


def _in_turn(groups: list[list[Verdict]]) -> Iterator[Verdict]:
    for place in range(max(map(len, groups), default=0)):
        yield from (group[place] for group in groups if place < len(group))


def _rows(run: RunRead, notes: list[str]) -> Iterator[Prediction]:
    """The predictions that a run of eval.agree measured, from the files that are still the same."""
    for name in run.manifest["config"].get("predictions", ()):
        path = unchanged(name, run.manifest)
        if path is None:
            notes.append(f"{run.name}: the verdicts of {name} are not listed; the file is gone, or another by now")
        else:
            yield from read_rows(path, Prediction, unique=False)


def _records(run: RunRead) -> Iterator[JudgeRecord]:
    config = run.manifest["config"]
    names = config.get("records", ()) if run.command == "eval.agree" else [config["input"]] if "input" in config else []
    for name in names:
        if path := unchanged(name, run.manifest):
            yield from read_records(path)


def unchanged(name: str, manifest: Mapping[str, Any]) -> Path | None:
    """The path of an input that is there and has the content that the run read."""
    path = Path(name)
    if not path.is_file() or manifest["inputs"].get(shown_path(path)) != fingerprint(path):
        return None
    return path
