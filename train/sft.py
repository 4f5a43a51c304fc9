"""Train a judge: supervised fine-tuning on records, with loss on the verdict (feedback, [RESULT], score) alone.

Run as:
    accelerate launch --config_file accelerate_config.yaml -m train.sft \\
        --config configs/train/hercule-llama-3.1-8b.yaml --language hi
or, in one process:
    python -m train.sft --model_name_or_path M --train_file records.jsonl --use_peft true --output_dir runs/judge

Every field of trl's SFTConfig and ModelConfig keeps its name. output_dir then holds the model or the LoRA adapter, its
tokenizer with the chat template, generation_config.json with the end-of-turn token, judge.json (how to prompt it) and
manifest.json.
"""

import sys
import warnings

from accelerate import PartialState
from transformers import set_seed
from trl import get_peft_config, get_quantization_config

from core.chat import stop_token_ids
from core.config import exit_status
from core.progress import is_main_process, say
from train.arguments import Arguments, parse_arguments
from train.check import check_checkpoint, describe
from train.checkpoint import last_checkpoint, save_judge
from train.dataset import encode_sets, read_sets, show_example
from train.launch import open_run
from train.load import check_model, load_model, load_tokenizer
from train.trainer import JudgeTrainer


def main(arguments: Arguments) -> None:
    data, judge, training, model_args = arguments
    spec = arguments.spec
    base, output, revision = model_args.model_name_or_path, training.output_dir, model_args.model_revision
    check_model(base, whole=True)
    records, held_out = read_sets(data, spec)

    files = [*data.train_file, *(data.validation_file or [])]
    with open_run(output, "train.sft", arguments.resolved(), files, judge.if_exists, training.seed) as run:
        set_seed(training.seed)
        tokenizer = load_tokenizer(base, judge.chat_template, revision=revision)
        train_set, validation_set = encode_sets(records, held_out, tokenizer, spec)
        show_example(train_set.dataset, tokenizer)
        run.note(counts=train_set.counts, refused=train_set.refused)

        model = load_model(
            base,
            dtype=model_args.dtype,
            device=None,
            attn_implementation=model_args.attn_implementation,
            revision=revision,
            quantization_config=get_quantization_config(model_args),
        )
        model.generation_config.eos_token_id = stop_token_ids(tokenizer, model.generation_config)
        trainer = JudgeTrainer(
            arguments,
            model=model,
            train_dataset=train_set.dataset,
            eval_dataset=validation_set and validation_set.dataset,
            processing_class=tokenizer,
            peft_config=get_peft_config(model_args),
        )
        resume_from = last_checkpoint(output) if run.resumed else training.resume_from_checkpoint
        metrics = trainer.train(resume_from_checkpoint=resume_from).metrics
        if validation_set:
            metrics |= trainer.evaluate()
        save_judge(trainer, spec, languages=list(train_set.counts), base_model=base)
        run.note(metrics=metrics)

        del trainer, model
        PartialState().destroy_process_group()
        if is_main_process():
            say(describe(output, check_checkpoint(output)))


if __name__ == "__main__":
    warnings.simplefilter("ignore", FutureWarning)  # trl and peft call transformers by names that it will drop
    sys.exit(exit_status(lambda: main(parse_arguments(description=__doc__))))
