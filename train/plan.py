"""``train.sft --plan``: what a training will take, before it is started. No weights are loaded, no folder is made.

Run as:
    python -m train.sft --config configs/train/hercule-llama-3.1-8b.yaml --language hi \\
        --plan --accelerate_config accelerate_config.yaml

Steps and tokens need the records, tokens also the tokenizer; what is not to be had is left out with the reason.
"""

import math
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np

from core.errors import ModelError
from core.length import VERDICT_TOKENS
from core.records import JudgeRecord
from train.adapter import check_adapter
from train.arguments import Arguments
from train.dataset import MASKED, encode, read_sets
from train.launcher import Launcher, read_launcher
from train.load import load_tokenizer
from train.memory import Setting
from train.preflight import check_pad_token
from train.reference import check_reference
from train.sampling import lengths_of
from train.shapes import Shape, config_of, shape_of
from train.template import check_chat_template

# So many records of a language are tokenized; a larger number is scaled up from them.
SAMPLE = 1000


class LanguagePlan(NamedTuple):
    """Records of one language. The rest is None where the tokenizer is not to be had; ``tokens`` and ``learned`` (those
    with a loss) are of one epoch, ``sampled`` is the number of records that they and the shares were taken from.
    """

    records: int
    shortened: float | None = None
    refused: float | None = None
    tokens: int | None = None
    learned: int | None = None
    sampled: int = 0


class Plan(NamedTuple):
    """A training in numbers. ``shapes`` is the model's by method (full, lora, qlora), None where its size is unknown.
    ``missing`` says what could not be known, and why.
    """

    arguments: Arguments
    launcher: Launcher
    languages: dict[str, LanguagePlan]
    steps: int | None
    setting: Setting
    shapes: dict[str, Shape] | None
    missing: list[str]

    @property
    def effective_batch(self) -> int:
        """Records of one optimizer step, over all processes."""
        training = self.arguments.training
        return training.per_device_train_batch_size * training.gradient_accumulation_steps * self.launcher.processes


def make_plan(arguments: Arguments) -> Plan:
    """Raises what a start would raise of the settings, the data and the tokenizer, but not for their absence."""
    launcher = read_launcher(arguments.training.accelerate_config)
    missing: list[str] = []
    languages = _languages(arguments, missing)
    shapes = None
    try:
        shapes = _shapes(arguments)
    except ModelError as error:
        missing.append(f"memory and disk: {error}")
    steps = _steps(arguments, launcher, languages)
    return Plan(arguments, launcher, languages, steps, _setting(arguments, launcher), shapes, missing)


def _languages(arguments: Arguments, missing: list[str]) -> dict[str, LanguagePlan]:
    absent = [file for file in arguments.data.files if not Path(file).is_file()]
    if absent:
        missing.append(f"steps and tokens: {absent[0]} is not there; data_prep.convert makes it")
        return {}
    records, held_out = read_sets(arguments.data, arguments.spec)
    check_reference([*records, *held_out], arguments.judge.reference)
    by_language: dict[str, list[JudgeRecord]] = defaultdict(list)
    for record in records:
        by_language[record.language].append(record)
    base = arguments.model.model_name_or_path
    try:
        tokenizer = load_tokenizer(base, arguments.judge.chat_template, revision=arguments.model.model_revision)
    except ModelError as error:
        if Path(base).is_dir():
            raise
        missing.append(f"tokens: {error}")
        return {language: LanguagePlan(len(rows)) for language, rows in sorted(by_language.items())}
    check_chat_template(tokenizer)
    check_pad_token(tokenizer, arguments.training.pad_token)
    return {language: _count(rows, tokenizer, arguments) for language, rows in sorted(by_language.items())}


def _count(records: list[JudgeRecord], tokenizer: object, arguments: Arguments) -> LanguagePlan:
    rows = [
        records[at] for at in np.unique(np.linspace(0, len(records) - 1, min(SAMPLE, len(records))).round().astype(int))
    ]
    encoded = encode(rows, tokenizer, arguments.spec, "sample", arguments.data.strip_score_sentence)
    counts = next(iter(encoded.counts.values()))
    scale = len(records) / len(rows)
    learned = sum(
        int((np.asarray(labels) != MASKED).sum()) for labels in encoded.dataset.with_format("numpy")["labels"]
    )
    return LanguagePlan(
        len(records),
        counts["shortened"] / len(rows),
        counts["refused"] / len(rows),
        round(int(lengths_of(encoded.dataset).sum()) * scale),
        round(learned * scale),
        len(rows),
    )


def _steps(arguments: Arguments, launcher: Launcher, languages: dict[str, LanguagePlan]) -> int | None:
    training = arguments.training
    if training.max_steps > 0:
        return training.max_steps
    if not languages:
        return None
    kept = sum(plan.records * (1 - (plan.refused or 0)) for plan in languages.values())
    if training.packing:
        if any(plan.tokens is None for plan in languages.values()):
            return None
        kept = sum(plan.tokens or 0 for plan in languages.values()) / arguments.spec.max_length
    batches = math.ceil(round(kept) / (training.per_device_train_batch_size * launcher.processes))
    return math.ceil(training.num_train_epochs * math.ceil(batches / training.gradient_accumulation_steps))


def _shapes(arguments: Arguments) -> dict[str, Shape]:
    model = arguments.model
    whole = shape_of(model.model_name_or_path)
    adapted = shape_of(model.model_name_or_path, model.lora_r, model.lora_target_modules or "all-linear")
    if trained := check_adapter(config_of(model.model_name_or_path), model):
        adapted = adapted._replace(trained=trained)
    return {"full": whole, "lora": adapted, "qlora": adapted}


def _setting(arguments: Arguments, launcher: Launcher) -> Setting:
    training, model = arguments.training, arguments.model
    records = training.per_device_train_batch_size
    strategy = "ddp" if launcher.strategy == "single" else launcher.strategy
    return Setting(
        method=("qlora" if model.load_in_4bit else "lora") if model.use_peft else "full",
        strategy=strategy,
        processes=launcher.processes,
        weight_bytes=4 if model.dtype == "float32" else 2,
        compute_bytes=2 if training.bf16 or training.fp16 or model.dtype in ("bfloat16", "float16") else 4,
        batch_tokens=records * arguments.spec.max_length,
        learned_tokens=records * VERDICT_TOKENS,
        checkpointing=training.gradient_checkpointing,
        offload_states=launcher.offload_optimizer,
        offload_weights=launcher.offload_weights,
        dropout=model.lora_dropout > 0,
        eager_length=arguments.spec.max_length if model.attn_implementation == "eager" else 0,
        quantized_shared=str(model.bnb_4bit_quant_storage) in ("bfloat16", "float16", "float32"),
    )
