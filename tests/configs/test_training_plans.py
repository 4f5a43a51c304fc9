"""Every YAML of configs/train has a plan under every launcher of configs/accelerate, without a hub and without its data."""

import shlex
from pathlib import Path

import pytest

from core.errors import ConfigError
from tests.conftest import REPO
from train.arguments import Arguments, parse_arguments
from train.launcher import read_launcher
from train.memory import memory
from train.plan import make_plan
from train.plan_text import describe
from train.preflight import check_settings

TRAIN = sorted(path.name for path in (REPO / "configs/train").glob("*.yaml"))
# configs/train/embedded-graded.yaml is for one process on a CPU.
JUDGES = [name for name in TRAIN if not name.startswith("embedded")]
LAUNCHERS = ["accelerate_config.yaml", *sorted(f"configs/accelerate/{path.name}" for path in (REPO / "configs/accelerate").glob("*.yaml"))]  # fmt: skip


def planned(name: str, launcher: str | None, *flags: str) -> Arguments:
    with_launcher = ["--accelerate_config", launcher] if launcher else []
    return parse_arguments(["--config", f"configs/train/{name}", "--language", "hi", "--plan", *with_launcher, *flags])


SINGLE = "configs/accelerate/single_gpu.yaml"
NO_DATA = ["--train_file", "data/absent.jsonl"]


@pytest.fixture(autouse=True)
def _in_the_repo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPO)


@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("name", JUDGES)
def test_a_judge_is_planned_from_its_stored_shape(name: str, launcher: str) -> None:
    before = set(Path("runs").glob("*")) if Path("runs").is_dir() else set()
    arguments = planned(name, launcher, *NO_DATA)
    check_settings(arguments)
    plan = make_plan(arguments)
    assert plan.effective_batch == 64
    assert plan.shapes is not None, plan.missing
    text = describe(plan)
    assert "this training: " in text
    assert "disk: " in text
    assert before == (set(Path("runs").glob("*")) if Path("runs").is_dir() else set())


@pytest.mark.parametrize("launcher", [None, *LAUNCHERS])
def test_the_embedded_runs_are_planned_or_refused_for_their_precision(launcher: str | None) -> None:
    for config in ("embedded-graded.yaml", "../quickstart/train.yaml"):
        arguments = planned(config, launcher, *NO_DATA)
        if launcher and read_launcher(launcher).strategy.startswith("zero"):
            with pytest.raises(ConfigError, match=r"bf16\.enabled True against bf16 False"):
                check_settings(arguments)
        else:
            check_settings(arguments)
            assert make_plan(arguments).setting.method == "lora"


@pytest.mark.parametrize("name", JUDGES)
def test_lora_needs_no_more_than_the_flag_that_says_so(name: str) -> None:
    arguments = planned(name, "configs/accelerate/single_gpu.yaml", "--use_peft", "true")
    assert arguments.training.learning_rate == 5e-4
    assert arguments.training.gradient_accumulation_steps == 16  # 64 records in batches of 4, on one GPU


def test_what_the_comments_promise_of_memory() -> None:
    """LoRA on Qwen3-4B fits 24 GB at the batch of 4, on 8B at 1, QLoRA at 4; full fine-tuning the paper's 80 GB GPUs."""
    for name, launcher, flags, gigabytes in [
        ("qwen3-4b.yaml", SINGLE, ["--use_peft", "true"], 24),
        ("hercule-llama-3.1-8b.yaml", SINGLE, ["--use_peft", "true", "--per_device_train_batch_size", "1"], 24),
        ("hercule-llama-3.1-8b.yaml", SINGLE, ["--use_peft", "true", "--load_in_4bit", "true"], 24),
        ("hercule-llama-3.1-8b.yaml", "accelerate_config.yaml", [], 80),
    ]:
        plan = make_plan(planned(name, launcher, *flags, *NO_DATA))
        assert plan.shapes is not None
        assert 1.1 * memory(plan.shapes[plan.setting.method], plan.setting).total < gigabytes * 1e9, name


@pytest.mark.parametrize(
    ("flags", "files", "epochs"),
    [
        ("--reference none --output_dir runs/none", ["data/intel/hi/train.jsonl"], 3),
        ("--reference target --train_file data/intel/{language}_xx/train.jsonl", ["data/intel/hi_xx/train.jsonl"], 3),
        ("--language bn de fr hi te ur", [f"data/intel/{code}/train.jsonl" for code in ("bn", "de", "fr", "hi", "te", "ur")], 3),
        ("--language bn de fr hi te ur --num_train_epochs 0.5", [f"data/intel/{code}/train.jsonl" for code in ("bn", "de", "fr", "hi", "te", "ur")], 0.5),
        ("--language en --train_file data/feedback-collection.jsonl", ["data/feedback-collection.jsonl"], 3),
    ],
)  # fmt: skip
def test_the_papers_other_judges_are_flags_of_one_file(flags: str, files: list[str], epochs: float) -> None:
    arguments = planned("hercule-llama-3.1-8b.yaml", None, *shlex.split(flags))
    assert arguments.data.train_file == files
    assert arguments.training.num_train_epochs == epochs
