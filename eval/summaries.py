"""Score summaries with a frozen language model, steered toward a pivot language and not, and compare with human scores.

Run as:
    python -m eval.summaries --metric gptscore --model_name_or_path MODEL --input summaries.jsonl \
        --directions runs/hi-en runs/fr-en --method vector --strengths -0.2 -0.1 0 0.1 0.2 --output runs/summaries

Each folder of directions steers the rows of its source language; rows of other languages are scored unsteered. Writes
scores.jsonl, one row for each summary and strength, and metrics.json. A run that was stopped goes on with --if_exists resume.
"""

import sys
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from core.config import CommandConfig, IfExists, run_command
from core.errors import ConfigError, DataError
from core.jsonl import write_json
from core.progress import say
from core.records import SummaryRecord, read_rows
from core.run import Run, shown_path
from eval.gptscore import GPTScore
from eval.steering.directions import Directions
from eval.steering.hooks import Method, Scale, check_steerable
from eval.summary_metrics import cells
from eval.summary_scores import Setting, score_summaries
from eval.summary_table import table
from train.load import check_model, load_model, load_tokenizer

__all__ = ["SummariesConfig", "main"]

SCORES_FILE, METRICS_FILE = "scores.jsonl", "metrics.json"
# Symmetric, log-spaced to ±.3 for a vector on the relative scale; a raw vector has no scale that suits every model.
DEFAULT_STRENGTHS = {
    ("vector", "relative"): (-0.3, -0.1, -0.03, 0.0, 0.03, 0.1, 0.3),
    ("map", None): (0.0, 0.25, 0.5, 0.75, 1.0),
}


class SummariesConfig(CommandConfig):
    """Fields of eval.summaries."""

    metric: Literal["gptscore"] = Field("gptscore", description="how a summary is scored")
    model_name_or_path: str = Field(description="model folder, adapter folder or Hub id")
    input: Path = Field(description="summaries.jsonl")
    output: Path = Field(description="run folder to make")
    if_exists: IfExists = Field("fail", description="what to do with an output folder that exists")
    language: list[str] | str | None = Field(None, description="score the summaries of these languages only")
    dimension: list[str] | str | None = Field(None, description="score the summaries on these dimensions only")
    directions: list[Path] = Field([], description="folders of eval.directions, one a source language")
    method: Method = Field("vector", description="how to steer")
    scale: Scale = Field("relative", description="unit of a vector's strength")
    strengths: list[float] | None = Field(
        None, min_length=1, description="0 is added; null: ±.3, ±.1, ±.03 relative, or 0, .25, .5, .75, 1 for a map"
    )
    allow_other_model: bool = Field(False, description="steer with directions of another model, e.g. a judge's base")
    max_length: int = Field(4096, ge=128, description="tokens of document and summary; longer documents are shortened")
    batch_size: int = Field(8, ge=1, description="strengths scored at once")
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = Field(
        "auto", description="auto: as the weights are stored"
    )
    device: str | None = Field(None, description="null: the GPU where there is one")
    resamples: int = Field(10_000, ge=0, description="bootstrap resamples of documents behind each interval")
    seed: int = Field(42, description="of the bootstrap")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.strengths is not None and not self.directions:
            raise ConfigError("strengths need directions; name folders of eval.directions or leave strengths out")
        self.grid()
        return self

    def grid(self) -> list[float]:
        """The strengths to score at, rising, 0 among them. Raises ConfigError for one that the method does not take."""
        scale = self.scale if self.method == "vector" else None
        chosen = self.strengths or DEFAULT_STRENGTHS.get((self.method, scale))
        if chosen is None:
            raise ConfigError("scale raw has no default strengths; give strengths")
        low, high = (0.0, 1.0) if self.method == "map" else (-sys.float_info.max, sys.float_info.max)
        if not all(low <= strength <= high for strength in chosen):
            raise ConfigError(f"strengths of a {self.method} go from {low:g} to {high:g}; correct strengths")
        return sorted({0.0, *chosen})


def main(config: SummariesConfig) -> None:
    """Score every summary at every strength, and write how the scores go with the human ones."""
    records = read_summaries(config)
    by_language = read_directions(config.directions)
    settings = {record.language: setting(config, by_language.get(record.language)) for record in records}
    model_name = config.model_name_or_path
    check_model(model_name)
    folders = [Path(model_name)] if Path(model_name).is_dir() else []
    inputs = [config.input, *config.directions, *folders]
    with Run(config.output, "eval.summaries", config, inputs, config.if_exists, config.seed) as run:
        model = load_model(model_name, config.dtype, config.device or "auto")
        tokenizer = load_tokenizer(model_name, needs_chat_template=False)
        for directions in by_language.values():
            directions.check(model, config.allow_other_model)
        metric = GPTScore(model, tokenizer, config.max_length, config.batch_size)
        scored = score_summaries(records, settings, metric, shown_path(model_name), run.path / SCORES_FILE)
        notes = [*unsteered_notes(settings, by_language), *scored.notes()]
        metrics = {"cells": cells(records, scored.rows, config.resamples, config.seed), "notes": notes}
        write_json(metrics, run.path / METRICS_FILE)
        run.note(counts=scored.counts)
    for line in table(metrics):
        say(line)
    say(f"{config.output}: {len(records)} summaries scored")


def read_summaries(config: SummariesConfig) -> list[SummaryRecord]:
    """The summaries asked for. Raises DataError where a language or dimension asked for has none."""
    records = read_rows(config.input, SummaryRecord)
    for field in ("language", "dimension"):
        asked: list[str] | str | None = getattr(config, field)
        if asked is None:
            continue
        wanted = [asked] if isinstance(asked, str) else asked
        there = {getattr(record, field) for record in records}
        if missing := [value for value in wanted if value not in there]:
            raise DataError(f"{config.input} has no {field} {missing[0]!r}; it has {', '.join(sorted(there))}")
        records = [record for record in records if getattr(record, field) in wanted]
    if not records:
        raise DataError(f"{config.input} has no summary of these languages on these dimensions; ask for others")
    return records


def read_directions(folders: list[Path]) -> dict[str, Directions]:
    """Directions by source language. Raises DataError where it is not known, ConfigError where two folders share it."""
    by_language: dict[str, Directions] = {}
    for folder in folders:
        directions = Directions.load(folder)
        source = directions.facts.source
        if source is None:
            raise DataError(f"{folder} does not say its source language; write it as source into directions.json")
        if source in by_language:
            raise ConfigError(f"two folders of directions are for {source}; name one for each language")
        by_language[source] = directions
    return by_language


def setting(config: SummariesConfig, directions: Directions | None) -> Setting:
    """How the summaries of a language are scored: at all strengths, or unsteered where it has no directions."""
    if directions is None:
        return Setting(None, None, None, [0.0], False)
    scale = config.scale if config.method == "vector" else None
    check_steerable(directions, config.method, config.scale)
    return Setting(directions, config.method, scale, config.grid(), config.allow_other_model)


def unsteered_notes(settings: dict[str, Setting], by_language: dict[str, Directions]) -> list[str]:
    """What is scored unsteered, and which directions steer nothing."""
    unsteered = [language for language, chosen in settings.items() if chosen.directions is None]
    notes = [f"{', '.join(unsteered)}: no directions, scored unsteered"] if unsteered and by_language else []
    unused = [language for language in by_language if language not in settings]
    return notes + ([f"directions for {', '.join(unused)} steer nothing: no such summaries"] if unused else [])


if __name__ == "__main__":
    run_command(main, SummariesConfig)
