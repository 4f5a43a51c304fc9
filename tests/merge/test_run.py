"""merge.run on pico judges: hand-worked sums, what the output holds, and the merges that must not be made."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from mergekit.merge import run_merge
from mergekit.options import MergeOptions
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from core.errors import ConfigError, ModelError, RunFolderError
from merge.fold import fold
from merge.recipe import BASE, MergeConfig, mergekit_config
from merge.run import main, read_sources
from merge.unchanged import unchanged_filters
from tests import pico
from tests.merge.checkpoints import STOP, TENSOR, adapter, judge, read, tensors

HI, FR = [4.0, -3.0, 1.0, 0.5], [-2.0, -1.0, 3.0, 0.2]
OTHER_TEMPLATE = pico.CHAT_TEMPLATE.replace("<assistant>", "<assistant>\n")


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, str]:
    """A base and two judges whose last norm differs from the base's (zero) by HI and FR."""
    judges = {"base": judge(tmp_path / "base", [0.0], chat_template=None)}
    judges |= {"hi": judge(tmp_path / "hi", HI), "fr": judge(tmp_path / "fr", FR)}
    return {name: str(folder) for name, folder in judges.items()}


def merged(folders: dict[str, str], tmp_path: Path, **changes: Any) -> Path:
    """Run a linear merge of hi and fr, in float32 and with weights .5, changed as asked; its output folder."""
    values = {
        "merge_method": "linear",
        "experts": {name: folder for name, folder in folders.items() if name != "base"},
        "weight": 0.5,
        "dtype": "float32",
        "output_dir": str(tmp_path / "merged"),
    }
    main(MergeConfig.model_validate({**values, **changes}))
    return Path(changes.get("output_dir", values["output_dir"]))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        # .5 · 4 + .5 · -2 = 1, .5 · -3 + .5 · -1 = -2, ...
        ({}, [1, -2, 2, 0.35]),
        # The paper's 1.0 each, normalised to the same mean.
        ({"weight": 1.0}, [1, -2, 2, 0.35]),
        ({"weight": 1.0, "parameters": {"normalize": False}}, [2, -4, 4, 0.7]),
        # Weighted changes [2, -1.5, .5, .25] and [-1, -.5, 1.5, .1]: signs + - + +; only fr's first goes; each sum is
        # divided by the weights that stayed: 2/.5, -2/1, 2/1, .35/1.
        ({"merge_method": "ties", "density": 1.0}, [4, -2, 2, 0.35]),
        ({"merge_method": "ties", "density": 1.0, "parameters": {"normalize": False}}, [2, -2, 2, 0.35]),
        # Half of each change stays, [4, -3, 0, 0] and [-2, 0, 3, 0]: 2/.5, -1.5/.5, 1.5/.5, 0.
        ({"merge_method": "ties", "density": 0.5}, [4, -3, 3, 0]),
        ({"merge_method": "ties", "density": 0.5, "parameters": {"normalize": False}}, [2, -1.5, 1.5, 0]),
    ],
)
def test_the_sum_is_the_hand_worked_one(
    folders: dict[str, str], tmp_path: Path, changes: dict[str, Any], expected: list[float]
) -> None:
    if changes.get("merge_method") == "ties":
        changes = {**changes, "base_model": folders["base"]}
    output = merged(folders, tmp_path, **changes)
    torch.testing.assert_close(tensors(output)[TENSOR], torch.tensor(expected, dtype=torch.float32).repeat(8))


def test_a_merge_holds_all_that_a_judge_needs_and_no_machine_path(folders: dict[str, str], tmp_path: Path) -> None:
    output = merged(folders, tmp_path, dtype="bfloat16", tokenizer_from="fr")
    assert {tensor.dtype for tensor in tensors(output).values()} == {torch.bfloat16}
    assert AutoConfig.from_pretrained(output).dtype == torch.bfloat16
    # The template closes a turn with <end> (6), the inputs' generation config stops at </s> (2) alone.
    assert read(output / "generation_config.json")["eos_token_id"] == [2, STOP]
    assert read(output / "judge.json")["languages"] == ["hi", "fr"]
    assert (output / "chat_template.jinja").read_bytes() == Path(folders["fr"], "chat_template.jinja").read_bytes()
    assert AutoTokenizer.from_pretrained(output).get_vocab() == pico.tokenizer().get_vocab()
    assert read(output / "manifest.json")["status"] == "done"
    assert "merge_method: linear" in (output / "merge.yaml").read_text("utf-8")
    assert not [path.name for path in output.iterdir() if path.is_dir()]
    for path in output.glob("*.[jy]*"):
        assert str(tmp_path) not in path.read_text("utf-8"), path.name


