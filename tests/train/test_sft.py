"""train.sft from end to end on pico models: what it learns, what it leaves on disk, how it goes on, what it refuses."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from core.config import exit_status
from core.errors import AlreadyDone, ConfigError, RunFolderError
from core.prompt_spec import PromptSpec, load_prompt_spec
from core.records import write_records
from core.run import read_manifest
from tests import pico
from tests.train.pico_training import make_folder, records, train
from train.arguments import parse_arguments
from train.check import check_checkpoint
from train.load import load_model
from train.sft import main


def losses(output: Path) -> list[float]:
    log = json.loads((output / "trainer_state.json").read_text())["log_history"]
    return [entry["loss"] for entry in log if "loss" in entry]


def test_full_training_learns_and_leaves_a_model_that_plain_transformers_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(make_folder(tmp_path))
    output = train(Path(), "out", validation_file="validation.jsonl", max_steps=12, save_strategy="no")

    loss = losses(output)
    assert loss[-1] < 0.7 * loss[0]
    model = AutoModelForCausalLM.from_pretrained(output)
    tokenizer = AutoTokenizer.from_pretrained(output)
    assert model.generation_config.eos_token_id == [2, 6]  # case 7: </s> and <end>
    assert tokenizer.chat_template == pico.CHAT_TEMPLATE
    assert load_prompt_spec(output) == PromptSpec("default", True, 4096)
    stored = json.loads((output / "judge.json").read_text())
    assert (stored["languages"], stored["base_model"]) == (["fr", "hi"], "base")
    assert not (output / "training_args.bin").exists()

    manifest = read_manifest(output)
    assert manifest is not None
    assert (manifest["status"], manifest["seed"]) == ("done", 42)
    assert manifest["counts"] == {
        "fr": {"examples": 4, "shortened": 0, "refused": 0},
        "hi": {"examples": 12, "shortened": 0, "refused": 0},
    }
    assert manifest["metrics"]["eval_loss"] < loss[0]
    assert set(manifest["inputs"]) == {"base", "train.jsonl", "validation.jsonl"}
    assert str(tmp_path) not in (output / "manifest.json").read_text()

    said = capsys.readouterr().out
    assert "bad feedback. [RESULT] 1<end>" in said
    assert "train: step 12/12, loss" in said
    assert "checked out: 21 tensors finite" in said


def test_lora_leaves_an_adapter_that_changes_its_base(tmp_path: Path) -> None:
    make_folder(tmp_path)
    before = (tmp_path / "base" / "model.safetensors").read_bytes()
    output = train(tmp_path, "out", use_peft=True, lora_r=4, language="hi", gradient_checkpointing=True)
    assert not (output / "model.safetensors").exists()
    assert len(load_file(output / "adapter_model.safetensors")) == 2 * 7 * 2  # layers x projections x (A, B)
    assert json.loads((output / "adapter_config.json").read_text())["base_model_name_or_path"] == str(tmp_path / "base")
    assert (tmp_path / "base" / "model.safetensors").read_bytes() == before

    judge = load_model(output)
    ids = torch.tensor([[1, 5, 40, 41]])
    with torch.no_grad():
        changed = (judge(input_ids=ids).logits - load_model(tmp_path / "base")(input_ids=ids).logits).abs().max()
    assert changed > 1e-3
    assert judge.generation_config.eos_token_id == [2, 6]
    assert losses(output)[-1] < losses(output)[0]


def test_a_base_model_gets_the_named_chat_template_and_it_is_stored(tmp_path: Path) -> None:
    make_folder(tmp_path, chat_template=None)
    output = train(tmp_path, "out", chat_template="plain", max_steps=1)
    assert "### Verdict" in (output / "chat_template.jinja").read_text()
    assert check_checkpoint(output).stops == [2]  # this template ends a turn with </s>


@pytest.mark.parametrize("kind", ["gemma3", "bloom"])
def test_other_architectures_and_a_template_without_system_role_train(kind: str, tmp_path: Path) -> None:  # case 8
    make_folder(tmp_path, kind=kind, chat_template=pico.NO_SYSTEM_TEMPLATE)
    output = train(tmp_path, "out", max_steps=6, save_strategy="no")
    assert losses(output)[-1] < losses(output)[0]


def test_a_finished_run_is_done_and_a_changed_one_is_refused(tmp_path: Path) -> None:  # case 12
    make_folder(tmp_path)
    output = train(tmp_path, "out", max_steps=1, if_exists="resume")  # with no folder yet: starts
    written = (output / "model.safetensors").stat().st_mtime_ns
    with pytest.raises(AlreadyDone, match="finished before, nothing left to do"):
        train(tmp_path, "out", max_steps=1, if_exists="resume")
    with pytest.raises(RunFolderError, match=r"other config \(max_steps\), so it cannot be resumed"):
        train(tmp_path, "out", max_steps=2, if_exists="resume")
    write_records(records(range(4)), tmp_path / "train.jsonl")
    with pytest.raises(RunFolderError, match="other inputs"):
        train(tmp_path, "out", max_steps=1, if_exists="resume")
    assert (output / "model.safetensors").stat().st_mtime_ns == written


def test_a_judge_trained_on_is_not_overwritten_by_what_it_teaches(tmp_path: Path) -> None:
    make_folder(tmp_path)
    first = train(tmp_path, "first", max_steps=1)
    before = sorted(path.name for path in first.rglob("*"))
    for base in (first, first / "checkpoint-1"):
        with pytest.raises(RunFolderError, match="holds the input"):
            train(tmp_path, "first", model_name_or_path=base, if_exists="overwrite")
    assert sorted(path.name for path in first.rglob("*")) == before


def test_a_base_that_changed_is_not_gone_on_with(tmp_path: Path) -> None:
    make_folder(tmp_path)
    train(tmp_path, "out", max_steps=1)
    pico.save(tmp_path / "base", "gemma3")
    with pytest.raises(RunFolderError, match=r"other inputs \(base\)"):
        train(tmp_path, "out", max_steps=1, if_exists="resume")


def test_a_base_that_samples_only_in_name_is_saved(tmp_path: Path) -> None:
    """Transformers saves no generation config that is greedy and sets a temperature, as Llama 2's was: after training."""
    make_folder(tmp_path)
    path = tmp_path / "base" / "generation_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "temperature": 0.9, "top_p": 0.6}))
    output = train(tmp_path, "out", max_steps=1)
    kept = json.loads((output / "generation_config.json").read_text())
    assert kept["eos_token_id"] == [2, 6]
    assert "temperature" not in kept


