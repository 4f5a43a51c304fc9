"""Score summaries with a frozen model, steered toward a pivot language and not, and compare with human scores.

Run as:
    python -m eval.summaries --metric gptscore --model_name_or_path MODEL --input summaries.jsonl \
        --directions runs/hi-en runs/fr-en --method vector --strengths -0.2 -0.1 0 0.1 0.2 --null_draws 20 --output runs/summaries
    python -m eval.summaries --metric comet --model_name_or_path Unbabel/wmt22-comet-da --input mine.csv --output runs/scored
    accelerate launch -m eval.summaries --config configs/eval/summaries.yaml ...   (summaries over processes)

Each folder of directions steers the rows of its source language; rows of other languages are scored unsteered. Writes
scores.jsonl, one row for each summary and point of the grid (scores.csv too where the input is a table), metrics.json and
table.md. Summaries without human scores are scored like the others. With --dev, each language's strength is chosen on other
summaries that have them. A run that was stopped goes on with --if_exists resume.
"""

import csv
import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState

from core.config import check_known, run_command
from core.errors import ConfigError, DataError
from core.jsonl import atomic, write_json
from core.progress import say
from core.records import ScoreRow, SummaryRecord, check_unique, read_rows
from core.run import shown_path
from data_prep.formats.columns import summary_columns
from data_prep.options import SummariesConfig as TableConfig
from eval.characters import check_characters
from eval.comet import Comet
from eval.comet.checkpoint import check_comet, is_comet
from eval.comet.directions import check_directions
from eval.comet.metric import CometMetric
from eval.direct import Direct
from eval.gptscore import GPTScore
from eval.row_files import RowFiles
from eval.steering.directions import Directions
from eval.steering.held_out import HeldOutMoves, held_out_moves
from eval.summary.metric import Metric
from eval.summary.metrics import cells, summary_metrics
from eval.summary.options import SummariesConfig, listed
from eval.summary.prompts import wording
from eval.summary.scores import Scored, gather, row_key, score_summaries
from eval.summary.sweeps import Cell, Chosen, Sweeps, named, read_directions
from eval.summary.table import markdown, table
from train.launch import LONGEST_WAIT, on_main, open_run
from train.load import check_model, load_model, load_tokenizer

__all__ = ["SummariesConfig", "main"]

SCORES_FILE, DEV_SCORES_FILE, METRICS_FILE = "scores.jsonl", "dev_scores.jsonl", "metrics.json"
TABLES = (".csv", ".tsv")


def main(config: SummariesConfig) -> None:
    """Score every summary under every sweep, and write how the scores go with the human ones."""
    state = PartialState(cpu=not torch.accelerator.is_available(), timeout=LONGEST_WAIT)
    records = read_summaries(config, config.input)
    dev = read_summaries(config, config.dev) if config.dev else []
    folders = read_directions(config.directions)
    sweeps, moves = Sweeps(config, folders), held_out_moves(folders)
    check_cells(config, records, dev, list(folders))
    check_metric(config)
    with open_run(config.output, "eval.summaries", config, inputs(config), config.if_exists, config.seed) as run:
        metric, check = load_metric(config, state)
        for folder, directions in folders.values():
            with named(folder):
                check(directions)

        def scored(some: Sequence[SummaryRecord], name: str) -> Scored:
            files = RowFiles(config.output / name, ScoreRow, row_key, state.process_index)
            model = shown_path(config.model_name_or_path)
            score_summaries(some, sweeps.of, metric, model, files, state.process_index, state.num_processes)
            state.wait_for_everyone()
            return on_main(lambda: gather(some, metric, files))

        chosen: list[dict[str, Any]] = []
        if dev:
            chosen = choose(config, dev, scored(dev, DEV_SCORES_FILE), sweeps)
        found = scored(records, SCORES_FILE)
        notes = [*unsteered_notes(records, list(folders)), *dev_notes(records, dev), *found.notes()]
        on_main(lambda: write(config, records, found, chosen, moves, notes))
        run.note(counts=found.counts())
    say(f"{config.output}: {len(records)} summaries scored")


def read_summaries(config: SummariesConfig, path: Path) -> list[SummaryRecord]:
    """The summaries asked for. Raises DataError where a language or dimension asked for has none."""
    if path.suffix.lower() in TABLES:
        records = list(summary_columns(TableConfig(input=str(path), format="columns", output=path)))
        if not records:
            raise DataError(f"{path} holds no rows; check the command that wrote it")
        check_unique([record.id for record in records], path)
    else:
        records = read_rows(path, SummaryRecord)
    for field in ("language", "dimension"):
        asked: list[str] | str | None = getattr(config, field)
        if asked is None:
            continue
        there = {getattr(record, field) for record in records}
        if missing := [value for value in listed(asked) if value not in there]:
            raise DataError(f"{path} has no {field} {missing[0]!r}; it has {', '.join(sorted(there))}")
        records = [record for record in records if getattr(record, field) in listed(asked)]
    check_characters((record.model_dump() for record in records), path)
    if not records:
        raise DataError(f"{path} has no summary of these languages on these dimensions; ask for others")
    return records if config.max_per_cell is None else sample(records, config.max_per_cell, config.seed)


def sample(records: Sequence[SummaryRecord], size: int, seed: int) -> list[SummaryRecord]:
    """At most ``size`` summaries of each language and dimension, those of the documents that a shuffle by seed puts first.

    The shuffle is one of all document ids, so that dimensions that share documents keep the same ones.
    """
    documents = sorted({record.document_id for record in records})
    random.Random(seed).shuffle(documents)
    place = {document: number for number, document in enumerate(documents)}
    cells: dict[Cell, list[SummaryRecord]] = defaultdict(list)
    for record in sorted(records, key=lambda record: (place[record.document_id], record.id)):
        cells[record.language, record.dimension].append(record)
    kept = {record.id for members in cells.values() for record in members[:size]}
    return [record for record in records if record.id in kept]


