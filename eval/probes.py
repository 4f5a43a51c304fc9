"""Measure what moves a judge that should not, and what should: other references, none, injected texts.

Run as:
    python -m eval.probes --action make --input records.jsonl --output runs/probes
    python -m eval.judge --model_name_or_path MODEL --input runs/probes/records.jsonl --output runs/probes-judged
    python -m eval.probes --action read --predictions runs/probes-judged/predictions.jsonl --records runs/probes/records.jsonl --output runs/probes-read

make writes records.jsonl: the records and an altered copy of each for every kind of probe. read writes metrics.json and
table.md: for each judge and kind how its verdicts shift from its own on the originals. With
--without_reference FILE (verdicts of eval.judge --with_reference false) the loss of the reference is one more kind.
"""

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from core.config import CommandConfig, IfExists, run_command
from core.errors import ConfigError, DataError
from core.jsonl import atomic, write_json
from core.means import mean_figure
from core.progress import say, track
from core.records import JudgeRecord, read_records, write_records
from core.run import Run
from eval.attacks import ATTACKS, CONTROL, HEADINGS
from eval.judged import Judged, pair_with_records, read_judges
from eval.probe_figures import grouped_shifts
from eval.probe_pairs import REFERENCE_NONE, ProbePair, check_reference_shown, pair_probes, pair_without_reference
from eval.probe_records import KINDS, RESPONSE_IS_REFERENCE, equals_reference, make_probes, probe_of
from eval.probe_table import tables

_USED = {
    "make": {"input", "kinds", "template", "max_samples", "seed"},
    "read": {"predictions", "records", "without_reference", "resamples", "seed"},
}


class ProbesConfig(CommandConfig):
    """Fields of eval.probes."""

    action: Literal["make", "read"] = Field(description="make the altered records, or read the verdicts on them")
    output: Path = Field(description="run folder to make")
    if_exists: IfExists = Field("fail", description="what to do with an output folder that exists")
    input: list[Path] = Field([], description="make: records.jsonl to alter")
    kinds: list[str] = Field(list(KINDS), min_length=1, description="make: kinds of probes")
    template: str = Field("default", description="make: the judge's prompt template, whose headings attacks forge")
    max_samples: int | None = Field(None, ge=1, description="make: alter this many records, drawn with the seed")
    predictions: list[Path] = Field([], description="read: verdicts on the records that make wrote")
    records: list[Path] = Field([], description="read: the records.jsonl that make wrote")
    without_reference: list[Path] = Field([], description="read: the same judges' verdicts without the reference")
    resamples: int = Field(10_000, ge=1, description="read: bootstrap resamples and permutations")
    seed: int = Field(42, description="make: of references and the sample; read: of the bootstrap")

    def check_action(self) -> None:
        """Raises ConfigError for a field that the action needs and lacks, or does not use."""
        for name in ("input",) if self.action == "make" else ("predictions", "records"):
            if not getattr(self, name):
                raise ConfigError(f"action {self.action} needs {name}; pass --{name}")
        for name in sorted(self.model_fields_set - _USED[self.action] - {"action", "output", "if_exists"}):
            raise ConfigError(f"action {self.action} does not use {name}; leave it out")
        if self.template not in HEADINGS:
            raise ConfigError(f"template {self.template!r} is unknown; use one of {', '.join(HEADINGS)}")


def main(config: ProbesConfig) -> None:
    """Do what ``action`` says."""
    config.check_action()
    {"make": _make, "read": _read}[config.action](config)


def _make(config: ProbesConfig) -> None:
    records = [record for path in config.input for record in read_records(path)]
    drawn = _draw(records, config.max_samples, config.seed)
    made = make_probes(drawn, config.kinds, config.template, config.seed)
    kinds = Counter("original" if (probe := probe_of(record)) is None else probe.kind for record in made)
    with Run(config.output, "eval.probes", config, config.input, config.if_exists, config.seed) as run:
        write_records(made, run.path / "records.jsonl")
        run.note(counts=dict(kinds))
    counts = ", ".join(f"{number} {kind}" for kind, number in kinds.items())
    say(f"{config.output / 'records.jsonl'}: {len(made)} records to judge ({counts})")


