"""Altered copies of records that show what moves a judge: another reference, the reference as response, injected texts."""

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from scipy import sparse
from scipy.sparse import csgraph

from core.errors import ConfigError, DataError
from core.joins import nfc
from core.records import JudgeRecord, check_unique
from eval.attacks import ATTACKS, inject

REFERENCE_OTHER = "reference_other"
RESPONSE_IS_REFERENCE = "response_is_reference"
KINDS = (REFERENCE_OTHER, RESPONSE_IS_REFERENCE, *ATTACKS)
_NEED_REFERENCE = (REFERENCE_OTHER, RESPONSE_IS_REFERENCE)


class ProbeOf(NamedTuple):
    """What ``extra.probe`` says of a copy: its kind, and the id of its original."""

    kind: str
    of: str


def make_probes(records: Sequence[JudgeRecord], kinds: Sequence[str], template: str, seed: int) -> list[JudgeRecord]:
    """The records, then for each kind a copy of every record that it can alter (ids ``<id>#<kind>``).

    A copy keeps the gold of its original, but for response_is_reference: that is another response, which nobody scored.
    Raises ConfigError for a kind unknown, DataError for records that hold probes, and where a kind alters no record.
    """
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise ConfigError(f"kinds: {unknown[0]!r} is unknown; use some of {', '.join(KINDS)}")
    if made := [record.id for record in records if probe_of(record)]:
        raise DataError(f"{made[0]} is a probe already, of {len(made)}; give the original records as input")
    with_reference = [record for record in records if record.reference_answer]
    for kind in kinds:
        if kind in _NEED_REFERENCE and not with_reference:
            raise DataError(f"no record has the reference_answer that {kind} needs; leave it out of --kinds")
    copies = [copy for kind in kinds for copy in _copies(records, with_reference, kind, template, seed)]
    check_unique([record.id for record in (*records, *copies)], "records and probes together")
    return [*records, *copies]


def probe_of(record: JudgeRecord) -> ProbeOf | None:
    """Of which record this is an altered copy; None for an original."""
    stored = record.extra.get("probe")
    kind, of = (stored.get("kind"), stored.get("of")) if isinstance(stored, dict) else (None, None)
    return ProbeOf(kind, of) if isinstance(kind, str) and isinstance(of, str) else None


def equals_reference(record: JudgeRecord) -> bool | None:
    """Whether the response is the reference answer, but for Unicode form and white space; None without a reference."""
    return _plain(record.response) == _plain(record.reference_answer) if record.reference_answer else None


def other_references(records: Sequence[JudgeRecord], seed: int) -> list[str]:
    """For each record the reference answer of another item, in the same reference_language and with another text.

    Rows that share an item or a text form a class; the classes, shuffled, pass their references round, so that all rows of
    an item are shown the same other item. Raises DataError where a reference_language has references of one class only.
    """
    shown: dict[int, str] = {}
    for language, rows in _grouped(range(len(records)), lambda row: records[row].reference_language).items():
        classes = _classes([records[row] for row in rows])
        if len(classes) < 2:
            raise DataError(
                f"all references in {language or 'no named language'} are of one item or text ({records[rows[0]].item_id}), "
                f"so no record can be shown another's; add records of other items or leave {REFERENCE_OTHER} out of --kinds"
            )
        random.Random(seed).shuffle(classes)
        for members, others in zip(classes, [*classes[1:], classes[0]], strict=True):
            texts = list(dict.fromkeys(records[rows[other]].reference_answer or "" for other in others))
            for number, member in enumerate(members):
                shown[rows[member]] = texts[number % len(texts)]
    return [shown[row] for row in range(len(records))]


def _copies(
    records: Sequence[JudgeRecord], with_reference: Sequence[JudgeRecord], kind: str, template: str, seed: int
) -> list[JudgeRecord]:
    if kind == REFERENCE_OTHER:
        references = other_references(with_reference, seed)
        return [_copy(one, kind, reference_answer=text) for one, text in zip(with_reference, references, strict=True)]
    if kind == RESPONSE_IS_REFERENCE:
        unscored = {"score": None, "human_scores": None, "feedback": None, "system": None}
        changed = [record for record in with_reference if not equals_reference(record)]
        return [_copy(one, kind, response=one.reference_answer, **unscored) for one in changed]
    return [_copy(one, kind, response=inject(kind, one.response, template)) for one in records]


def _copy(record: JudgeRecord, kind: str, **changes: str | None) -> JudgeRecord:
    extra = {**record.extra, "probe": ProbeOf(kind, record.id)._asdict()}
    return record.model_copy(update={"id": f"{record.id}#{kind}", "extra": extra, **changes})


def _classes(records: Sequence[JudgeRecord]) -> list[list[int]]:
    """Rows by class: two rows that share an item or a reference text are in one, also by way of others."""
    texts = [_plain(record.reference_answer or "") for record in records]
    keys = [("item", record.item_id) for record in records] + [("text", text) for text in texts]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys), start=len(records))}
    # A graph of rows and what they have: its connected parts are the classes.
    rows = [*range(len(records))] * 2
    size = len(records) + len(numbers)
    graph = sparse.coo_array(([1] * len(rows), (rows, [numbers[key] for key in keys])), shape=(size, size))
    labels = csgraph.connected_components(graph, directed=False)[1]
    return list(_grouped(range(len(records)), lambda row: labels[row]).values())


def _grouped(rows: Iterable[int], key: Callable[[int], object]) -> dict[object, list[int]]:
    groups: dict[object, list[int]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return dict(groups)


def _plain(text: str) -> str:
    return " ".join(nfc(text).split())
