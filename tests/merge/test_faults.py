"""Broken inputs and recipes, as the command meets them: one line that says what and where, exit 2, and nothing left."""

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from core.config import exit_status
from core.errors import ModelError
from merge.fold import FoldConfig
from merge.fold import main as fold
from merge.recipe import MergeConfig
from merge.run import main
from merge.vocabulary import check_template
from tests import pico
from tests.merge.checkpoints import adapter, judge, read, tensors

EMPTY_ADAPTER = {}  # 40 bytes on disk


def nan(fr: Path) -> None:
    weights = load_file(fr / "model.safetensors")
    weights["model.layers.1.mlp.up_proj.weight"][3, 5] = torch.nan
    save_file(weights, fr / "model.safetensors", {"format": "pt"})


def absent_files(fr: Path) -> None:
    reshard(fr)
    index = fr / "model.safetensors.index.json"
    content = read(index)
    content["weight_map"]["model.norm.weight"] = "model-00099-of-00099.safetensors"
    index.write_text(json.dumps(content), "utf-8")


def both_layouts(fr: Path) -> None:
    whole = (fr / "model.safetensors").read_bytes()
    reshard(fr)
    (fr / "model.safetensors").write_bytes(whole)


def lost_shard(fr: Path) -> None:
    reshard(fr)
    next(fr.glob("model-00002-*")).unlink()


def lost_shard_and_name(fr: Path) -> None:
    """The index, too, knows nothing of the lost shard: only the config says what should be there."""
    lost_shard(fr)
    index = fr / "model.safetensors.index.json"
    kept = {name: file for name, file in read(index)["weight_map"].items() if "00002" not in file}
    index.write_text(json.dumps({"weight_map": kept}), "utf-8")


def two_tokens_more(fr: Path) -> None:
    more = pico.tokenizer()
    more.add_tokens(["<a>", "<b>"])
    more.save_pretrained(fr)


def quantized(fr: Path) -> None:
    weights = load_file(fr / "model.safetensors")
    name = "model.layers.0.mlp.up_proj.weight"
    save_file({**weights, name: weights[name].to(torch.int8)}, fr / "model.safetensors", {"format": "pt"})


def pickled(fr: Path) -> None:
    torch.save(load_file(fr / "model.safetensors"), fr / "pytorch_model.bin")
    (fr / "model.safetensors").unlink()


def no_index(fr: Path) -> None:
    reshard(fr)
    (fr / "model.safetensors.index.json").write_text("[]", "utf-8")


def no_languages(fr: Path) -> None:
    (fr / "judge.json").write_text(json.dumps({**read(fr / "judge.json"), "languages": "fr"}), "utf-8")


def broken_generation_config(fr: Path) -> None:
    (fr / "generation_config.json").write_text("{", "utf-8")


def stop_in_words(fr: Path) -> None:
    (fr / "generation_config.json").write_text('{"eos_token_id": "</s>"}', "utf-8")


def template_of_bytes(fr: Path) -> None:
    (fr / "chat_template.jinja").write_bytes(b"\xff\xfe")


def reshard(fr: Path) -> None:
    (fr / "model.safetensors").unlink()
    pico.model("llama", seed=2).save_pretrained(fr, max_shard_size="40KB")


FAULTS: list[tuple[Callable[[Path], None], str]] = [
    (nan, "error: fr: {fr}/model.safetensors: model.layers.1.mlp.up_proj.weight holds NaN or infinity"),
    (absent_files, "model-00099-of-00099.safetensors are of another save, or missing"),
    (both_layouts, "weight files model.safetensors are of another save, or missing"),
    (lost_shard, ".safetensors are of another save, or missing"),
    (lost_shard_and_name, "hi and fr differ in "),
    (two_tokens_more, "2 tokens differ in id: '<a>' (absent / {rows}), '<b>' (absent / {more})"),
    (quantized, "fr ({fr}) is quantized (model.layers.0.mlp.up_proj.weight is I8)"),
    (pickled, "{fr} has no safetensors weights"),
    (no_index, "{fr}/model.safetensors.index.json is not an index"),
    (no_languages, "{fr}/judge.json: languages is 'fr'; make it a list"),
    (broken_generation_config, "{fr}/generation_config.json cannot be read"),
    (stop_in_words, "{fr}/generation_config.json: eos_token_id is '</s>'; make it a token id"),
    (template_of_bytes, "the chat template of {fr} cannot be read"),
]