@pytest.mark.parametrize(("logging_steps", "left"), [(1, None), (100, "failed")])
def test_a_loss_that_is_no_number_ends_the_training(logging_steps: int, left: str | None, tmp_path: Path) -> None:
    make_folder(tmp_path)
    weights = load_file(tmp_path / "base" / "model.safetensors")
    weights["model.norm.weight"][0] = float("nan")
    save_file(weights, tmp_path / "base" / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ConfigError, match="loss is nan at step"):
        train(tmp_path, "out", max_steps=2, logging_steps=logging_steps)
    manifest = read_manifest(tmp_path / "out")  # none where nothing but it had been written
    assert (manifest and manifest["status"]) == left


def rewrite(folder: Path, **changes: Any) -> None:
    rows = [row.model_dump() for row in records(range(3))]
    rows[1] = {name: value for name, value in {**rows[1], **changes}.items() if value != "absent"}
    (folder / "train.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")


WRONG = {
    "a missing file": (lambda folder: (folder / "train.jsonl").unlink(), {}, "train.jsonl cannot be read"),
    "a row without a field": (
        lambda folder: rewrite(folder, criteria="absent"),
        {},
        "train.jsonl line 2: criteria: Field required",
    ),
    "a score of 7": (
        lambda folder: rewrite(folder, score=7),
        {},
        "line 2: score: Input should be less than or equal to 5, got 7",
    ),
    "half of a character": (
        lambda folder: rewrite(folder, response="a\ud800b"),
        {},
        "1 records (q0-hi-s2) hold half of a character",
    ),
    "a blank feedback": (lambda folder: rewrite(folder, feedback=" \n"), {}, "1 records (q0-hi-s2) have no feedback"),
    "a duplicate id": (lambda folder: rewrite(folder, id="q0-hi-s1"), {}, "1 ids occur more than once (q0-hi-s1)"),
    "no reference": (
        lambda folder: rewrite(folder, reference_answer=None),
        {},
        "1 records (q0-hi-s2) have no reference_answer",
    ),
    "a language absent": (lambda folder: None, {"language": "bn"}, "has no record in bn; its languages are fr, hi"),
    "an unknown field": (
        lambda folder: None,
        {"learning_rat": 1},
        "flag --learning_rat is unknown; did you mean learning_rate?",
    ),
    "a folder in the way": (
        lambda folder: (folder / "out").joinpath("x").mkdir(parents=True),
        {},
        "out exists; name another",
    ),
    "validation items in training": (lambda folder: None, {"validation_file": "train.jsonl"}, "share 4 item ids"),
    "no weights": (
        lambda folder: (folder / "base" / "model.safetensors").unlink(),
        {},
        "model folder base has no weights",
    ),
    "no model": (
        lambda folder: shutil.rmtree(folder / "base"),
        {"model_name_or_path": "./base"},
        "./base does not exist",
    ),
    "an adapter as base": (
        lambda folder: (folder / "base" / "adapter_config.json").touch(),
        {},
        "base is an adapter where a whole",
    ),
    "no chat template": (
        lambda folder: (folder / "base" / "chat_template.jinja").unlink(),
        {},
        "choose one by name with",
    ),
    "resume without an optimizer": (
        lambda folder: None,
        {"save_only_model": "true", "if_exists": "resume"},
        "save_only_model keeps no optimizer",
    ),
    "a tokenizer of another model": (
        lambda folder: pico.model(vocab_size=300).save_pretrained(folder / "base"),
        {},
        "and its model embeddings for 300; take the tokenizer that belongs",
    ),
    "a tracker that is not installed": (
        lambda folder: None,
        {"report_to": "nope"},
        "report_to nope: nope is not supported",
    ),
    "a LoRA on nothing": (
        lambda folder: None,
        {"use_peft": "true", "lora_target_modules": "nope"},
        "lora_target_modules nope is nothing in this model; it has act_fn, down_proj",
    ),
    "no attention of that name": (lambda folder: None, {"attn_implementation": "nope"}, '"nope"` is not supported'),
    "fewer records than a batch": (
        lambda folder: None,
        {"dataloader_drop_last": "true", "per_device_train_batch_size": 32},
        "16 records fill no batch of 32, so all are dropped",
    ),
    "all too long": (lambda folder: None, {"max_length": 600}, "none of the 16 training records fits max_length 600"),
}


@pytest.mark.parametrize("fault", WRONG)
def test_wrong_input_is_one_line_exit_2_and_nothing_half_written(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil, fields, message = WRONG[fault]
    monkeypatch.chdir(make_folder(tmp_path))
    spoil(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    given: dict[str, Any] = {"model_name_or_path": "base", "train_file": "train.jsonl", "output_dir": "out", **fields}
    argv = [word for name, value in given.items() for word in (f"--{name}", str(value))]
    assert exit_status(lambda: main(parse_arguments(argv))) == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert message in line
    assert sorted(tmp_path.rglob("*")) == before