def inputs(config: SummariesConfig) -> list[Path]:
    """The files and folders that decide the scores; a model from the Hub is named in the config alone."""
    model = Path(config.model_name_or_path)
    dev = [config.dev] if config.dev else []
    return [config.input, *dev, *config.directions, *([model] if model.is_dir() else [])]


def check_cells(
    config: SummariesConfig, records: Sequence[SummaryRecord], dev: Sequence[SummaryRecord], steered: Sequence[str]
) -> None:
    """Raises a UserError where a cell that the config asks for cannot be made, whatever the model says."""
    there = {"null_language": steered, "null_dimension": sorted({record.dimension for record in records})}
    for field, known in there.items():
        for value in listed(getattr(config, field) or []):
            check_known(value, known, f"{field}: ")
    if config.prompt_language == "target":
        for record in (*records, *dev):
            wording(record.language)
    rated = {(record.language, record.dimension) for record in dev if record.human_score is not None}
    for record in records if config.dev else ():
        if record.language in steered and (record.language, record.dimension) not in rated:
            raise DataError(
                f"{config.dev} has no human-scored {record.language} summary on {record.dimension} to choose a strength on; "
                "give some, or leave the language's directions out"
            )


def check_metric(config: SummariesConfig) -> None:
    """Raises a UserError for what can be known to be wrong with the model before anything is scored."""
    if config.metric == "comet":
        check_comet(config.model_name_or_path)
    elif is_comet(config.model_name_or_path):
        raise ConfigError(f"{config.model_name_or_path} is a COMET checkpoint; score with metric: comet")
    else:
        check_model(config.model_name_or_path)


def load_metric(config: SummariesConfig, state: PartialState) -> tuple[Metric, Callable[[Directions], None]]:
    """The metric, and what raises ModelError for directions that do not belong to its model."""
    name, device, other = config.model_name_or_path, config.device or str(state.device), config.allow_other_model
    if config.metric == "comet":
        comet = Comet.from_pretrained(name, device, config.batch_size)
        metric: Metric = CometMetric(comet, config.comet_steer, config.batch_size)
        return metric, lambda directions: check_directions(comet, directions, other)
    model, tokenizer = load_model(name, config.dtype, device), load_tokenizer(name, needs_chat_template=False)
    shared = (model, tokenizer, config.max_length, config.batch_size)
    if config.metric == "gptscore":
        metric = GPTScore(*shared, config.given)
    else:
        metric = Direct(*shared, config.prompt_language, config.positions)
    return metric, lambda directions: directions.check(model, other)


def choose(
    config: SummariesConfig, dev: Sequence[SummaryRecord], scored: Scored, sweeps: Sweeps
) -> list[dict[str, Any]]:
    """Fix each cell's point at the best on the development set, whose cells are returned.

    Raises DataError where the development set lacks a cell's human scores.
    """
    found = on_main(lambda: cells(dev, scored.rows, config.resamples, config.seed))
    points: dict[Cell, Chosen | None] = {}
    for cell in found:
        key = (cell["language"], cell["dimension"])
        best = cell["selection"]["oracle"]
        if key in points or cell["method"] is None:
            continue
        if "reason" in best:
            raise DataError(f"{config.dev}: {' '.join(key)} chooses no strength ({best['reason']}); give other rows")
        layers, strength = best["chosen"][0]["layers"], best["chosen"][0]["strength"]
        points[key] = Chosen(layers, strength) if strength else None
    sweeps.choose(points)
    return list(found)


def unsteered_notes(records: Sequence[SummaryRecord], steered: list[str]) -> list[str]:
    """What is scored unsteered, and which directions steer nothing."""
    languages = list(dict.fromkeys(record.language for record in records))
    unsteered = [language for language in languages if language not in steered]
    notes = [f"{', '.join(unsteered)}: no directions, scored unsteered"] if unsteered and steered else []
    unused = [language for language in steered if language not in languages]
    return notes + ([f"directions for {', '.join(unused)} steer nothing: no such summaries"] if unused else [])


def dev_notes(records: Sequence[SummaryRecord], dev: Sequence[SummaryRecord]) -> list[str]:
    """Where strengths were chosen on the very documents that they are measured on."""
    seen = {(record.language, record.document_id) for record in dev}
    rated = [record for record in records if record.human_score is not None]
    shared = sum((record.language, record.document_id) in seen for record in rated)
    return [f"{shared} human-scored summaries are of documents that dev has: steered, no fair test"] if shared else []


def write(
    config: SummariesConfig,
    records: Sequence[SummaryRecord],
    scored: Scored,
    dev: list[dict[str, Any]],
    moves: Mapping[str, HeldOutMoves],
    notes: list[str],
) -> None:
    """metrics.json and table.md, printed too; scores.csv where the input is a table."""
    metrics = summary_metrics(records, scored.rows, config.resamples, config.seed, moves)
    metrics |= {"dev": dev, "notes": notes}
    write_json(metrics, config.output / METRICS_FILE)
    with atomic(config.output / "table.md") as handle:
        handle.write(markdown(metrics) + "\n")
    if config.input.suffix.lower() in TABLES:
        with atomic(config.output / "scores.csv") as handle:
            writer = csv.DictWriter(handle, list(ScoreRow.model_fields), lineterminator="\n")
            writer.writeheader()
            writer.writerows(row.model_dump() for row in scored.rows)
    for line in table(metrics):
        say(line)


if __name__ == "__main__":
    run_command(main, SummariesConfig)
