"""--plan: numbers worked by hand on pico data, and every mismatch found before weights load."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from core.config import exit_status
from core.errors import ConfigError, UserError
from core.records import write_records
from tests import pico
from tests.conftest import REPO
from tests.train.pico_training import make_folder, records
from train import attention as attention_module
from train.arguments import Arguments, parse_arguments
from train.attention import attention
from train.launcher import read_launcher
from train.plan import make_plan
from train.plan_text import describe
from train.sft import main


def arguments(folder: Path, **fields: Any) -> Arguments:
    given: dict[str, Any] = {
        "model_name_or_path": folder / "base", "train_file": folder / "train.jsonl", "output_dir": folder / "out",
        "plan": True, **fields,
    }  # fmt: skip
    return parse_arguments([word for name, value in given.items() for word in (f"--{name}", str(value))])


def launcher_file(folder: Path, **changes: Any) -> Path:
    values = yaml.safe_load((REPO / "configs/accelerate/zero2.yaml").read_text(encoding="utf-8"))
    for name, value in changes.items():
        (values["deepspeed_config"] if name not in values else values)[name] = value
    path = folder / "launcher.yaml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return path


def test_batch_steps_and_tokens_by_language(tmp_path: Path) -> None:
    make_folder(tmp_path)  # 12 Hindi and 4 French records
    plan = make_plan(arguments(tmp_path, accelerate_config=launcher_file(tmp_path, num_processes=2), effective_batch_size=8,
                               per_device_train_batch_size=2, num_train_epochs=3))  # fmt: skip
    assert plan.arguments.training.gradient_accumulation_steps == 2  # 8 = 2 x 2 processes x 2
    assert plan.effective_batch == 8
    assert plan.steps == 3 * 2  # 16 records are 2 steps of 8
    hindi, french = plan.languages["hi"], plan.languages["fr"]
    assert (hindi.records, french.records, hindi.shortened, hindi.refused) == (12, 4, 0, 0)
    tokenizer = pico.tokenizer()
    verdicts = [f"{'good' if score > 2 else 'bad'} feedback. [RESULT] {score}" for score in (1, 2, 4, 5)]
    learned = sum(len(tokenizer(text, add_special_tokens=False)["input_ids"]) + 1 for text in verdicts)
    assert (hindi.learned, french.learned) == (3 * learned, learned)
    assert hindi.tokens is not None
    assert hindi.tokens > 12 * 400


def test_many_records_are_counted_from_a_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_folder(tmp_path)
    monkeypatch.setattr("train.plan.SAMPLE", 4)
    plan = make_plan(arguments(tmp_path, language="hi")).languages["hi"]
    monkeypatch.setattr("train.plan.SAMPLE", 12)
    exact = make_plan(arguments(tmp_path, language="hi")).languages["hi"]
    assert (plan.sampled, exact.sampled) == (4, 12)
    assert plan.tokens == pytest.approx(exact.tokens, rel=0.02)


def test_shortened_and_refused_shares(tmp_path: Path) -> None:
    make_folder(tmp_path)
    rows = records(range(1))
    rows[0] = rows[0].model_copy(update={"response": "a long answer. " * 400})  # shortened
    rows[1] = rows[1].model_copy(update={"instruction": "a long question " * 2000})  # does not fit
    write_records(rows, tmp_path / "train.jsonl")
    plan = make_plan(arguments(tmp_path, max_length=2048))
    assert (plan.languages["hi"].shortened, plan.languages["hi"].refused) == (0.25, 0.25)
    assert plan.steps == 3  # ceil(3 records / 8) in each of trl's 3 epochs
    assert "25.0% shortened, 25.0% refused" in describe(plan)


def test_the_text_of_a_plan_and_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_folder(tmp_path)
    (tmp_path / "base" / "model.safetensors").unlink()  # no weights are needed
    before = sorted(tmp_path.rglob("*"))
    main(arguments(tmp_path, use_peft=True, max_steps=7))
    said = capsys.readouterr().out
    assert "base, LoRA, learning rate 0.0005, to" in said
    assert "batch: 8 records a step = 8 a device x 1 process x 1 accumulated; group_by_length" in said
    assert "steps: 7, set by max_steps" in said
    assert "data hi: 12 records" in said
    assert "this training: " in said
    assert "ZeRO-3 offload" in said
    assert "disk: " in said
    assert sorted(tmp_path.rglob("*")) == before


def test_modules_that_are_trained_whole_are_counted(tmp_path: Path) -> None:
    make_folder(tmp_path)
    plans = [
        make_plan(arguments(tmp_path, use_peft=True, **more)) for more in ({}, {"lora_modules_to_save": "embed_tokens"})
    ]
    low, saved = (plan.shapes["lora"].trained for plan in plans if plan.shapes)
    assert saved - low == 32 * len(pico.tokenizer())  # of hidden size 32
    disk = [next(line for line in describe(plan).splitlines() if line.startswith("disk: ")) for plan in plans]
    assert disk[0] != disk[1]


def test_what_is_not_to_be_had_is_left_out_with_the_reason(tmp_path: Path) -> None:
    make_folder(tmp_path)
    unknown = make_plan(arguments(tmp_path, model_name_or_path="nobody/nothing"))
    assert unknown.shapes is None
    assert unknown.languages["hi"] == (12, None, None, None, None, 0)
    assert [reason.split(":")[0] for reason in unknown.missing] == ["tokens", "memory and disk"]
    assert unknown.steps is not None
    (tmp_path / "train.jsonl").unlink()
    absent = make_plan(arguments(tmp_path))
    assert (absent.steps, absent.languages) == (None, {})
    assert "train.jsonl is not there" in absent.missing[0]


MISMATCHES = {
    "accumulation": ({"gradient_accumulation_steps": 4}, {}, "gradient_accumulation_steps 4.* gradient_accumulation_steps 1"),
    "clipping": ({"gradient_clipping": 0.5}, {}, "gradient_clipping 0.5 against max_grad_norm 1.0"),
    "precision": ({}, {"bf16": False}, "bf16.enabled True against bf16 False"),
    "not divisible": ({}, {"effective_batch_size": 60}, "effective_batch_size 60 is not .* 8 x 8 processes"),
    "set by hand": (
        {}, {"effective_batch_size": 64, "gradient_accumulation_steps": 2}, "64 is not .* x gradient_accumulation_steps 2",
    ),
    "4 bits without adapter": ({}, {"load_in_4bit": True}, "add use_peft: true"),
    "packing": ({}, {"packing": True}, "packing lets records attend to one another"),
    "processes": ({"num_processes": "many"}, {}, "num_processes is 'many'"),
}  # fmt: skip


@pytest.mark.parametrize("fault", MISMATCHES)
def test_a_mismatch_is_one_line_before_anything_starts(
    fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    launcher, fields, message = MISMATCHES[fault]
    make_folder(tmp_path)
    file = launcher_file(tmp_path, **launcher)
    with pytest.raises(ConfigError, match=message):
        main(arguments(tmp_path, accelerate_config=file, **{"bf16": True, **fields}))


def test_auto_and_equal_values_agree(tmp_path: Path) -> None:
    make_folder(tmp_path)
    file = launcher_file(tmp_path, gradient_accumulation_steps="auto", gradient_clipping=1.0)
    main(arguments(tmp_path, accelerate_config=file, bf16=True))


def test_deepspeeds_own_file_is_compared_too(tmp_path: Path) -> None:
    make_folder(tmp_path)
    config = {
        "train_batch_size": 128, "train_micro_batch_size_per_gpu": "auto", "gradient_clipping": "auto",
        "bf16": {"enabled": "auto"}, "optimizer": {"type": "AdamW", "params": {"lr": 2e-5}},
        "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}},
    }  # fmt: skip
    (tmp_path / "ds.json").write_text(json.dumps(config))
    file = tmp_path / "launcher.yaml"
    values = {"distributed_type": "DEEPSPEED", "num_processes": 8,
              "deepspeed_config": {"deepspeed_config_file": str(tmp_path / "ds.json")}}  # fmt: skip
    file.write_text(yaml.safe_dump(values))
    launcher = read_launcher(str(file))
    assert (launcher.strategy, launcher.offload_optimizer, launcher.offload_weights) == ("zero3", True, False)
    with pytest.raises(
        ConfigError, match=r"train_batch_size 128 against effective batch 64; optimizer\.params\.lr 2e-05"
    ):
        main(arguments(tmp_path, accelerate_config=file, bf16=True))


def test_a_start_finds_in_the_environment_what_the_plan_finds_in_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    # As `accelerate launch --config_file configs/accelerate/zero2.yaml` sets it, with clipping and two processes.
    for name, value in {
        "WORLD_SIZE": "2", "ACCELERATE_USE_DEEPSPEED": "true", "ACCELERATE_DEEPSPEED_ZERO_STAGE": "2",
        "ACCELERATE_GRADIENT_CLIPPING": "0.5", "ACCELERATE_MIXED_PRECISION": "bf16",
        "ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE": "cpu", "ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE": "none",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    launcher = read_launcher()
    assert launcher[:5] == (2, "zero2", True, False, "bf16")
    assert launcher.deepspeed == {"gradient_clipping": 0.5, "bf16.enabled": True, "fp16.enabled": False}


def test_padding_with_the_end_of_turn_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:  # case 6
    make_folder(tmp_path)
    for flags in ({}, {"plan": False}):
        given = {"pad_token": "<end>", "max_steps": 1, **flags}
        assert exit_status(lambda: main(arguments(tmp_path, **given))) == 2  # noqa: B023
        assert "pads with <end>, which also ends a turn" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_accelerate_file_is_for_a_plan(tmp_path: Path) -> None:
    make_folder(tmp_path)
    with pytest.raises(ConfigError, match="accelerate_config goes with plan"):
        arguments(tmp_path, plan=False, accelerate_config=launcher_file(tmp_path))


def test_flash_attention_falls_back_in_one_line_but_never_under_packing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(attention_module._NEEDS, "flash_attention_2", lambda: False)
    assert attention("flash_attention_2", packing=False) == "sdpa"
    assert "flash_attention_2 is not on this machine, so sdpa is used" in capsys.readouterr().out
    with pytest.raises(UserError, match="packing needs flash_attention_2, which this machine lacks"):
        attention("flash_attention_2", packing=True)
    assert (attention("eager", packing=False), attention(None, packing=False)) == ("eager", None)
    monkeypatch.setitem(attention_module._NEEDS, "flash_attention_2", lambda: True)
    assert attention("flash_attention_2", packing=True) == "flash_attention_2"


def test_bfloat16_weights_without_a_float32_copy_are_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_folder(tmp_path)
    main(arguments(tmp_path, dtype="bfloat16"))
    assert "updates bfloat16 weights without a float32 copy" in capsys.readouterr().err
    main(arguments(tmp_path, dtype="bfloat16", bf16=True, accelerate_config=launcher_file(tmp_path)))
    assert "float32 copy" not in capsys.readouterr().err