def test_vocabulary_and_generation_config_of_agreeing_inputs_are_kept(tmp_path: Path) -> None:
    """Case 14: padded embeddings keep their rows, and stops that already hold the end of turn are left byte for byte."""
    rows = len(pico.tokenizer()) + 20
    folders = {name: str(judge(tmp_path / name, values, vocab_size=rows)) for name, values in (("hi", HI), ("fr", FR))}
    settings = json.dumps({"eos_token_id": [2, STOP], "temperature": 0.6, "do_sample": True})
    for folder in folders.values():
        Path(folder, "generation_config.json").write_text(settings, "utf-8")
    output = merged(folders, tmp_path)
    assert AutoConfig.from_pretrained(output).vocab_size == rows
    assert tensors(output)["model.embed_tokens.weight"].shape == (rows, 32)
    assert (output / "generation_config.json").read_text("utf-8") == settings


def test_stops_of_all_experts_are_joined(folders: dict[str, str], tmp_path: Path) -> None:
    Path(folders["fr"], "generation_config.json").write_text('{"eos_token_id": [5, 2]}', "utf-8")
    assert read(merged(folders, tmp_path) / "generation_config.json")["eos_token_id"] == [2, 5, STOP]


def test_different_chat_templates_have_to_be_chosen_from(folders: dict[str, str], tmp_path: Path) -> None:
    """Case 15."""
    pico.tokenizer(OTHER_TEMPLATE).save_pretrained(folders["fr"])
    with pytest.raises(ConfigError, match=r"chat templates differ .*tokenizer_from: hi \| fr"):
        merged(folders, tmp_path)
    assert not (tmp_path / "merged").exists()
    output = merged(folders, tmp_path, tokenizer_from="fr")
    assert (output / "chat_template.jinja").read_text("utf-8") == OTHER_TEMPLATE
    assert AutoTokenizer.from_pretrained(output).chat_template == OTHER_TEMPLATE


@pytest.mark.parametrize(
    ("value", "changes"),
    [
        (float("nan"), {}),
        (float("inf"), {}),
        (float("nan"), {"fr": 0.0}),  # 0 times NaN is NaN: the output tells
        (float("-inf"), {"fr": 0.0}),
        (float("nan"), {"merge_method": "ties", "density": 0.5}),
    ],
)
def test_a_value_that_is_no_number_names_tensor_and_source(
    folders: dict[str, str], tmp_path: Path, value: float, changes: dict[str, Any]
) -> None:
    """Case 16. The output folder goes, so that the mended command runs."""
    file = Path(folders["fr"], "model.safetensors")
    weights = load_file(file)
    weights["model.layers.1.mlp.up_proj.weight"][3, 5] = value
    save_file(weights, file, {"format": "pt"})
    if "fr" in changes:
        changes = {"experts": {"hi": folders["hi"], "fr": {"model": folders["fr"], "weight": changes["fr"]}}}
    elif changes:
        changes = {**changes, "base_model": folders["base"]}
    with pytest.raises(ModelError, match=r"^fr: .*model\.layers\.1\.mlp\.up_proj\.weight holds NaN or infinity"):
        merged(folders, tmp_path, **changes)
    assert not (tmp_path / "merged").exists()


def test_both_layouts_in_one_folder_are_refused(folders: dict[str, str], tmp_path: Path) -> None:
    """Case 17: transformers would load the stale single file and say nothing."""
    judge(tmp_path / "shards", FR, max_shard_size="40KB")
    for path in (tmp_path / "shards").glob("model*"):
        shutil.copy(path, folders["fr"])
    with pytest.raises(ModelError, match=r"model\.safetensors"):
        merged(folders, tmp_path)
    assert not (tmp_path / "merged").exists()


def test_shards_merge_and_a_missing_one_is_refused(folders: dict[str, str], tmp_path: Path) -> None:
    shards = judge(tmp_path / "shards", FR, max_shard_size="40KB")
    output = merged({**folders, "fr": str(shards)}, tmp_path)
    torch.testing.assert_close(tensors(output)[TENSOR], torch.tensor([1, -2, 2, 0.35]).repeat(8))
    lost = next(shards.glob("model-00002-of-*"))
    lost.unlink()
    with pytest.raises(ModelError, match=lost.name):
        merged({**folders, "fr": str(shards)}, tmp_path, output_dir=str(tmp_path / "second"))


