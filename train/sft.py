"""Train a judge: supervised fine-tuning on records, with loss on the verdict (feedback, [RESULT], score) alone.

Run as:
    accelerate launch --config_file accelerate_config.yaml -m train.sft \\
        --config configs/train/hercule-llama-3.1-8b.yaml --language hi
or, in one process:
    python -m train.sft --model_name_or_path M --train_file records.jsonl --use_peft true --output_dir runs/judge
What it would take, without starting it: add --plan --accelerate_config FILE.

Every field of trl's SFTConfig and ModelConfig keeps its name. output_dir then holds the model or the LoRA adapter, its
tokenizer with the chat template, generation_config.json with the end-of-turn token, judge.json (how to prompt it) and
manifest.json.
"""

import sys
import warnings
from pathlib import Path
from typing import Any

from accelerate import PartialState
from transformers import set_seed
from trl import get_peft_config, get_quantization_config

from core.chat import stop_token_id, stop_token_ids
from core.config import exit_status
from core.progress import is_main_process, say
from train.adapter import check_adapter
from train.arguments import Arguments, parse_arguments
from train.attention import attention
from train.check import check_checkpoint, describe
from train.checkpoint import last_checkpoint, save_judge
from train.dataset import Encoded, check_vocabulary, encode_sets, read_sets, show_example
from train.interrupt import StopSignal, train_until
from train.launch import on_main, open_run
from train.load import check_model, load_model, load_tokenizer
from train.plan import make_plan
from train.plan_text import describe as describe_plan
from train.preflight import check_pad_token, check_settings
from train.received import check_received
from train.reference import check_reference
from train.shapes import config_of
from train.template import check_chat_template
from train.trainer import JudgeTrainer
from train.validation import VerdictValidation, check_best_metric, check_evaluation, draw_by_language

# Fields of a generation config that a greedy one may not set.
SAMPLING = ("temperature", "top_p", "top_k", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff", "top_h")


def main(arguments: Arguments) -> None:
    data, judge, training, model_args = arguments
    spec = arguments.spec
    base, output, revision = model_args.model_name_or_path, training.output_dir, model_args.model_revision
    check_settings(arguments)
    check_evaluation(data, training)
    if training.plan:
        say(describe_plan(make_plan(arguments)))
        return
    check_model(base, whole=True, revision=revision)
    attn_implementation = attention(model_args.attn_implementation, training.packing)
    built = config_of(base, revision)
    check_adapter(built, model_args, attn_implementation)
    records, held_out = read_sets(data, spec)
    check_reference([*records, *held_out], judge.reference)
    sample = draw_by_language(held_out, training.validation_samples, training.seed)
    check_best_metric(training.metric_for_best_model, sample)

    inputs = [*data.files, *([base] if Path(base).is_dir() else [])]
    with open_run(output, "train.sft", arguments.resolved(), inputs, judge.if_exists, training.seed) as run:
        set_seed(training.seed)
        tokenizer = load_tokenizer(base, judge.chat_template, revision=revision)
        check_chat_template(tokenizer)
        check_pad_token(tokenizer, training.pad_token)
        train_set, validation_set = encode_sets(
            records, held_out, tokenizer, spec, data.strip_score_sentence, data.max_refused
        )
        check_vocabulary([train_set, validation_set], tokenizer, training.pad_token, built)
        show_example(train_set.dataset, tokenizer)
        run.note(counts=train_set.counts, refused=train_set.refused)

        validation = VerdictValidation(sample, tokenizer, spec, training) if sample else None
        trainer = make_trainer(arguments, tokenizer, attn_implementation, train_set, validation_set, validation)
        for received, encoded in ((trainer.train_dataset, train_set), (trainer.eval_dataset, validation_set)):
            if encoded:
                check_received(received, trainer.data_collator, encoded.dataset, stop_token_id(tokenizer))
        start = on_main(lambda: last_checkpoint(output)) if run.resumed else None
        with StopSignal() as stop:
            metrics = train_until(trainer, stop, start)
            if validation_set:
                metrics |= trainer.final_metrics()
            save_judge(trainer, spec, languages=list(train_set.counts), base_model=base)
        run.note(metrics=metrics, validation=validation and validation.report())

        del trainer
        PartialState().destroy_process_group()
        if is_main_process():
            say(describe(output, check_checkpoint(output, is_judge=True, require_stop=judge.require_stop)))


def make_trainer(
    arguments: Arguments,
    tokenizer: Any,
    attn_implementation: str | None,
    train_set: Encoded,
    validation_set: Encoded | None,
    validation: VerdictValidation | None,
) -> JudgeTrainer:
    """The base, loaded, in a trainer for the encoded sets. Nothing else holds the model."""
    model_args = arguments.model
    model = load_model(
        model_args.model_name_or_path,
        dtype=model_args.dtype,
        device=None,
        attn_implementation=attn_implementation,
        revision=model_args.model_revision,
        quantization_config=get_quantization_config(model_args),
    )
    model.generation_config.eos_token_id = stop_token_ids(tokenizer, model.generation_config)
    if not model.generation_config.do_sample:  # with what belongs to sampling, a greedy one cannot be saved
        model.generation_config.update(**dict.fromkeys(SAMPLING))
    return JudgeTrainer(
        arguments,
        validation,
        model=model,
        train_dataset=train_set.dataset,
        eval_dataset=validation_set and validation_set.dataset,
        processing_class=tokenizer,
        peft_config=get_peft_config(model_args),
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore", FutureWarning)  # trl and peft call transformers by names that it will drop
    sys.exit(exit_status(lambda: main(parse_arguments(description=__doc__))))
