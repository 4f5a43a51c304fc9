"""A model's files that hold what they should not are one line wherever they are read, whatever library stumbles."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from core.config import exit_status
from core.errors import ModelError
from eval.grading import Judge
from merge.fold import FoldConfig
from merge.fold import main as fold
from merge.recipe import MergeConfig
from merge.run import main as merge_run
from tests.merge.checkpoints import adapter, judge, read
from train.check import CheckConfig
from train.check import main as check
from train.shapes import config_of, empty_model
from train.unreadable import one_line, reason

CONFIG, TOKENIZER, INDEX, GENERATION = (
    "config.json",
    "tokenizer_config.json",
    "model.safetensors.index.json",
    "generation_config.json",
)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return judge(tmp_path_factory.mktemp("other") / "fr", seed=2)


def wrong(folder: Path, file: str, changes: Any) -> None:
    """Give fields of a JSON file other values, or the file another content."""
    content = {**read(folder / file), **changes} if isinstance(changes, dict) else changes
    (folder / file).write_text(json.dumps(content), encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "changes", "named"),
    [
        (CONFIG, {"hidden_size": "wide"}, "hidden_size"),
        (CONFIG, {"num_hidden_layers": None}, "num_hidden_layers"),
        (CONFIG, {"head_dim": -1}, "hi"),
        (CONFIG, {"dtype": "x"}, "has no attribute 'x'"),
        (CONFIG, {"hidden_act": "x"}, "x"),
        (CONFIG, {"model_type": []}, "unhashable"),
        (CONFIG, None, "NoneType"),
        (TOKENIZER, [1], "'list' object has no attribute"),
        (TOKENIZER, {"bos_token": 3}, "bos_token"),
        (TOKENIZER, {"model_max_length": "long"}, "not supported between"),
        (TOKENIZER, {"chat_template": 5}, "hi"),
        (INDEX, {"weight_map": {"lm_head.weight": 3}}, "hi"),
        (INDEX, {"weight_map": ["x"]}, "hi"),
        (INDEX, {"metadata": None}, "hi"),
        (INDEX, [], "hi"),
        (GENERATION, 3, "hi"),
        (GENERATION, {"eos_token_id": "x"}, "'x'"),
    ],
)
def test_every_command_that_loads_the_model_is_one_line(
    file: str, changes: Any, named: str, other: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = judge(tmp_path / "hi", max_shard_size="40KB")
    wrong(folder, file, changes)
    if (file, changes) == (TOKENIZER, {"chat_template": 5}):
        (folder / "chat_template.jinja").unlink()
    recipe = {"merge_method": "linear", "experts": {"hi": str(folder), "fr": str(other)}, "weight": 1.0}
    commands: dict[str, Callable[[], object]] = {
        "train.check": lambda: check(CheckConfig(model_name_or_path=str(folder), max_new_tokens=1)),
        "merge.run": lambda: merge_run(
            MergeConfig.model_validate({**recipe, "output_dir": str(tmp_path / "out"), "tokenizer_from": "hi"})
        ),
        "eval": lambda: Judge.from_pretrained(folder, device="cpu"),
    }
    if file == CONFIG:
        commands["train.sft"] = lambda: empty_model(config_of(str(folder)))
    for name, command in commands.items():
        assert exit_status(command) == 2, name
        said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
        assert len(said) == 1, (name, said)
        assert named in said[0], name
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "changes",
    [
        [],
        {"base_model_name_or_path": 3},
        {"target_modules": "x"},
        {"r": -1},
        {"lora_dropout": 1.5},
        {"alpha_pattern": None},
        {"bias": "x"},
    ],
)
def test_an_adapters_config_too(changes: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = adapter(tmp_path / "hi", judge(tmp_path / "base"))
    wrong(folder, "adapter_config.json", changes)
    for command in (
        lambda: fold(FoldConfig(adapter=str(folder), output_dir=str(tmp_path / "out"))),
        lambda: Judge.from_pretrained(folder, device="cpu"),
    ):
        assert exit_status(command) == 2
        assert "adapter_config.json" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "error", [RuntimeError("can't allocate memory: you tried"), torch.OutOfMemoryError("CUDA out of memory")]
)
def test_a_machine_without_memory_is_not_called_a_broken_file(error: Exception) -> None:
    with pytest.raises(type(error), match="memory"), one_line("model m", "mend it"):
        raise error


def test_an_error_that_is_a_bare_name_says_its_kind() -> None:
    assert reason(KeyError("vocab")) == "KeyError 'vocab'"
    assert reason(ValueError()) == "ValueError"
    assert reason(ValueError("two\n  lines")) == "two lines"
    with pytest.raises(ModelError, match=r"^model m \(two lines\); mend it$"), one_line("model m", "mend it"):
        raise ValueError("two\nlines")
