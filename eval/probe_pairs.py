"""A judge's verdicts on altered copies beside its own verdicts on the originals."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from core.errors import DataError
from core.records import JudgeRecord, Prediction
from core.run import read_manifest
from eval.judged import Judged
from eval.probe_records import ProbeOf, probe_of

REFERENCE_NONE = "reference_none"


class ProbePair(NamedTuple):
    """Two verdicts of one judge: on a record, and on its altered copy (or on the same record without its reference).

    ``id`` is the original's; ``gold`` is what the altered copy deserves, None where nobody scored it. ``shortened`` says that the
    length policy cut the altered prompt, perhaps the very text that was put in.
    """

    id: str
    item_id: str
    language: str
    capability: str | None
    gold: float | None
    original: int | None
    probe: int | None
    expected_original: float | None
    expected_probe: float | None
    shortened: bool


def pair_probes(judge: str, rows: Sequence[Judged]) -> dict[str, list[ProbePair]]:
    """The pairs of each kind, of the verdicts on originals and copies that a judge gave.

    Raises DataError for a copy whose original the judge did not judge, and for two templates in one pair.
    """
    originals = {record.id: row for row, record in rows if record is not None and not probe_of(record)}
    pairs: dict[str, list[ProbePair]] = defaultdict(list)
    for row, record in rows:
        probe = probe_of(record) if record is not None else None
        if record is None or probe is None:
            continue
        pairs[probe.kind].append(_pair(judge, row, record, probe, originals))
    if not pairs:
        raise DataError(f"judge {judge} judged no probe; give eval.judge the records.jsonl that --action make wrote")
    return dict(pairs)


def pair_without_reference(judge: str, rows: Sequence[Judged], with_reference: Sequence[Judged]) -> list[ProbePair]:
    """Pairs of verdicts given without and with the reference, on the originals alone. Raises DataError as `pair_probes`."""
    originals = {record.id: row for row, record in with_reference if record is not None}
    return [
        _pair(judge, row, record, ProbeOf(REFERENCE_NONE, record.id), originals)
        for row, record in rows
        if record is not None and not probe_of(record)
    ]


def check_reference_shown(paths: Sequence[Path], shown: bool) -> None:
    """Raises DataError where the run that wrote a predictions file says that it showed the reference, or did not."""
    for path in paths:
        prompt = (read_manifest(path.parent) or {}).get("prompt") or {}
        if prompt.get("with_reference", shown) != shown:
            raise DataError(
                f"{path} was judged {'without' if shown else 'with'} the reference; --predictions takes verdicts given with it, "
                "--without_reference those given by eval.judge --with_reference false"
            )


def _pair(
    judge: str, row: Prediction, record: JudgeRecord, probe: ProbeOf, originals: dict[str, Prediction]
) -> ProbePair:
    original = originals.get(probe.of)
    if original is None:
        raise DataError(f"judge {judge} judged {record.id} as {probe.kind} but not {probe.of}; judge both in one run")
    if original.template != row.template:
        raise DataError(
            f"judge {judge} read {row.id} in template {row.template} and {probe.of} in {original.template}; use one for both"
        )
    return ProbePair(
        id=probe.of,
        item_id=record.item_id,
        language=record.language,
        capability=record.capability,
        gold=record.gold,
        original=original.score,
        probe=row.score,
        expected_original=original.expected_score,
        expected_probe=row.expected_score,
        shortened=row.shortened,
    )
