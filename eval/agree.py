"""Measure how far judges agree with gold, beside cheap baselines, and whether two judges differ.

Run as:
    python -m eval.agree --predictions runs/a/predictions.jsonl runs/b/predictions.jsonl --records records.jsonl --output runs/agree

Writes metrics.json and table.md, and prints the table. The records give capability, source, the annotators' scores and the
texts that the baselines and the length control read; without them, there are the judges' own figures and comparisons only.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from core.config import CommandConfig, IfExists, run_command
from core.errors import ConfigError, DataError
from core.jsonl import atomic, write_json
from core.overlap import check_disjoint
from core.progress import say, track
from core.records import JudgeRecord, read_records
from core.run import Run
from eval.agree_table import tables
from eval.annotator_agreement import annotator_agreement
from eval.comparisons import compare
from eval.consistency import consistency
from eval.groups import grouped_figures
from eval.judged import (
    BASELINES,
    MAJORITY,
    Judged,
    JudgedItem,
    Length,
    against_annotators,
    baseline_items,
    check_same_gold,
    judge_items,
    judged_records,
    pair_with_records,
    read_judges,
    response_lengths,
)
from eval.ranks import rank


class AgreeConfig(CommandConfig):
    """Fields of eval.agree."""

    predictions: list[Path] = Field(min_length=1, description="predictions.jsonl of one or more judges")
    output: Path = Field(description="run folder to make")
    if_exists: IfExists = Field("fail", description="what to do with an output folder that exists")
    records: list[Path] = Field([], description="the records that were judged: for groups, baselines, length control")
    train_records: list[Path] = Field(
        [], description="training files; refused where they share an item with the records"
    )
    allow_overlap: bool = Field(False, description="allow items that were trained on")
    against: Literal["gold", "annotators"] = Field(
        "gold", description="gold: the gold score, else the mean of the annotators; annotators: their mean alone"
    )
    tau_c: bool = Field(False, description="Kendall's tau-c too, beside tau-b")
    resamples: int = Field(10_000, ge=1, description="bootstrap resamples and permutations")
    seed: int = Field(42, description="of resamples, permutations and the baselines' folds")

    @model_validator(mode="after")
    def _instructions_at_hand(self) -> Self:
        if self.train_records and not self.records:
            raise ConfigError("train_records are compared with the records judged; set records too")
        if self.against == "annotators" and not self.records:
            raise ConfigError("against annotators: their scores stand in the records; set records too")
        return self


def main(config: AgreeConfig) -> None:
    """Measure every judge, every baseline and every pair."""
    records = [record for path in config.records for record in read_records(path)]
    paired = pair_with_records(read_judges(config.predictions), records)
    if config.against == "annotators":
        paired = against_annotators(paired)
    judged = judged_records(paired)
    for path in config.train_records:
        check_disjoint({"the judged records": judged, str(path): read_records(path)}, config.allow_overlap)
    items, notes = with_gold(paired, response_lengths(judged))
    if unjudged := len(records) - len(judged):
        notes.append(f"{unjudged} of {len(records)} records were judged by no judge")
    inputs = [*config.predictions, *config.records, *config.train_records]
    with Run(config.output, "eval.agree", config, inputs, config.if_exists, config.seed) as run:
        metrics = measure(items, judged, notes, config.resamples, config.seed, config.tau_c)
        write_json(metrics, run.path / "metrics.json")
        table = tables(metrics)
        with atomic(run.path / "table.md") as handle:
            handle.write(table)
    say(table)


def with_gold(
    paired: Mapping[str, Sequence[Judged]], lengths: Mapping[str, Length]
) -> tuple[dict[str, list[JudgedItem]], list[str]]:
    """Each judge's rows with gold, and a note for each judge that has rows without.

    Raises DataError for a judge without any, and where two judges hold another gold for one row.
    """
    items, notes = {}, []
    for name, rows in paired.items():
        items[name] = judge_items(rows, lengths)
        if not items[name]:
            raise DataError(f"judge {name}: no row has gold; pass --records with the records that hold their scores")
        if without := len(rows) - len(items[name]):
            notes.append(f"{name}: {without} of {len(rows)} rows have no gold and were left out")
    check_same_gold(items)
    return items, notes


def measure(
    judges: Mapping[str, Sequence[JudgedItem]],
    records: Sequence[JudgeRecord],
    notes: Sequence[str] = (),
    resamples: int = 10_000,
    seed: int = 42,
    tau_c: bool = False,
) -> dict[str, Any]:
    """The content of metrics.json."""
    baselines = baseline_items(records, seed)
    compared = compare(judges, {n: items for n, items in baselines.items() if n != MAJORITY}, resamples, seed)
    ranked = rank(judges, resamples, seed)
    consistent = consistency(judges, resamples, seed)
    if absent := ", ".join(name for name in BASELINES if name not in baselines):
        why = "the records lack what it reads, or are too few" if records else "it reads --records"
        notes = [*notes, f"no baseline {absent}: {why}"]
    return {
        "judges": {
            name: grouped_figures(items, resamples, seed, tau_c=tau_c)
            for name, items in track(judges.items(), len(judges), "judges measured")
        },
        "baselines": {
            name: grouped_figures(items, resamples, seed, exact_only=name == MAJORITY, tau_c=tau_c)
            for name, items in track(baselines.items(), len(baselines), "baselines measured")
        },
        "comparisons": compared.rows,
        "ranks": ranked.rows,
        "consistency": consistent.by_judge,
        "annotators": annotator_agreement(records, resamples, seed),
        "notes": [*notes, *compared.notes, *ranked.notes, *consistent.notes],
    }


if __name__ == "__main__":
    run_command(main, AgreeConfig)
