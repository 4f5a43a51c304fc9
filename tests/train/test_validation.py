"""Verdicts during training: the sample, its figures, and a training that is none the worse for being watched."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import Accelerator
from safetensors.torch import load_file

from core.chat import encode_prompt
from core.errors import ConfigError
from core.prompt import build_messages
from core.prompt_spec import PromptSpec
from core.records import Prediction, read_rows, write_records
from core.run import read_manifest
from tests.core.records_for_tests import record
from tests.train.pico_training import make_folder, records, train
from train.arguments import TrainingArguments, parse_arguments
from train.load import load_model, load_tokenizer
from train.validation import VerdictValidation, check_best_metric, check_evaluation, deal, draw_by_language, measures

SLOW = pytest.mark.slow
WATCHED: dict[str, Any] = {
    "validation_file": "validation.jsonl",
    "eval_strategy": "steps",
    "eval_steps": 2,
    "save_steps": 2,
    "save_total_limit": 5,
    "max_new_tokens": 12,
    "max_steps": 6,
}


def folder_with_validation(folder: Path) -> Path:
    make_folder(folder)
    write_records([*records(range(9, 11)), *records(range(11, 12), "fr")], folder / "validation.jsonl")
    return folder


def watched(folder: Path, output: str, **changes: Any) -> Path:
    fields = WATCHED | {"validation_file": folder / "validation.jsonl"} | changes
    return train(folder, output, **fields)


def log(output: Path, field: str) -> list[tuple[int, float]]:
    history = json.loads((output / "trainer_state.json").read_text())["log_history"]
    return [(entry["step"], entry[field]) for entry in history if field in entry]


def weights(output: Path) -> dict[str, torch.Tensor]:
    (file,) = output.glob("*model.safetensors")
    return load_file(file)


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def verdict(name: str, language: str, gold: int, score: int | None) -> Prediction:
    fields: dict[str, Any] = {"id": name, "item_id": name, "language": language, "system": None, "judge": "j"}
    fields |= {"template": "default", "expected_score": None, "score_mass": None, "feedback": "", "raw": ""}
    failure = None if score else "no [RESULT] marker"
    return Prediction(**fields, gold=float(gold), score=score, failure=failure, prompt_tokens=1, shortened=False)


def test_the_sample_is_fixed_and_each_languages_own() -> None:
    hindi, french = records(range(20)), records(range(20), "fr")
    drawn = draw_by_language([*hindi, *french], 5, seed=42)
    assert [one.language for one in drawn] == ["hi"] * 5 + ["fr"] * 5
    assert drawn == draw_by_language([*hindi, *french], 5, seed=42)
    assert drawn[:5] == draw_by_language(hindi, 5, seed=42)  # whatever else is validated
    assert drawn[:5] != draw_by_language(hindi, 5, seed=43)[:5]
    assert [hindi.index(one) for one in drawn[:5]] == sorted(hindi.index(one) for one in drawn[:5])
    assert len(draw_by_language(hindi[:3], 5, seed=42)) == 3
    assert draw_by_language(hindi, 0, seed=42) == []


def test_figures_are_means_over_languages_with_unscored_at_the_farthest_score() -> None:
    rows = [
        verdict("a", "hi", 1, 1),
        verdict("b", "hi", 5, 5),
        verdict("c", "fr", 1, 1),
        verdict("d", "fr", 5, None),
    ]
    # Hindi agrees. French: 5 unscored counts as 1, so the verdicts are 1 and 1. Linear disagreement is (0 + 1)/2, that of
    # chance 1/2 · 0 + 1/2 · 1: kappa 1 - 0.5/0.5 = 0. A constant judge has no correlation, which is no 0.
    assert measures(rows) == {
        "kappa": 0.5,
        "kappa_hi": 1.0,
        "kappa_fr": 0.0,
        "pearson": pytest.approx(1.0),
        "pearson_hi": pytest.approx(1.0),
        "exact": 0.75,
        "exact_hi": 1.0,
        "exact_fr": 0.5,
        "unscored": 0.25,
        "unscored_hi": 0.0,
        "unscored_fr": 0.5,
    }


def test_batches_are_dealt_out_whole_and_in_equal_number() -> None:
    assert [deal([[0, 1], [2, 3], [4]], process, 2) for process in (0, 1)] == [[[0, 1], [4]], [[2, 3], [4]]]
    assert deal([[0]], 3, 4) == [[0]]  # with nothing of its own, a process still takes part


def test_the_judge_gets_the_prompt_of_any_judge_and_stays_as_it_was(tmp_path: Path) -> None:
    make_folder(tmp_path)
    model, tokenizer = load_model(tmp_path / "base"), load_tokenizer(tmp_path / "base")
    gold = record(feedback="a feedback that tells. So the overall score is 4.", score=4)
    arguments = TrainingArguments(output_dir=str(tmp_path), max_new_tokens=3, report_to="none")
    validation = VerdictValidation([gold], tokenizer, PromptSpec(), arguments)
    assert validation.prompts[0].prompt == encode_prompt(tokenizer, build_messages(gold))
    assert "tells" not in tokenizer.decode(validation.prompts[0].prompt)

    own, side, cache = model.generation_config, tokenizer.padding_side, model.config.use_cache
    validation(model, Accelerator(cpu=True))
    assert (model.generation_config, tokenizer.padding_side, model.config.use_cache) == (own, side, cache)
    assert not model.training
    (row,) = read_rows(tmp_path / "validation.jsonl", Prediction)
    assert (row.id, row.gold, row.judge) == (gold.id, 4.0, tmp_path.name)
    ids = torch.tensor([encode_prompt(tokenizer, build_messages(gold))])
    greedy = model.generate(input_ids=ids, max_new_tokens=3, do_sample=False)[0, ids.shape[1] :]
    assert row.raw == tokenizer.decode(greedy)


@pytest.mark.parametrize("use_peft", [pytest.param(False, marks=SLOW), True])
def test_a_watched_training_learns_bit_for_bit_what_an_unwatched_one_does(use_peft: bool, tmp_path: Path) -> None:
    folder_with_validation(tmp_path)
    # Dropout and two passes over the data draw random numbers; generation needs the cache that checkpointing turns off.
    settings = {"use_peft": use_peft, "lora_dropout": 0.2, "gradient_checkpointing": True, "max_steps": 6}
    plain = train(tmp_path, "plain", save_strategy="no", **settings)
    seen = watched(tmp_path, "seen", save_strategy="no", **settings)
    assert len(log(seen, "eval_kappa")) == 3
    assert same(weights(plain), weights(seen))


def test_an_evaluation_is_logged_by_language_and_the_last_one_is_noted_with_intervals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = watched(folder_with_validation(tmp_path), "out", validation_samples=6, save_strategy="no")
    said = capsys.readouterr().out
    assert said.count("validation: 10 verdicts (fr 4, hi 6) of up to 12 tokens took") == 1
    assert said.count("eval_kappa") == 3  # the last step's evaluation is that of the saved judge, and is not done again
    for name in ("kappa", "exact", "unscored"):
        by_language = [log(output, f"eval_{name}_{code}") for code in ("hi", "fr")]
        assert [step for step, _ in log(output, f"eval_{name}")] == [2, 4, 6]
        for (_, mean), (_, hindi), (_, french) in zip(log(output, f"eval_{name}"), *by_language, strict=True):
            assert mean == pytest.approx((hindi + french) / 2)

    rows = read_rows(output / "validation.jsonl", Prediction)
    assert [row.language for row in rows] == ["hi"] * 6 + ["fr"] * 4
    manifest = read_manifest(output)
    assert manifest is not None
    noted = manifest["validation"]
    assert noted["all"]["n"] == 10
    assert noted["by_language"]["hi"]["kappa"]["value"] == log(output, "eval_kappa_hi")[-1][1]
    assert {"low", "high", "n", "n_unscored"} <= noted["by_language"]["fr"]["kappa"].keys()
    assert manifest["metrics"]["eval_kappa"] == log(output, "eval_kappa")[-1][1]


def test_the_best_checkpoint_by_kappa_is_what_is_saved(tmp_path: Path) -> None:
    output = watched(
        folder_with_validation(tmp_path), "out", load_best_model_at_end=True, learning_rate=2e-2, max_steps=8
    )
    state = json.loads((output / "trainer_state.json").read_text())
    kappa = log(output, "eval_kappa")[:4]
    best = max(value for _, value in kappa)
    first = next(step for step, value in kappa if value == best)
    assert (state["best_metric"], state["best_global_step"]) == (best, first)
    assert same(weights(output), weights(output / f"checkpoint-{first}"))
    manifest = read_manifest(output)
    assert manifest is not None
    assert manifest["metrics"]["eval_kappa"] == best  # of the judge as it is saved, not of the last step
    assert manifest["config"]["metric_for_best_model"] == "eval_kappa"


def interrupt(output: Path, copy: Path, after: int) -> Path:
    """A copy of a finished run as if it had been killed with checkpoint ``after`` just written."""
    shutil.copytree(output, copy)
    for checkpoint in copy.glob("checkpoint-*"):
        if int(checkpoint.name.split("-")[1]) > after:
            shutil.rmtree(checkpoint)
    for file in (*copy.glob("*model.safetensors"), copy / "validation.jsonl", copy / "trainer_state.json"):
        file.unlink()
    manifest = json.loads((copy / "manifest.json").read_text())
    (copy / "manifest.json").write_text(json.dumps({**manifest, "status": "running"}))
    return copy


def evaluations(output: Path) -> list[dict[str, float]]:
    history = json.loads((output / "trainer_state.json").read_text())["log_history"]
    # Times differ, and trl counts the tokens of this process alone.
    left_out = ("eval_runtime", "eval_samples_per_second", "eval_steps_per_second", "eval_num_tokens")
    return [
        {name: value for name, value in entry.items() if name not in left_out}
        for entry in history
        if "eval_loss" in entry
    ]


def test_a_resumed_run_has_the_same_weights_figures_and_best_checkpoint(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"load_best_model_at_end": True, "use_peft": True, "lora_dropout": 0.1}
    whole = watched(folder_with_validation(tmp_path), "whole", **settings)
    interrupt(whole, tmp_path / "crashed", after=4)
    resumed = watched(tmp_path, "crashed", if_exists="resume", **settings)
    assert same(weights(resumed), weights(whole))
    assert evaluations(resumed) == evaluations(whole)
    for name in ("best_metric", "best_global_step"):
        assert (
            json.loads((resumed / "trainer_state.json").read_text())[name]
            == json.loads((whole / "trainer_state.json").read_text())[name]
        )
    assert [row.raw for row in read_rows(resumed / "validation.jsonl", Prediction)] == [
        row.raw for row in read_rows(whole / "validation.jsonl", Prediction)
    ]


@pytest.mark.parametrize("after", [pytest.param(2, marks=SLOW), 4, pytest.param(6, marks=SLOW)])
def test_early_stopping_waits_as_long_in_a_resumed_run(after: int, tmp_path: Path) -> None:
    # A judge that learns nothing is best at its first evaluation (step 2); two more without a better one end it at step 6.
    settings: dict[str, Any] = {"load_best_model_at_end": True, "early_stopping_patience": 2, "learning_rate": 0.0}
    settings |= {"max_steps": 12}
    whole = watched(folder_with_validation(tmp_path), "whole", **settings)
    assert [step for step, _ in log(whole, "eval_kappa")][:3] == [2, 4, 6]
    assert json.loads((whole / "trainer_state.json").read_text())["global_step"] == 6
    interrupt(whole, tmp_path / "crashed", after)
    resumed = watched(tmp_path, "crashed", if_exists="resume", **settings)
    assert json.loads((resumed / "trainer_state.json").read_text())["global_step"] == 6
    assert evaluations(resumed) == evaluations(whole)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"eval_strategy": "steps"}, "eval_strategy is steps, and validation_file is not set"),
        ({"early_stopping_patience": 2}, "early_stopping_patience stops at the best evaluation"),
        ({"early_stopping_patience": 0}, "early_stopping_patience is 0; give 1 or more"),
        ({"validation_samples": -1}, "validation_samples is -1; give 0 or more"),
        ({"max_new_tokens": 0}, "max_new_tokens is 0; give 1 or more"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(flags: dict[str, Any], message: str) -> None:
    needed = {"model_name_or_path": "m", "train_file": "t.jsonl", "output_dir": "out", **flags}
    words = [word for name, value in needed.items() for word in (f"--{name}", str(value))]

    def refused() -> None:
        arguments = parse_arguments(words)
        check_evaluation(arguments.data, arguments.training)

    with pytest.raises(ConfigError, match=message):
        refused()


def test_a_metric_that_may_have_no_value_does_not_pick_the_best() -> None:
    several, one = records(range(2)), [row for row in records(range(2)) if row.score == 5]
    for metric in ("eval_kappa", "kappa", "kappa_hi", "eval_exact_hi", "loss", None):
        check_best_metric(metric, several)
    check_best_metric("eval_loss", [])
    for metric, sample in (
        ("eval_kappa", one),
        ("kappa_hi", one),
        ("kappa_fr", several),
        ("pearson", several),
        ("kappa", []),
    ):
        with pytest.raises(
            ConfigError, match=f"metric_for_best_model {metric} may have no value on this validation_file"
        ):
            check_best_metric(metric, sample)
