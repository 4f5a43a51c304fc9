"""Let a judge read records and write a verdict on each.

Run as:
    python -m eval.judge --model_name_or_path MODEL --input records.jsonl --output runs/judged
    accelerate launch -m eval.judge --config configs/eval/judge.yaml --model_name_or_path MODEL ...   (rows over processes)
    python -m eval.judge --base_url http://localhost:8000/v1 --model_name_or_path NAME ...   (a judge on a server)

Writes predictions.jsonl, one row a record in input order. A run that was stopped goes on with --if_exists resume: rows
that are there are kept. Several processes judge the same batches as one would, so they write the same predictions.
"""

import random
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState
from transformers.utils.logging import disable_progress_bar

from core.config import run_command
from core.errors import ConfigError, DataError
from core.length import Fitted
from core.progress import Progress, say
from core.prompt_spec import PromptSpec
from core.records import JudgeRecord, Prediction, read_records
from core.server import Server
from eval.backends.openai import OpenAIBackend
from eval.backends.transformers import TransformersBackend
from eval.characters import check_characters
from eval.grading import GradedVerdict, Judge, default_name, fit_records, prompt_spec
from eval.judge_options import JudgeConfig
from eval.row_files import RowFiles
from train.launch import LONGEST_WAIT, on_main, open_run
from train.load import check_model, load_model, load_tokenizer

__all__ = ["GradedVerdict", "Judge", "JudgeConfig", "main"]

FILE = "predictions.jsonl"


def main(config: JudgeConfig) -> None:
    """Judge every record of the input."""
    state = PartialState(cpu=not torch.accelerator.is_available(), timeout=LONGEST_WAIT)
    if not state.is_main_process:
        disable_progress_bar()
    check_judge(config, state)
    directions = load_directions(config.directions)
    records = of_languages(read_records(config.input), config.language, config.input)
    check_characters((record.model_dump() for record in records), config.input)
    records = sample(records, config.max_samples, config.seed)
    source = config.source()
    tokenizer = load_tokenizer(source, config.chat_template) if source else None
    spec = prompt_spec(source, config.template, config.with_reference, config.max_length)
    fitted = fit_records(records, tokenizer, spec)
    if tokenizer is None:
        say("no tokenizer of the judge is at hand (--tokenizer): nothing is shortened, the server's own limit decides")
    with open_run(config.output, "eval.judge", config.identity(), inputs(config), config.if_exists, config.seed) as run:
        files = RowFiles(config.output / FILE, Prediction, process=state.process_index)
        done = on_main(lambda: set(files.read()))
        if any(one.record.id not in done for one in fitted):
            judge = load_judge(config, tokenizer, spec, state)
            with steered(judge, directions, config):
                judge_left(judge, fitted, done, files, state)
            if isinstance(judge.backend, OpenAIBackend):
                run.note(requests=asdict(judge.backend.counters))
        state.wait_for_everyone()
        counts = on_main(lambda: count(files.finish([record.id for record in records])))
        run.note(prompt=spec._asdict(), counts=counts)
        say(f"{config.output / FILE}: {summary(counts['all'])}")
        check_scored(counts["all"], config.min_scored)


def check_judge(config: JudgeConfig, state: PartialState) -> None:
    """Raises a UserError for what can be known to be wrong with the judge before anything is read."""
    if not config.base_url:
        check_model(config.model_name_or_path)
    elif state.num_processes > 1:
        raise ConfigError("a server is asked by one process (--concurrency many at once); run python -m eval.judge")
    else:
        Server(config.server())  # its address and key
        if given := [name for name in ("batch_size", "token_budget") if name in config.model_fields_set]:
            say(
                f"{', '.join(given)}: not used, for a server makes its own batches of the --concurrency requests in flight"
            )


def judge_left(
    judge: Judge, fitted: Sequence[Fitted], done: Collection[Any], files: RowFiles[Prediction], state: PartialState
) -> None:
    """Write the predictions of this process's share that are not there yet, each as it comes."""
    # Batches are dealt out whole: their make-up, on which rounding hangs, is that of one process.
    mine = judge.backend.plan(fitted, done)[state.process_index :: state.num_processes]
    left = sum(fitted[row].record.id not in done for _, rows in mine for row in rows)
    with files.appender() as out, Progress(left, "judge") as progress:
        for number, rows in mine:
            for _, prediction in judge.predict([fitted[row] for row in rows], number):
                if prediction.id not in done:
                    out.write(prediction.model_dump())
                    progress.update()


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
    named = (config.input, config.model_name_or_path, config.tokenizer, config.directions)
    paths = [Path(one) for one in named if one is not None]
    return [path for path in paths if path.exists()]


def load_judge(config: JudgeConfig, tokenizer: Any, spec: PromptSpec, state: PartialState) -> Judge:
    """The judge that a config asks for: on its server, or on this process's device."""
    name = config.judge or default_name(config.model_name_or_path)
    if config.base_url:
        backend = OpenAIBackend(config.server(), config.request_parameters(), tokenizer, config.system_role)
        return Judge(backend, spec, name)
    model = load_model(config.model_name_or_path, config.dtype, config.device or state.device)
    if config.directions and not config.judge:  # else steered and unsteered verdicts would meet under one name
        name += f" {config.method} {config.strength:+g}"
    return Judge(
        TransformersBackend(
            model, tokenizer, config.max_new_tokens, config.sampling(), config.batch_size, config.token_budget
        ),
        spec,
        name,
    )


def load_directions(folder: Path | None) -> Any:
    """The directions to steer with, or None."""
    if folder is None:
        return None
    from eval.steering.directions import Directions

    return Directions.load(folder)


def steered(judge: Judge, directions: Any, config: JudgeConfig) -> AbstractContextManager[Any]:
    """The context in which the model generates: steered, or as it is."""
    if directions is None or config.strength is None or not isinstance(judge.backend, TransformersBackend):
        return nullcontext()
    from eval.steering.hooks import steer

    return steer(
        judge.backend.model,
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