def _draw(records: list[JudgeRecord], size: int | None, seed: int) -> list[JudgeRecord]:
    if size is None or size >= len(records):
        return records
    return [records[row] for row in sorted(random.Random(seed).sample(range(len(records)), size))]


def _read(config: ProbesConfig) -> None:
    records = [record for path in config.records for record in read_records(path)]
    check_reference_shown(config.without_reference, shown=False)
    if any(record.reference_answer for record in records):
        check_reference_shown(config.predictions, shown=True)
    judged = pair_with_records(read_judges(config.predictions), records)
    without = pair_with_records(read_judges(config.without_reference), records)
    if unknown := [name for name in without if name not in judged]:
        raise DataError(
            f"judge {unknown[0]} has verdicts without the reference but none with; it is {', '.join(judged)} there"
        )
    pairs = {name: _all_pairs(name, rows, without.get(name)) for name, rows in judged.items()}
    inputs = [*config.predictions, *config.records, *config.without_reference]
    with Run(config.output, "eval.probes", config, inputs, config.if_exists, config.seed) as run:
        metrics = measure(pairs, records, config.resamples, config.seed)
        write_json(metrics, run.path / "metrics.json")
        table = tables(metrics)
        with atomic(run.path / "table.md") as handle:
            handle.write(table)
    say(table)


def _all_pairs(name: str, rows: Sequence[Judged], without: Sequence[Judged] | None) -> dict[str, list[ProbePair]]:
    none = {} if without is None else {REFERENCE_NONE: pair_without_reference(name, without, rows)}
    return none | pair_probes(name, rows)


def measure(
    pairs: dict[str, dict[str, list[ProbePair]]], records: Sequence[JudgeRecord], resamples: int, seed: int
) -> dict[str, Any]:
    """The content of metrics.json, from the pairs of each judge and kind."""
    work = [(judge, kind, found) for judge, kinds in pairs.items() for kind, found in kinds.items()]
    probes: dict[str, dict[str, Any]] = {judge: {} for judge in pairs}
    for judge, kind, found in track(work, len(work), "probes measured"):
        attacked = kind in ATTACKS and kind != CONTROL and CONTROL in pairs[judge]
        control = {pair.id: pair.probe for pair in pairs[judge][CONTROL]} if attacked else None
        probes[judge][kind] = grouped_shifts(found, resamples, seed, control)
    used = dict.fromkeys(kind for _, kind, _ in work if kind in ATTACKS)
    originals = [record for record in records if probe_of(record) is None]
    return {
        "probes": probes,
        "attacks": {kind: ATTACKS[kind]._asdict() for kind in used},
        "response_equals_reference": _equal_share(originals, resamples, seed),
        "notes": _notes(pairs, records),
    }


def _equal_share(records: Sequence[JudgeRecord], resamples: int, seed: int) -> dict[str, Any]:
    """The share of originals whose response is their reference: a judge of these needs only to compare."""

    def share(group: Sequence[JudgeRecord]) -> dict[str, Any]:
        values = [None if (equal := equals_reference(record)) is None else float(equal) for record in group]
        return mean_figure(values, [record.item_id for record in group], resamples, seed).to_json()

    languages = sorted({record.language for record in records})
    by_language = {code: share([record for record in records if record.language == code]) for code in languages}
    return {"all": share(records), "by_language": by_language}


def _notes(pairs: dict[str, dict[str, list[ProbePair]]], records: Sequence[JudgeRecord]) -> list[str]:
    notes = []
    for judge, kinds in pairs.items():
        made = Counter(probe.kind for record in records if (probe := probe_of(record)))
        if absent := sum((made - Counter({kind: len(found) for kind, found in kinds.items()})).values()):
            notes.append(f"{judge}: {absent} of {made.total()} probes were not judged")
        for kind, found in kinds.items():
            if cut := sum(pair.shortened for pair in found):
                notes.append(f"{judge}, {kind}: {cut} prompts were shortened, which may have cut the probe itself")
    swapped = [record for record in records if (probe := probe_of(record)) and probe.kind == RESPONSE_IS_REFERENCE]
    if other := sum(record.reference_language != record.language for record in swapped):
        notes.append(
            f"{RESPONSE_IS_REFERENCE}: {other} of {len(swapped)} references are not known to be in the language of the response"
        )
    return notes


if __name__ == "__main__":
    run_command(main, ProbesConfig)
