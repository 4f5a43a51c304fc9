"""Flags and YAML of train.sft: trl's names, this project's errors."""

from pathlib import Path

import pytest

from core.errors import ConfigError
from train.arguments import Arguments, parse_arguments

NEEDED = ["--model_name_or_path", "m", "--train_file", "t.jsonl", "--output_dir", "out"]


def parse_yaml(tmp_path: Path, text: str, *flags: str) -> Arguments:
    path = tmp_path / "c.yaml"
    path.write_text("model_name_or_path: m\ntrain_file: t.jsonl\noutput_dir: out\n" + text, encoding="utf-8")
    return parse_arguments(["--config", str(path), *flags])


def test_defaults_need_no_gpu_and_no_flag() -> None:
    arguments = parse_arguments(NEEDED)
    assert arguments.training.max_length == 4096
    assert arguments.training.save_total_limit == 2
    assert arguments.model.lora_target_modules == "all-linear"
    assert arguments.spec == ("default", True, 4096)
    assert arguments.data.language is None


def test_flags_win_over_yaml_and_numbers_are_read_as_their_field_has_them(tmp_path: Path) -> None:
    text = (
        "learning_rate: 5e-4\nnum_train_epochs: 2\nlora_r: 8\nuse_peft: true\nlora_target_modules: [q_proj, v_proj]\n"
    )
    arguments = parse_yaml(tmp_path, text, "--learning_rate", "1e-5", "--max_length", "2048")
    assert arguments.training.learning_rate == 1e-5
    assert arguments.training.num_train_epochs == 2.0
    assert arguments.training.max_length == 2048
    assert (arguments.model.use_peft, arguments.model.lora_r) == (True, 8)
    assert arguments.model.lora_target_modules == ["q_proj", "v_proj"]


@pytest.mark.parametrize(
    ("given", "kept"), [("[q_proj]", ["q_proj"]), ("q_proj", ["q_proj"]), ("[.*_proj]", ".*_proj"), ("all-linear",) * 2]
)
def test_one_lora_module_is_a_name_and_not_a_pattern(given: str, kept: object, tmp_path: Path) -> None:
    """peft matches a pattern with whole names (model.layers.0.self_attn.q_proj), which q_proj alone is none of."""
    assert parse_yaml(tmp_path, f"lora_target_modules: {given}").model.lora_target_modules == kept


def test_epochs_do_not_count_where_steps_are_set(tmp_path: Path) -> None:
    assert parse_yaml(tmp_path, "max_steps: 3\nnum_train_epochs: 0").training.max_steps == 3


@pytest.mark.parametrize("given", ["language: hi fr", "language: [hi, fr]", 'language: "hi fr"'])
def test_language_is_a_code_or_a_list(given: str, tmp_path: Path) -> None:
    assert parse_yaml(tmp_path, given).data.language == ["hi", "fr"]
    assert parse_arguments([*NEEDED, "--language", "hi", "fr"]).data.language == ["hi", "fr"]


