"""Let a judge read records and write a verdict on each.

Run as:
    python -m eval.judge --model_name_or_path MODEL --input records.jsonl --output runs/judged
    accelerate launch -m eval.judge --config configs/eval/judge.yaml --model_name_or_path MODEL ...   (rows over processes)

Writes predictions.jsonl, one row a record in input order. A run that was stopped goes on with --if_exists resume: rows
that are there are kept. Several processes judge the same batches as one would, so they write the same predictions.
"""

import random
from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, Self

import torch
from accelerate import PartialState
from pydantic import Field, model_validator
from transformers.utils.logging import disable_progress_bar

from core.config import CommandConfig, IfExists, run_command
from core.errors import ConfigError, DataError
from core.progress import Progress, say
from core.prompt_spec import PromptSpec
from core.records import JudgeRecord, Prediction, read_records
from eval.backends.transformers import Sampling, TransformersBackend
from eval.grading import GradedVerdict, Judge, default_name, fit_records, prompt_spec
from eval.prediction_files import FILE, PredictionFiles
from train.generation import batches
from train.launch import on_main, open_run
from train.load import check_model, load_model, load_tokenizer

__all__ = ["GradedVerdict", "Judge", "JudgeConfig", "main"]

# Processes finish at different times; the default of ten minutes is shorter than the spread of a long run.
LONGEST_WAIT = timedelta(days=7)


class JudgeConfig(CommandConfig):
    """Fields of eval.judge."""

    model_name_or_path: str = Field(description="model folder, adapter folder or Hub id")
    input: Path = Field(description="records.jsonl")
    output: Path = Field(description="run folder to make")
    if_exists: IfExists = Field("fail", description="what to do with an output folder that exists")
    language: list[str] | str | None = Field(None, description="judge the records of these languages only")
    max_samples: int | None = Field(None, ge=1, description="judge this many records, drawn with the seed; null: all")
    min_scored: float = Field(0.0, ge=0, le=1, description="fail where a smaller share of the verdicts can be read")
    template: str | None = Field(
        None, description="prompt template; null: as the model's judge.json says, else default"
    )
    with_reference: bool | None = Field(None, description="show the reference answer; null: as judge.json, else true")
    max_length: int | None = Field(
        None, gt=512, description="tokens of prompt and verdict; null: as judge.json, else 4096"
    )
    chat_template: str | None = Field(None, description="chat template by name, for a base model without one")
    judge: str | None = Field(None, description="name written in the rows; null: last part of the model's path")
    batch_size: int = Field(8, ge=1, description="records generated for at once")
    max_new_tokens: int = Field(512, ge=1, description="longest verdict, in tokens")
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = Field(
        "auto", description="auto: as the weights are stored"
    )
    device: str | None = Field(None, description="null: this process's GPU where there is one")
    do_sample: bool = Field(False, description="draw tokens instead of greedy decoding")
    temperature: float = Field(1.0, gt=0, description="of drawing; needs do_sample")
    top_p: float = Field(1.0, gt=0, le=1, description="of drawing; needs do_sample")
    seed: int = Field(42, description="of drawing, and of max_samples")
    directions: Path | None = Field(None, description="steer with the directions of this folder")
    method: Literal["vector", "map"] = Field("vector", description="how to steer")
    strength: float | None = Field(None, description="how far to steer; positive is toward the pivot")
    scale: Literal["relative", "raw"] = Field("relative", description="unit of a vector's strength")
    allow_other_model: bool = Field(
        False, description="steer with directions learned on another model, such as the base"
    )

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.directions is None) != (self.strength is None):
            raise ConfigError("directions and strength steer together; set both or neither")
        if not self.do_sample and (self.temperature, self.top_p) != (1.0, 1.0):
            raise ConfigError("temperature and top_p need do_sample: true; set it or leave them out")
        return self


def main(config: JudgeConfig) -> None:
    """Judge every record of the input."""
    state = PartialState(cpu=not torch.accelerator.is_available(), timeout=LONGEST_WAIT)
    if not state.is_main_process:
        disable_progress_bar()
    check_model(config.model_name_or_path)
    directions = load_directions(config.directions)
    records = of_languages(read_records(config.input), config.language, config.input)
    records = sample(records, config.max_samples, config.seed)
    tokenizer = load_tokenizer(config.model_name_or_path, config.chat_template)
    spec = prompt_spec(config.model_name_or_path, config.template, config.with_reference, config.max_length)
    fitted = fit_records(records, tokenizer, spec)
    with open_run(config.output, "eval.judge", config, inputs(config), config.if_exists, config.seed) as run:
        files = PredictionFiles(config.output, state.process_index)
        done = on_main(lambda: set(files.read()))
        left = [one for one in fitted if one.record.id not in done]
        # Batches are dealt out whole: their make-up, on which rounding hangs, is that of one process.
        mine = list(enumerate(batches(left, config.batch_size)))[state.process_index :: state.num_processes]
        if mine:
            judge = load_judge(config, tokenizer, spec, state)
            progress = Progress(sum(len(rows) for _, rows in mine), "judge")
            with steered(judge.backend.model, directions, config), files.appender() as out, progress:
                for number, rows in mine:
                    for prediction in judge.predict([left[row] for row in rows], number):
                        out.write(prediction.model_dump())
                    progress.update(len(rows))
        state.wait_for_everyone()
        counts = on_main(lambda: count(files.finish([record.id for record in records])))
        run.note(prompt=spec._asdict(), counts=counts)
        say(f"{config.output / FILE}: {summary(counts['all'])}")
        check_scored(counts["all"], config.min_scored)


