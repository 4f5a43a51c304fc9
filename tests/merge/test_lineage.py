"""What a judge was made of, by Hub ids: case 36 for adapters, full weights and merges."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from core.errors import ConfigError
from merge.lineage import read_lineage
from merge.source import hub_id
from tests.merge.checkpoints import adapter, judge

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"


def full(folder: Path, base: str | None) -> Path:
    judge(folder)
    stored = json.loads((folder / "judge.json").read_text())
    (folder / "judge.json").write_text(json.dumps({**stored, "base_model": base}), "utf-8")
    return folder


def merged(folder: Path, base: str | None = None, **experts: str) -> Path:
    full(folder, LLAMA)
    recipe = {
        "merge_method": "ties",
        "experts": {name: {"model": model, "weight": 0.5} for name, model in experts.items()},
    }
    (folder / "merge.yaml").write_text(
        yaml.safe_dump(recipe | ({"base_model": base} if base else {}), sort_keys=False), "utf-8"
    )
    return folder


def test_a_recorded_hub_id_is_taken(tmp_path: Path) -> None:
    lineage = read_lineage(full(tmp_path / "hi", LLAMA))
    assert (lineage.kind, lineage.base_models) == ("finetune", [LLAMA])
    lineage = read_lineage(full(tmp_path / "fr", f"{LLAMA}@abc123"))
    assert lineage.base == LLAMA


@pytest.mark.parametrize("base", ["base", "./base", "runs/base", "/cluster/base", None])
def test_a_base_that_is_a_folder_is_refused_until_it_is_named(tmp_path: Path, base: str | None) -> None:
    folder = full(tmp_path / "hi", base)
    with pytest.raises(ConfigError, match=r"set base to its Hub id \(--base owner/name\)"):
        read_lineage(folder)
    assert read_lineage(folder, LLAMA).base_models == [LLAMA]
    if base:
        assert read_lineage(folder, None, {base: LLAMA}).base_models == [LLAMA]


def test_an_adapter_of_a_local_base_is_refused_until_it_is_named(tmp_path: Path) -> None:
    folder = adapter(tmp_path / "hi", judge(tmp_path / "base"))
    with pytest.raises(ConfigError, match=rf"adapter_config.json names its base as {tmp_path}/base, a folder"):
        read_lineage(folder)
    lineage = read_lineage(folder, LLAMA)
    assert (lineage.kind, lineage.base_models) == ("adapter", [LLAMA])


def test_a_merge_names_all_its_inputs(tmp_path: Path) -> None:
    folder = merged(tmp_path / "ties", LLAMA, hi="runs/hi", fr="org/Llama-fr@0123abc", te="/scratch/te")
    with pytest.raises(
        ConfigError, match=r"runs/hi, /scratch/te of .*base_models: \{hi: owner/name, te: owner/name\}, with null"
    ):
        read_lineage(folder)
    lineage = read_lineage(folder, None, {"hi": "org/Llama-hi", "/scratch/te": None})
    assert lineage.kind == "merge"
    assert lineage.base_models == ["org/Llama-hi", "org/Llama-fr", LLAMA]
    assert lineage.recipe is not None
    models = {name: expert["model"] for name, expert in lineage.recipe["experts"].items()}
    assert models == {"hi": "org/Llama-hi", "fr": "org/Llama-fr@0123abc", "te": "unpublished"}
    assert lineage.recipe["experts"]["hi"]["weight"] == 0.5


def test_a_linear_merge_of_unpublished_judges_names_their_base(tmp_path: Path) -> None:
    folder = merged(tmp_path / "linear", hi="runs/hi", fr="runs/fr")
    lineage = read_lineage(folder, None, {"hi": None, "fr": None})
    assert lineage.base_models == [LLAMA]
    lineage = read_lineage(folder, None, {"hi": "org/Llama-hi", "fr": None})
    assert lineage.base_models == ["org/Llama-hi"]


def test_an_unknown_expert_is_named(tmp_path: Path) -> None:
    folder = merged(tmp_path / "linear", hi="org/hi", fr="org/fr")
    with pytest.raises(ConfigError, match="base_models: expert hu is unknown; did you mean hi"):
        read_lineage(folder, None, {"hu": "org/hi"})


@pytest.mark.parametrize(
    ("model", "found"),
    [
        ("org/name", "org/name"),
        ("cache/models--org--name/snapshots/0123abc", "org/name@0123abc"),
        ("runs/hi", None),
        ("a/b/c", None),
        ("here/x", None),
        ("here/embedded", "google/gemma-3-270m"),
        ("name", None),
    ],
)
def test_what_is_a_hub_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, found: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("here/x").mkdir(parents=True)
    Path("cache").mkdir()
    Path("cache/origin.json").write_text('{"hub_id": "google/gemma-3-270m"}', "utf-8")
    Path("here/embedded").symlink_to(Path("cache").resolve(), target_is_directory=True)  # as train.embedded links it
    assert hub_id(model) == found
    assert hub_id("org/name", ["org/name"]) is None


def test_a_judge_of_the_embedded_model_needs_no_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the quickstart trains names runs/quickstart/base, a link into the cache, as base and as an input of its run."""
    monkeypatch.chdir(tmp_path)
    Path("cache").mkdir()
    Path("cache/origin.json").write_text('{"hub_id": "google/gemma-3-270m"}', "utf-8")
    Path("runs/quickstart").mkdir(parents=True)
    Path("runs/quickstart/base").symlink_to(Path("cache").resolve(), target_is_directory=True)
    folder = full(tmp_path / "hi", "runs/quickstart/base")
    manifest = {"status": "done", "command": "train.sft", "inputs": {"runs/quickstart/base": "0"}}
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    assert read_lineage(folder).base == "google/gemma-3-270m"