def test_language_fills_file_names_and_output(tmp_path: Path) -> None:
    text = "language: [hi, fr]\n"
    flags = ("--train_file", "intel/{language}.jsonl", "more.jsonl", "--output_dir", "runs/{language}")
    arguments = parse_yaml(tmp_path, text, *flags)
    assert arguments.data.train_file == ["intel/hi.jsonl", "intel/fr.jsonl", "more.jsonl"]
    assert arguments.training.output_dir == "runs/hi-fr"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("learning_rat: 1\n", "c.yaml: field learning_rat is unknown; did you mean learning_rate?"),
        ("langauge: hi\n", "did you mean language?"),
        ("language: no\n", 'language is False, .* quote it: language: "no"'),
        ("language: [hi, no]\n", "quote it"),
        ("save_strategy: no\n", 'quote it: save_strategy: "no"'),
        ("learning_rate: fast\n", "learning_rate.* invalid float value: 'fast'"),
        ("lora_r: 1.5\n", "lora_r.* invalid int value: '1.5'"),
        ("template: herculse\n", "template 'herculse' is unknown; use one of default, hercule"),
        ("validation_file: intel/{language}.jsonl\n", "needs a language; pass --language"),
        ("padding_free: true\n", "use packing, which includes it"),
        ("max_length: 512\n", "max_length is 512, and 512 tokens of it are the verdict's"),
        ("packing: true\n", "attn_implementation: flash_attention_2"),
        ("eos_token: x\n", "eos_token cannot be set here: the end-of-turn token comes from the chat template"),
        ("trust_remote_code: true\n", "remote code is never run"),
        ("assistant_only_loss: true\n", "loss is always on the verdict only"),
        ("load_best_model_at_end: true\n", "load_best_model_at_end requires"),
        ("load_in_4bit: true\nload_in_8bit: true\n", "can't use 8 bit and 4 bit"),
        ("a: [1\n", "line 5 is not YAML"),
        ("language: []\n", "language is empty; give a code"),
        ("language: {a: b}\n", "language is a mapping; give a list"),
        ("language: [[hi]]\n", "language has an entry that is no single value"),
        ("validation_file: ''\n", "validation_file is empty; name a file"),
        ("attn_implementation: [sdpa]\n", "attn_implementation is a list; give a single value"),
        ("learning_rate: [1, 2]\n", "learning_rate is a list; give a single value"),
        ("learning_rate: -1\n", "learning_rate is -1.0; give 0 or more"),
        ("learning_rate: .nan\n", "learning_rate is nan; give a finite number"),
        ("num_train_epochs: .inf\n", "num_train_epochs is inf; give a finite number"),
        ("num_train_epochs: 0\n", "num_train_epochs is 0.0, so that nothing would be done"),
        ("max_steps: 0\n", "max_steps is 0, so that nothing would be done"),
        ("per_device_train_batch_size: 0\n", "per_device_train_batch_size is 0; give 1 or more"),
        ("effective_batch_size: 0\n", "effective_batch_size is 0; give 1 or more"),
        ("gradient_accumulation_steps: -1\n", "gradient_accumulation_steps is -1; give 1 or more"),
        ("seed: -1\n", "seed is -1; give a number from 0 to 4294967295"),
        ("max_refused: 2\n", "max_refused is 2.0; give a number from 0 to 1"),
        ("lora_alpha: 0\n", "lora_alpha is 0; give 1 or more"),
        ("use_peft: true\nlora_task_type: SEQ_CLS\n", "a judge is a CAUSAL_LM"),
        ("resume_from_checkpoint: x\n", "if_exists: resume goes on from the last complete checkpoint"),
        ("hub_token: hf_x\n", "log in with `hf auth login`"),
    ],
)
def test_a_wrong_field_is_one_line_that_says_how_to_mend_it(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_yaml(tmp_path, text)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([*NEEDED, "--learning_rat", "1"], "flag --learning_rat is unknown; did you mean learning_rate"),
        ([*NEEDED, "--if_exists", "ask"], "invalid choice: 'ask'"),
        (NEEDED[2:], "model_name_or_path is not set"),
        (NEEDED[:4], "output_dir is not set"),
        (NEEDED[:2], "required: --train_file"),
        (["--config"], "--config needs a file"),
        (["--config", "absent.yaml"], "absent.yaml cannot be read"),
    ],
)
def test_a_wrong_flag_is_one_line_that_says_how_to_mend_it(flags: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_arguments(flags)


def test_the_papers_config_parses_and_trains_64_records_a_step_on_8_gpus() -> None:
    config = ["--config", "configs/train/hercule-llama-3.1-8b.yaml", "--language", "hi"]
    arguments = parse_arguments([*config, "--plan", "--accelerate_config", "accelerate_config.yaml"])
    training = arguments.training
    assert training.per_device_train_batch_size * training.gradient_accumulation_steps * 8 == 64
    assert (training.learning_rate, training.num_train_epochs, training.max_length) == (1e-5, 3, 4096)
    assert (arguments.model.lora_r, arguments.model.lora_alpha, arguments.model.lora_dropout) == (16, 32, 0.05)
    assert arguments.data.train_file == ["data/intel/hi/train.jsonl"]
    assert training.output_dir == "runs/hercule-llama-3.1-8b/hi"
