"""What an expert was tuned from, and whether two names mean one checkpoint."""

import json
import shutil
from pathlib import Path

import pytest

from core.errors import ConfigError
from core.prompt_spec import PromptSpec
from merge.bases import check_base, check_one_base, recorded_base, same_checkpoint
from tests.merge.checkpoints import judge

LLAMA = "meta-llama/Llama-3.1-8B"


def card(folder: Path, base: str) -> Path:
    folder.mkdir()
    (folder / "README.md").write_text(f"---\nlicense: mit\nbase_model: {base}\n---\n# A judge\n", "utf-8")
    return folder


def noted(folder: Path, base: str) -> Path:
    folder.mkdir()
    PromptSpec().save(folder, base_model=base)
    return folder


def test_the_base_is_read_from_adapter_config_then_judge_json_then_card(tmp_path: Path) -> None:
    folder = card(tmp_path / "hi", LLAMA)
    assert recorded_base(folder) == LLAMA
    PromptSpec().save(folder, base_model="runs/base")
    assert recorded_base(folder) == "runs/base"
    (folder / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "runs/other"}), "utf-8")
    assert recorded_base(folder) == "runs/other"
    assert recorded_base(card(tmp_path / "one", f"[{LLAMA}]")) == LLAMA
    assert recorded_base(card(tmp_path / "merge", f"[{LLAMA}, me/other]")) is None
    assert recorded_base(card(tmp_path / "broken", "[")) is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (LLAMA, LLAMA, True),
        (LLAMA, f"{LLAMA}@main", True),
        (LLAMA, f"{LLAMA}-Instruct", False),
        (LLAMA, "unsloth/Llama-3.1-8B", None),  # a copy, or not
        ("/models/Llama-3.1-8B", LLAMA, True),
        ("Llama-3.1-8B", f"{LLAMA}-Instruct", None),  # what is left of a path of another machine
        ("/a/base", "/b/base", True),
        ("/a/base", "/b/instruct", None),
    ],
)
def test_names_of_absent_models_are_compared_as_far_as_they_say(one: str, other: str, same: bool | None) -> None:
    assert same_checkpoint(one, other) is same
    assert same_checkpoint(other, one) is same


def test_folders_are_compared_by_their_weights(tmp_path: Path) -> None:
    one, tuned = judge(tmp_path / "a" / "base", [0.0]), judge(tmp_path / "b" / "base", [1.0])
    copy = Path(shutil.copytree(one, tmp_path / "copy"))
    assert same_checkpoint(str(one), str(copy)) is True
    assert same_checkpoint(str(one), str(tuned)) is False  # one name, one size, other numbers


def test_a_folder_of_the_hubs_cache_is_known_by_its_id(tmp_path: Path) -> None:
    folder = tmp_path / "models--meta-llama--Llama-3.1-8B" / "snapshots" / "0e9e39f2"
    folder.mkdir(parents=True)
    assert same_checkpoint(str(folder), LLAMA) is True
    assert same_checkpoint(str(folder), f"{LLAMA}-Instruct") is False


def test_pretrained_for_instruct_is_refused_with_the_reason(tmp_path: Path) -> None:
    folder = noted(tmp_path / "hi", f"{LLAMA}-Instruct")
    check_base("hi", folder, f"{LLAMA}-Instruct")
    with pytest.raises(ConfigError) as refused:
        check_base("hi", folder, LLAMA)
    assert f"hi was tuned from {LLAMA}-Instruct, but base_model is {LLAMA}" in str(refused.value)
    assert "mostly the difference of the two" in str(refused.value)
    with pytest.raises(ConfigError, match="correct its record"):
        check_base("fr", noted(tmp_path / "fr", "Llama-3.1-8B"), f"{LLAMA}-Instruct")


def test_a_base_that_is_not_recorded_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "hi").mkdir()
    check_base("hi", tmp_path / "hi", LLAMA)
    assert "expert hi does not say what it was tuned from" in capsys.readouterr().err


def test_experts_of_two_bases_are_not_averaged(tmp_path: Path) -> None:
    hi, fr = noted(tmp_path / "hi", LLAMA), noted(tmp_path / "fr", f"{LLAMA}-Instruct")
    unknown = tmp_path / "ur"
    unknown.mkdir()
    check_one_base({"ur": unknown, "hi": hi})
    with pytest.raises(ConfigError, match=f"hi was tuned from {LLAMA} and fr from {LLAMA}-Instruct"):
        check_one_base({"ur": unknown, "hi": hi, "fr": fr})