def sample(records: list[JudgeRecord], size: int | None, seed: int) -> list[JudgeRecord]:
    """As many records drawn without replacement, in their own order; all where ``size`` is None or no smaller."""
    if size is None or size >= len(records):
        return records
    drawn = sorted(random.Random(seed).sample(range(len(records)), size))
    return [records[row] for row in drawn]


def check_scored(counts: dict[str, Any], least: float) -> None:
    """Raises RuntimeError (exit status 1: the judge failed, not its user) where too few verdicts could be read."""
    scored = counts["rows"] - counts["unscored"]
    if scored < least * counts["rows"]:
        raise RuntimeError(f"only {scored} of {counts['rows']} verdicts could be read, fewer than min_scored {least}")


def of_languages(records: list[JudgeRecord], language: list[str] | str | None, where: Path) -> list[JudgeRecord]:
    """The records of one or some languages. Raises DataError where one of these has no record."""
    if language is None:
        return records
    wanted = [language] if isinstance(language, str) else language
    there = {record.language for record in records}
    if absent := [code for code in wanted if code not in there]:
        raise DataError(f"{where} has no record in {', '.join(absent)}; it has {', '.join(sorted(there))}")
    return [record for record in records if record.language in wanted]


def inputs(config: JudgeConfig) -> list[Path]:
    """The files and folders that decide the verdicts; a model from the Hub is named in the config alone."""
    paths = (config.input, Path(config.model_name_or_path), config.directions)
    return [path for path in paths if path is not None and path.exists()]


def load_judge(config: JudgeConfig, tokenizer: Any, spec: PromptSpec, state: PartialState) -> Judge:
    """The judge that a config asks for, on this process's device."""
    model = load_model(config.model_name_or_path, config.dtype, config.device or state.device)
    sampling = Sampling(config.temperature, config.top_p, config.seed) if config.do_sample else None
    backend = TransformersBackend(model, tokenizer, config.max_new_tokens, sampling)
    name = default_name(config.model_name_or_path)
    if config.directions:  # else steered and unsteered verdicts would meet under one name
        name += f" {config.method} {config.strength:+g}"
    return Judge(backend, spec, config.judge or name, config.batch_size)


def load_directions(folder: Path | None) -> Any:
    """The directions to steer with, or None."""
    if folder is None:
        return None
    from eval.steering.directions import Directions

    return Directions.load(folder)


def steered(model: Any, directions: Any, config: JudgeConfig) -> AbstractContextManager[Any]:
    """The context in which the model generates: steered, or as it is."""
    if directions is None or config.strength is None:
        return nullcontext()
    from eval.steering.hooks import steer

    return steer(
        model,
        directions,
        config.strength,
        method=config.method,
        scale=config.scale,
        allow_other_model=config.allow_other_model,
    )


def count(predictions: list[Prediction]) -> dict[str, Any]:
    """Rows, unscored rows by reason, and shortened prompts: all, and by language."""
    languages = sorted({row.language for row in predictions})
    by_language = {code: _counts([row for row in predictions if row.language == code]) for code in languages}
    return {"all": _counts(predictions), "by_language": by_language}


def summary(counts: dict[str, Any]) -> str:
    """One line of counts: ``12 rows, 1 unscored (1 too long), 0 prompts shortened``."""
    reasons = ", ".join(f"{number} {reason}" for reason, number in counts["failures"].items())
    unscored = f"{counts['unscored']} unscored" + (f" ({reasons})" if reasons else "")
    return f"{counts['rows']} rows, {unscored}, {counts['shortened']} prompts shortened"


def _counts(rows: list[Prediction]) -> dict[str, Any]:
    failures = Counter(row.failure for row in rows if row.failure is not None)
    return {
        "rows": len(rows),
        "unscored": failures.total(),
        "failures": dict(failures.most_common()),
        "shortened": sum(row.shortened for row in rows),
    }


if __name__ == "__main__":
    run_command(main, JudgeConfig)