@pytest.mark.parametrize(("damage", "message"), FAULTS, ids=[damage.__name__ for damage, _ in FAULTS])
def test_a_broken_expert_is_one_line_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], None], message: str
) -> None:
    experts = {name: judge(tmp_path / name, seed=seed) for seed, name in enumerate(("hi", "fr"), start=1)}
    damage(experts["fr"])
    rows = len(pico.tokenizer())
    assert (status(experts, tmp_path), (tmp_path / "merged").exists()) == (2, False)
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error:")]
    assert message.format(fr=experts["fr"], rows=rows, more=rows + 1) in line


def test_an_adapter_of_40_bytes_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Case 9, on the way into a merge and into a fold."""
    base = judge(tmp_path / "base")
    experts = {"hi": judge(tmp_path / "hi", seed=1), "fr": adapter(tmp_path / "fr", base)}
    save_file(EMPTY_ADAPTER, experts["fr"] / "adapter_model.safetensors")
    folded = FoldConfig(adapter=str(experts["fr"]), output_dir=str(tmp_path / "merged"))
    for command in (lambda: status(experts, tmp_path), lambda: exit_status(lambda: fold(folded))):
        assert command() == 2
        assert f"adapter {experts['fr']} lacks 28 of 28 weights" in capsys.readouterr().err
        assert not (tmp_path / "merged").exists()


def test_a_sum_too_large_for_its_dtype_is_told_from_a_broken_input(tmp_path: Path) -> None:
    """Case 16: float16 ends at 65504."""
    experts = {name: judge(tmp_path / name, [60000.0]) for name in ("hi", "fr")}
    with pytest.raises(
        ModelError, match=r"model\.norm\.weight holds NaN or infinity though no input does: float16 is too"
    ):
        main(recipe(experts, tmp_path, dtype="float16", parameters={"normalize": False}))
    assert not (tmp_path / "merged").exists()


def test_weights_that_cancel_in_a_layer_are_not_put_down_to_the_dtype(tmp_path: Path) -> None:
    """Every weight of the list is sound, but both experts have 0 in the first layer, and 0/0 is NaN."""
    experts = {name: judge(tmp_path / name, seed=seed) for seed, name in enumerate(("hi", "fr"), start=1)}
    with pytest.raises(ModelError, match="though no input does: the recipe's weights are too large, or sum to 0 where"):
        main(recipe(experts, tmp_path, weight=None, parameters={"weight": [0.0, 1.0]}))


def test_arithmetic_and_output_may_have_two_dtypes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    experts = {name: judge(tmp_path / name, seed=seed) for seed, name in enumerate(("hi", "fr"), start=1)}
    main(recipe(experts, tmp_path, dtype="float32", out_dtype="bfloat16"))
    written = tensors(tmp_path / "merged")
    assert read(tmp_path / "merged" / "config.json")["dtype"] == "bfloat16"
    whole = [tensors(folder) for folder in experts.values()]
    for name, value in written.items():
        # Summed in float32 and rounded once.
        assert value.equal(((whole[0][name] + whole[1][name]) / 2).bfloat16()), name
    main(recipe(experts, tmp_path, output_dir=str(tmp_path / "second")))
    assert "hi, fr: stored in float32, converted to bfloat16 before the merge" in capsys.readouterr().err


def test_a_tokenizer_with_more_tokens_than_rows_is_refused(tmp_path: Path) -> None:
    """Case 11 where the new embeddings were never saved: every prompt with a new token would fail, or mean nothing."""
    base = judge(tmp_path / "base")
    source = adapter(tmp_path / "hi", base)
    two_tokens_more(source)
    rows = len(pico.tokenizer())
    with pytest.raises(
        ModelError, match=rf"adapter {source} has a tokenizer of {rows + 2} tokens, its model only {rows}"
    ):
        fold(FoldConfig(adapter=str(source), output_dir=str(tmp_path / "full")))
    experts = {name: judge(tmp_path / name, seed=seed) for seed, name in enumerate(("te", "fr"), start=1)}
    for folder in experts.values():
        two_tokens_more(folder)
    with pytest.raises(ModelError, match=rf"te has a tokenizer of {rows + 2} tokens, its model only {rows}"):
        main(recipe(experts, tmp_path))


def test_experts_with_added_tokens_merge_whether_folded_or_not(tmp_path: Path) -> None:
    """Case 11: an adapter brings more rows than its base has, and its fellow expert has as many."""
    base, rows = judge(tmp_path / "base"), len(pico.tokenizer()) + 2
    experts = {"hi": adapter(tmp_path / "hi", base, rows), "fr": judge(tmp_path / "fr", seed=3, vocab_size=rows)}
    for folder in experts.values():
        two_tokens_more(folder)
    main(recipe(experts, tmp_path))
    assert tensors(tmp_path / "merged")["model.embed_tokens.weight"].shape[0] == rows


@pytest.mark.parametrize(
    "template",
    [
        "{% if messages %}",  # unclosed
        "{{ messages | nofilter }}",
        "{{ raise_exception('no chat') }}",
        "{{ messages[0]['nope']['x'] }}",
        "{{ messages[0]['content'] + 1 }}",
    ],
)
def test_a_chat_template_that_cannot_be_rendered_is_found_before_the_merge(
    template: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    merged: list[object] = []
    monkeypatch.setattr("merge.run.merge", lambda *given: merged.append(given))
    experts = {name: judge(tmp_path / name, seed=seed) for seed, name in enumerate(("hi", "fr"), start=1)}
    (experts["hi"] / "chat_template.jinja").write_text(template, "utf-8")
    with pytest.raises(ModelError, match=r"the chat template of .*hi cannot be rendered"):
        main(recipe(experts, tmp_path))
    assert not merged


@pytest.mark.parametrize("added", [{"bos_token": None}, {"bos_token": {"content": "<s>", "lstrip": False}}])
def test_a_template_finds_its_special_tokens_however_they_are_written(added: dict[str, Any], tmp_path: Path) -> None:
    folder = judge(tmp_path / "hi", chat_template="{{ bos_token + 'x' + eos_token }}")
    config = tmp_path / "hi" / "tokenizer_config.json"
    config.write_text(json.dumps({**read(config), **added}), "utf-8")
    check_template(folder)


def test_of_a_list_of_chat_templates_the_default_is_rendered(tmp_path: Path) -> None:
    """As tokenizer_config.json of older models has them."""
    folder = judge(tmp_path / "hi", chat_template=None)
    for text in ("{{ messages[0]['content'] }}", "{% if"):
        templates = [{"name": "default", "template": text}, {"name": "rag", "template": "x"}]
        config = read(folder / "tokenizer_config.json")
        (folder / "tokenizer_config.json").write_text(json.dumps({**config, "chat_template": templates}), "utf-8")
        with pytest.raises(ModelError, match="cannot be rendered") if text == "{% if" else nullcontext():
            check_template(folder)


def test_an_expert_whose_config_counts_more_tokens_than_its_embeddings_is_refused(tmp_path: Path) -> None:
    """The other expert has the same tensors and a sound config: what its config builds says nothing of this one's."""
    experts = {name: judge(tmp_path / name, seed=seed) for seed, name in enumerate(("hi", "fr"), start=1)}
    config = read(experts["fr"] / "config.json")
    more = {**config, "vocab_size": config["vocab_size"] + 2}
    (experts["fr"] / "config.json").write_text(json.dumps(more), "utf-8")
    with pytest.raises(ModelError, match=r"^fr: .* mismatched weights"):
        main(recipe(experts, tmp_path))


def test_a_merge_that_has_to_stop_and_does_not_is_refused(tmp_path: Path) -> None:
    experts = {name: judge(tmp_path / name, seed=seed) for seed, name in enumerate(("hi", "fr"), start=1)}
    with pytest.raises(ModelError, match="did not end by itself within 3 tokens"):
        main(recipe(experts, tmp_path, require_stop=True, max_new_tokens=3))
    assert not (tmp_path / "merged").exists()


def recipe(experts: dict[str, Path], tmp_path: Path, **changes: Any) -> MergeConfig:
    values = {
        "merge_method": "linear",
        "experts": {name: str(folder) for name, folder in experts.items()},
        "weight": 1.0,
        "output_dir": str(tmp_path / "merged"),
        "max_new_tokens": 4,
        "tokenizer_from": next(iter(experts)),
    }
    return MergeConfig.model_validate({**values, **changes})


def status(experts: dict[str, Path], tmp_path: Path) -> int:
    return exit_status(lambda: main(recipe(experts, tmp_path)))