def test_a_killed_merge_leaves_no_model_and_resumes_clean(folders: dict[str, str], tmp_path: Path) -> None:
    """What kill -9 leaves: a running manifest, a hidden half, and here also shards of an older layout."""
    output = tmp_path / "merged"
    whole = merged(folders, tmp_path)
    status = read(whole / "manifest.json") | {"status": "running"}
    shutil.rmtree(output)
    (output / ".partial").mkdir(parents=True)
    (output / "manifest.json").write_text(json.dumps(status), "utf-8")
    for name in (".partial/model-1.safetensors", "model-00001-of-00002.safetensors", "model.safetensors.index.json"):
        (output / name).write_text("half", "utf-8")
    with pytest.raises(ValueError, match=r"config\.json"):
        AutoModelForCausalLM.from_pretrained(output)
    merged(folders, tmp_path, if_exists="resume")
    assert [path.name for path in output.glob("*model*")] == ["model.safetensors"]
    assert not (output / ".partial").exists()
    torch.testing.assert_close(tensors(output)[TENSOR], torch.tensor([1, -2, 2, 0.35]).repeat(8))


def test_an_adapter_is_folded_on_the_way(tmp_path: Path) -> None:
    base = judge(tmp_path / "base", seed=0)
    folders = {name: str(adapter(tmp_path / name, base, seed=seed)) for name, seed in (("hi", 1), ("fr", 2))}
    output = merged(folders, tmp_path)
    halves = []
    for name, folder in folders.items():
        (tmp_path / f"{name}-full").mkdir()
        fold(Path(folder), tmp_path / f"{name}-full")
        halves.append(tensors(tmp_path / f"{name}-full"))
    for name, value in tensors(output).items():
        torch.testing.assert_close(value, (halves[0][name] + halves[1][name]) / 2)
    assert read(output / "judge.json")["with_reference"] is False
    assert not [path.name for path in output.iterdir() if path.is_dir()]


def test_ties_is_mergekits_own_although_unchanged_tensors_are_not_sorted(tmp_path: Path) -> None:
    base = judge(tmp_path / "base", seed=0)
    folders = {"base": str(base)}
    for seed, name in enumerate(("hi", "fr"), start=1):
        fold(adapter(tmp_path / f"{name}-adapter", base, seed=seed), _made(tmp_path / name))
        folders[name] = str(tmp_path / name)
    values = {
        "merge_method": "ties",
        "base_model": folders["base"],
        "experts": {name: folders[name] for name in ("hi", "fr")},
        "weight": 0.15,
        "density": 0.5,
        "dtype": "float32",
        "output_dir": str(tmp_path / "ours"),
    }
    config = MergeConfig.model_validate(values)
    sources = read_sources(config)
    unchanged = unchanged_filters([source.headers for source in sources.values()])
    # LoRA on all linear layers leaves the embeddings and norms; the head is separate here and is no LoRA target.
    assert sorted(unchanged)[0] == "lm_head.weight"
    assert "model.layers.0.mlp.up_proj.weight" not in unchanged
    main(config)
    plain = mergekit_config(config, {name: source.folder for name, source in sources.items()})
    run_merge(plain, str(tmp_path / "theirs"), MergeOptions(write_model_card=False, copy_tokenizer=False, quiet=True))
    ours, theirs = (Path(tmp_path, name, "model.safetensors").read_bytes() for name in ("ours", "theirs"))
    assert ours == theirs
    assert BASE in sources


def test_an_expert_tuned_from_another_checkpoint_is_refused(folders: dict[str, str], tmp_path: Path) -> None:
    pretrained = judge(tmp_path / "pretrained", [1.0])
    card = Path(folders["fr"], "judge.json")
    card.write_text(json.dumps({**read(card), "base_model": str(pretrained)}), "utf-8")
    settings: dict[str, Any] = {"merge_method": "ties", "density": 0.5}
    with pytest.raises(ConfigError, match=r"fr was tuned from .*pretrained, but base_model is .*base"):
        merged(folders, tmp_path, base_model=folders["base"], **settings)
    shutil.rmtree(pretrained)
    shutil.copytree(folders["base"], pretrained)  # the same model in another place is the same base
    merged(folders, tmp_path, base_model=folders["base"], **settings)


def test_an_output_that_is_an_input_is_refused(folders: dict[str, str], tmp_path: Path) -> None:
    """Overwriting would delete the expert first and find it missing then."""
    for output in (folders["hi"], str(tmp_path)):
        with pytest.raises(RunFolderError, match="is or holds the input"):
            merged(folders, tmp_path, output_dir=output, if_exists="overwrite")


def test_a_finished_merge_is_not_made_twice(folders: dict[str, str], tmp_path: Path) -> None:
    merged(folders, tmp_path)
    with pytest.raises(RunFolderError, match="--if_exists"):
        merged(folders, tmp_path)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
