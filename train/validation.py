"""Validation that means something: verdicts written by the judge in training, against gold, beside the loss.

At each evaluation the judge writes its verdict on a fixed sample of the validation records. It gets the prompt that any
judge gets, never the gold feedback: that ends by saying the score.
"""

import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from accelerate import DistributedType
from accelerate.utils import gather_object
from transformers.integrations.deepspeed import is_deepspeed_zero3_enabled

from core.agreement import Agreement, agreement, figures, mean_over_groups
from core.chat import stop_token_ids
from core.errors import ConfigError
from core.length import fit
from core.progress import is_main_process, say
from core.prompt_spec import PromptSpec
from core.records import JudgeRecord, Prediction, write_rows
from core.verdict import parse_verdict
from train.arguments import DataArguments, TrainingArguments
from train.generation import batches, decode, decoding, generate, prediction, up_to_stop, whole_root

FILE = "validation.jsonl"
# Figures that an evaluation logs, each as eval_NAME and eval_NAME_LANGUAGE; unscored is a share.
LOGGED = ("kappa", "pearson", "exact")


class VerdictValidation:
    """Writes verdicts on the records of a sample, and keeps those of the last evaluation: here and in validation.jsonl."""

    def __init__(
        self, records: Sequence[JudgeRecord], tokenizer: Any, spec: PromptSpec, training: TrainingArguments
    ) -> None:
        self.prompts = [fit(one, tokenizer, spec.max_length, spec.template, spec.with_reference) for one in records]
        self.tokenizer, self.template, self.training = tokenizer, spec.template, training
        self.folder = Path(training.output_dir)
        self.predictions: list[Prediction] = []

    def __call__(self, model: Any, accelerator: Any) -> dict[str, float]:
        """One evaluation's figures (see `measures`). Every process calls it, and each gets the same."""
        first, start = not self.predictions, time.monotonic()
        mine = self._write_verdicts(model, accelerator)
        by_id = {row.id: row for row in gather_object(mine)}
        self.predictions = [by_id[one.record.id] for one in self.prompts]
        if is_main_process():
            write_rows(self.predictions, self.folder / FILE)
        if first:
            self._say_cost(time.monotonic() - start)
        return measures(self.predictions)

    def report(self) -> dict[str, Any]:
        """For the manifest: every agreement figure of the last evaluation with its interval, pooled and by language."""
        by_language = {code: _agreement(rows).to_json() for code, rows in _by_language(self.predictions).items()}
        return {"all": _agreement(self.predictions).to_json(), "by_language": by_language}

    def _write_verdicts(self, model: Any, accelerator: Any) -> list[Prediction]:
        """This process's share of the verdicts."""
        stops = stop_token_ids(self.tokenizer, model.generation_config)
        config = decoding(self.tokenizer, stops, self.training.max_new_tokens)
        sharded = is_deepspeed_zero3_enabled() or accelerator.distributed_type == DistributedType.FSDP
        synced = sharded and accelerator.num_processes > 1
        written: list[Prediction] = []
        dealt = deal(
            batches(self.prompts, self.training.per_device_eval_batch_size),
            accelerator.process_index,
            accelerator.num_processes,
        )
        with torch.no_grad(), whole_root(model), accelerator.autocast():
            for rows in dealt:
                shown = [self.prompts[row] for row in rows]
                prompts = [one.prompt or [] for one in shown]
                sequences = generate(model, config, prompts, accelerator.device, synced_gpus=synced)
                for one, tokens in zip(shown, sequences[:, max(map(len, prompts)) :].tolist(), strict=True):
                    raw = decode(self.tokenizer, up_to_stop(tokens, stops))
                    written.append(prediction(one, self.folder.name, self.template, parse_verdict(raw), raw))
        return written

    def _say_cost(self, seconds: float) -> None:
        drawn = ", ".join(f"{code} {len(rows)}" for code, rows in _by_language(self.predictions).items())
        say(
            f"validation: {len(self.predictions)} verdicts ({drawn}) of up to {self.training.max_new_tokens} tokens took "
            f"{seconds:.1f} s, and will at each evaluation; the last ones are in {FILE} (fewer: validation_samples)"
        )


