"""The rows that agreement is measured over: each judge's verdicts with gold, joined by id to the records judged."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from core.baselines import Baseline, length_baseline, length_ratio, majority_baseline, overlap_baseline
from core.errors import DataError
from core.joins import join, nfc
from core.length_control import quartiles
from core.records import JudgeRecord, Prediction, check_unique, read_rows

MAJORITY = "majority"
BASELINES: dict[str, Callable[[Sequence[JudgeRecord], int], Baseline | None]] = {
    "length": length_baseline,
    "overlap": overlap_baseline,
    MAJORITY: majority_baseline,
}


class JudgedItem(NamedTuple):
    """One verdict with gold. ``capability`` and what follows are those of its record, None without one.

    ``length_quartile`` is "1" to "4", over all records that any judge judged.
    """

    id: str
    item_id: str
    language: str
    gold: float
    score: int | None
    failure: str | None = None
    expected_score: float | None = None
    system: str | None = None
    capability: str | None = None
    source: str | None = None
    length_ratio: float | None = None
    length_quartile: str | None = None


class Length(NamedTuple):
    """The length ratio of a response, and its quartile."""

    ratio: float
    quartile: str


# A prediction and its record, where records are given.
Judged = tuple[Prediction, JudgeRecord | None]


def read_judges(paths: Sequence[str | Path]) -> dict[str, list[Prediction]]:
    """The predictions of each judge, by the name in its rows.

    Raises DataError where a judge has an id twice, and for gold outside 1 to 5.
    """
    judges: dict[str, list[Prediction]] = defaultdict(list)
    file_of: dict[tuple[str, str], str | Path] = {}
    for path in paths:
        for row in read_rows(path, Prediction, unique=False):
            if row.gold is not None and not 1 <= row.gold <= 5:
                raise DataError(
                    f"{path}: {row.id} has gold {row.gold:g}; gold is a number from 1 to 5, or null for none"
                )
            judges[row.judge].append(row)
            other = file_of.setdefault((row.judge, row.id), path)
            if other != path:
                raise DataError(
                    f"{path}: judge {row.judge} has {row.id} in {other} too; give every row its own id and every judge its own "
                    "name (eval.judge --judge NAME)"
                )
    for name, rows in judges.items():
        check_unique([row.id for row in rows], f"predictions of judge {name}")
    return dict(judges)


def pair_with_records(
    judges: Mapping[str, Sequence[Prediction]], records: Sequence[JudgeRecord]
) -> dict[str, list[Judged]]:
    """Each judge's predictions with their records, or with None where there are no records.

    Raises DataError for an id that two records have, for a prediction without its record, and for one that judged
    another item, language or system or has another gold;
    without records, where two judges hold another item or language under one id.
    """
    if not records:
        _check_one_test_set(judges)
        return {name: [(row, None) for row in rows] for name, rows in judges.items()}
    paired: dict[str, list[Judged]] = {}
    for name, rows in judges.items():
        here = f"predictions of judge {name}"
        joined = join(rows, records, lambda row: row.id, lambda record: record.id, (here, "the records"), partial=True)
        for row, record in joined:
            for what in ("item_id", "language", "system", "gold"):
                ours, theirs = getattr(row, what), getattr(record, what)
                same = nfc(ours) == nfc(theirs) if isinstance(ours, str) and theirs is not None else ours == theirs
                if None not in (ours, theirs) and not same:
                    raise DataError(f"{here}: {row.id} has {what} {ours}, its record {theirs}; name the records judged")
        paired[name] = list(joined)
    return paired


def against_annotators(paired: Mapping[str, Sequence[Judged]]) -> dict[str, list[Judged]]:
    """The same rows with the mean of the annotators as their only gold. Raises DataError where no record has human scores."""
    if not any(record.human_scores for rows in paired.values() for _, record in rows if record is not None):
        raise DataError("no record judged has human_scores; measure against gold, or pass the records that hold them")

    def without_gold(record: JudgeRecord | None) -> JudgeRecord | None:
        return None if record is None else record.model_copy(update={"score": None})

    return {
        name: [(row.model_copy(update={"gold": None}), without_gold(record)) for row, record in rows]
        for name, rows in paired.items()
    }


def judged_records(paired: Mapping[str, Sequence[Judged]]) -> list[JudgeRecord]:
    """The records that any judge judged, each once."""
    return list({record.id: record for rows in paired.values() for _, record in rows if record is not None}.values())


def judge_items(rows: Sequence[Judged], lengths: Mapping[str, Length]) -> list[JudgedItem]:
    """A judge's rows with gold, their own or their record's; the others are left out."""
    items = []
    for row, record in rows:
        gold = row.gold if row.gold is not None or record is None else record.gold
        if gold is not None:
            names = (nfc(row.id), nfc(row.item_id), row.language)
            own = JudgedItem(*names, gold, row.score, row.failure, row.expected_score, row.system)
            items.append(own if record is None else _with_record(own, record, lengths))
    return items


def baseline_items(records: Sequence[JudgeRecord], seed: int) -> dict[str, list[JudgedItem]]:
    """The verdicts of each baseline on the records it can judge, learned in each language by itself."""
    lengths = response_lengths(records)
    found: dict[str, list[JudgedItem]] = defaultdict(list)
    for language in sorted({record.language for record in records}):
        group = [record for record in records if record.language == language]
        for name, learn in BASELINES.items():
            baseline = learn(group, seed)
            for row, score in zip(baseline.rows, baseline.verdicts, strict=True) if baseline else ():
                one = group[row]
                assert one.gold is not None  # baselines judge records with gold only
                item = JudgedItem(one.id, one.item_id, language, one.gold, score, system=one.system)
                found[name].append(_with_record(item, one, lengths))
    return dict(found)


def response_lengths(records: Sequence[JudgeRecord]) -> dict[str, Length]:
    """The length of each response by record id, over that of the reference where all records have one (see baselines)."""
    if not records:
        return {}
    by_ratio = all(record.reference_answer for record in records)
    ratios = [length_ratio(record.response, record.reference_answer if by_ratio else None) for record in records]
    _, quartile_of = quartiles(ratios)
    return {
        record.id: Length(ratio, str(quartile + 1))
        for record, ratio, quartile in zip(records, ratios, quartile_of, strict=True)
    }


def with_each_language(items: Sequence[JudgedItem]) -> dict[str, list[JudgedItem]]:
    """{"all": items}, and the items of each language where there are two or more."""
    languages = sorted({item.language for item in items})
    apart = languages if len(languages) > 1 else []
    return {"all": list(items), **{code: [item for item in items if item.language == code] for code in apart}}


def check_same_gold(judges: Mapping[str, Sequence[JudgedItem]]) -> None:
    """Raises DataError where two judges hold another gold for the same id."""
    seen: dict[str, tuple[str, float]] = {}
    for name, items in judges.items():
        for item in items:
            other, gold = seen.setdefault(item.id, (name, item.gold))
            if not math.isclose(gold, item.gold):
                raise DataError(
                    f"{item.id} has gold {gold:g} in judge {other} and {item.gold:g} in judge {name}; "
                    "compare judges of one test set"
                )


def _check_one_test_set(judges: Mapping[str, Sequence[Prediction]]) -> None:
    """Raises DataError where two judges hold another item or language under one id, as ids that languages share do."""
    seen: dict[str, tuple[str, Prediction]] = {}
    for name, rows in judges.items():
        for row in rows:
            other, first = seen.setdefault(nfc(row.id), (name, row))
            for what in ("item_id", "language"):
                ours, theirs = getattr(row, what), getattr(first, what)
                if nfc(ours) != nfc(theirs):
                    raise DataError(
                        f"{row.id} has {what} {theirs} in judge {other} and {ours} in judge {name}; compare judges of one test "
                        "set, where each row has its own id"
                    )


def _with_record(item: JudgedItem, record: JudgeRecord, lengths: Mapping[str, Length]) -> JudgedItem:
    length = lengths[record.id]
    return item._replace(
        id=record.id,
        capability=record.capability,
        source=record.source,
        length_ratio=length.ratio,
        length_quartile=length.quartile,
    )