def draw_by_language(records: Sequence[JudgeRecord], per_language: int, seed: int) -> list[JudgeRecord]:
    """Up to ``per_language`` records of each language, drawn without replacement, in their own order."""
    by_language: dict[str, list[int]] = {}
    for row, record in enumerate(records):
        by_language.setdefault(record.language, []).append(row)
    drawn: list[int] = []
    for rows in by_language.values():  # each from the seed alone, so that no language's sample hangs on another's
        drawn += random.Random(seed).sample(rows, min(per_language, len(rows)))
    return [records[row] for row in sorted(drawn)]


def check_evaluation(data: DataArguments, training: TrainingArguments) -> None:
    """Raises ConfigError for settings of evaluation that contradict each other, before anything is read."""
    evaluated = training.eval_strategy != "no"
    if evaluated and not data.validation_file:
        raise ConfigError(f"eval_strategy is {training.eval_strategy.value}, and validation_file is not set; name one")
    if training.early_stopping_patience and not (evaluated and training.load_best_model_at_end):
        raise ConfigError(
            "early_stopping_patience stops at the best evaluation: set eval_strategy and save_strategy to steps or epoch, "
            "and load_best_model_at_end: true"
        )


def check_best_metric(metric: str | None, sample: Sequence[JudgeRecord]) -> None:
    """Raises ConfigError where an evaluation may lack the metric that picks the best checkpoint."""
    if metric is None:
        return
    languages = sorted({one.language for one in sample})
    several = [code for code in languages if len({one.gold for one in sample if one.language == code}) > 1]
    found = ["loss", "mean_token_accuracy"]
    if sample:
        found += ["exact", *(f"exact_{code}" for code in languages), *(f"kappa_{code}" for code in several)]
    if several:
        found.append("kappa")
    name = metric.removeprefix("eval_")
    if name not in found:  # pearson too: it has no value while a judge gives one score to all
        raise ConfigError(
            f"metric_for_best_model {metric} may have no value on this validation_file; choose one of {', '.join(found)} "
            "(kappa needs a sample of two gold scores at least)"
        )


def measures(predictions: Sequence[Prediction]) -> dict[str, float]:
    """kappa, pearson, exact and unscored (a share): ``kappa_hi`` by language, ``kappa`` their mean over languages.

    Unscored verdicts count as the score farthest from gold. An undefined figure (gold or verdicts of one score) is left out.
    """
    by_language: dict[str, dict[str, float | None]] = {}
    for code, rows in _by_language(predictions).items():
        gold, scores = _pairs(rows)
        found = figures(gold, scores, LOGGED, resamples=0)
        unscored = sum(score is None for score in scores) / len(scores)
        by_language[code] = {name: found[name].value for name in LOGGED} | {"unscored": unscored}
    named: dict[str, float | None] = {}
    for name in (*LOGGED, "unscored"):
        named[name] = mean_over_groups(values[name] for values in by_language.values()).mean
        named |= {f"{name}_{code}": values[name] for code, values in by_language.items()}
    return {name: value for name, value in named.items() if value is not None}


def deal(all_batches: list[list[int]], process: int, processes: int) -> list[list[int]]:
    """A process's batches; the last one again where others have one more, for sharded weights need all processes at once.

    Batches are dealt out whole: their make-up, on which rounding hangs, is that of one process.
    """
    rounds = -(-len(all_batches) // processes)
    mine = all_batches[process::processes]
    return mine + all_batches[-1:] * (rounds - len(mine))


def _by_language(predictions: Sequence[Prediction]) -> dict[str, list[Prediction]]:
    codes = sorted({row.language for row in predictions})
    return {code: [row for row in predictions if row.language == code] for code in codes}


def _agreement(rows: Sequence[Prediction]) -> Agreement:
    return agreement(*_pairs(rows), clusters=[row.item_id for row in rows])


def _pairs(rows: Sequence[Prediction]) -> tuple[list[float], list[int | None]]:
    return [float(row.gold or 0) for row in rows], [row.score for row in rows]
