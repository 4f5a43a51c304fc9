"""A sound checkpoint passes; one with any fault that a judge would suffer from is refused, with the fault named."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, GenerationConfig
from transformers.models.mixtral import MixtralConfig

from core.errors import ModelError
from core.prompt_spec import PromptSpec
from tests import pico
from train.check import check_checkpoint, check_weights, describe
from train.load import load_model

SOUND_STOPS = [2, 6]  # </s> and <end>


def save(folder: Path, shards: bool = False) -> Path:
    model = pico.model()
    model.generation_config = GenerationConfig(eos_token_id=SOUND_STOPS)
    model.save_pretrained(folder, max_shard_size="40KB" if shards else "1GB")
    pico.tokenizer().save_pretrained(folder)
    return folder


@pytest.mark.parametrize("shards", [False, True])
def test_a_sound_model_passes(shards: bool, tmp_path: Path) -> None:
    checked = check_checkpoint(save(tmp_path, shards))
    # embeddings, final norm, head, and 9 tensors in each of 2 layers
    assert (checked.tensors, checked.stops) == (3 + 2 * 9, SOUND_STOPS)
    assert "21 tensors finite, generation stops at tokens [2, 6]" in describe("x", checked)
    assert check_weights(tmp_path) == 21
    assert (len(list(tmp_path.glob("*.safetensors"))) > 1) == shards


def change(folder: Path, name: str, tensor: torch.Tensor) -> None:
    weights = folder / "model.safetensors"
    save_file({**load_file(weights), name: tensor}, weights, {"format": "pt"})


def infinite(folder: Path) -> None:
    change(folder, "model.norm.weight", torch.full([32], torch.inf))


def nan_in_bf16(folder: Path) -> None:
    change(folder, "model.norm.weight", torch.full([32], torch.nan, dtype=torch.bfloat16))


def no_elements(folder: Path) -> None:
    change(folder, "model.norm.weight", torch.zeros(0))


def misshapen(folder: Path) -> None:
    change(folder, "model.norm.weight", torch.ones(31))


def stray(folder: Path) -> None:
    change(folder, "model.layers.2.mlp.up_proj.weight", torch.ones(64, 32))


def one_missing(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    del tensors["model.layers.1.mlp.up_proj.weight"]
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def other_names(folder: Path) -> None:  # as a wrapped model saves them
    tensors = load_file(folder / "model.safetensors")
    tensors = {f"_orig_mod.{name}": tensor for name, tensor in tensors.items()}
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def no_turn_end(folder: Path) -> None:
    GenerationConfig(eos_token_id=2).save_pretrained(folder)


def no_stop_at_all(folder: Path) -> None:
    GenerationConfig().save_pretrained(folder)


def remove(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (infinite, "model.norm.weight holds NaN or infinity"),
        (nan_in_bf16, "model.norm.weight holds NaN or infinity"),
        (no_elements, "model.norm.weight has no elements"),
        (misshapen, "1 mismatched weights .model.norm.weight"),
        (stray, "1 unexpected weights .model.layers.2.mlp.up_proj.weight"),
        (one_missing, "1 missing weights .model.layers.1.mlp.up_proj.weight"),
        (other_names, "21 missing weights"),
        (no_turn_end, r"generation stops at \[2\], which lacks the end-of-turn token 6 \(<end>\)"),  # case 7
        (no_stop_at_all, r"generation stops at \[\]"),
        (remove("generation_config.json"), "has no generation_config.json"),
        (remove("chat_template.jinja"), "has no chat template"),
        (remove("tokenizer.json"), "no tokenizer in"),
        (remove("model.safetensors"), "has no weights"),
    ],
)
def test_a_fault_is_named(damage: Callable[[Path], None], message: str, tmp_path: Path) -> None:
    damage(save(tmp_path))
    with pytest.raises(ModelError, match=message):
        check_checkpoint(tmp_path)


def test_weights_of_another_save_in_the_folder_are_found(tmp_path: Path) -> None:  # case 17
    save(tmp_path, shards=True)
    pico.model(seed=1).save_pretrained(tmp_path / "other")
    (tmp_path / "other" / "model.safetensors").rename(tmp_path / "model.safetensors")
    with pytest.raises(ModelError, match=r"weight files model.safetensors are of another save"):
        check_weights(tmp_path)


def test_an_index_left_behind_by_a_save_as_one_file_is_found(tmp_path: Path) -> None:  # case 17
    save(tmp_path, shards=True)
    index = (tmp_path / "model.safetensors.index.json").read_bytes()
    for shard in tmp_path.glob("*.safetensors"):
        shard.unlink()
    save(tmp_path)
    (tmp_path / "model.safetensors.index.json").write_bytes(index)
    with pytest.raises(ModelError, match="are of another save, or missing"):
        check_weights(tmp_path)


def test_a_missing_shard_and_a_tensor_that_the_index_places_elsewhere_are_found(tmp_path: Path) -> None:
    save(tmp_path, shards=True)
    path = tmp_path / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    first, second, *_ = sorted({*index["weight_map"].values()} - {index["weight_map"]["model.norm.weight"]})
    moved = {**index["weight_map"], "model.norm.weight": first}
    path.write_text(json.dumps({**index, "weight_map": moved}))
    with pytest.raises(ModelError, match=r"differ in 1 tensors \(model.norm.weight\)"):
        check_weights(tmp_path)
    path.write_text(json.dumps(index))
    (tmp_path / second).unlink()
    with pytest.raises(ModelError, match=f"{second} are of another save, or missing"):
        check_weights(tmp_path)


def test_an_untrained_adapter_is_found_and_a_trained_one_passes(tmp_path: Path) -> None:  # case 9
    base = save(tmp_path / "base")
    adapter = tmp_path / "adapter"
    model = get_peft_model(load_model(base), LoraConfig(r=2, target_modules=["q_proj"], task_type="CAUSAL_LM"))
    model.save_pretrained(adapter)
    pico.tokenizer().save_pretrained(adapter)
    GenerationConfig(eos_token_id=SOUND_STOPS).save_pretrained(adapter)
    with pytest.raises(ModelError, match="every lora_B is zero, so the adapter does nothing"):
        check_checkpoint(adapter)
    weights = load_file(adapter / "adapter_model.safetensors")
    save_file({name: tensor + 0.01 for name, tensor in weights.items()}, adapter / "adapter_model.safetensors")
    assert check_checkpoint(adapter).tensors == 4  # A and B of q_proj in 2 layers


def test_an_adapter_with_other_weights_than_its_config_builds_is_found(tmp_path: Path) -> None:  # case 9
    adapter = tmp_path / "adapter"
    base = load_model(save(tmp_path / "base"))
    get_peft_model(base, LoraConfig(r=2, target_modules=["q_proj"], task_type="CAUSAL_LM")).save_pretrained(adapter)
    file = adapter / "adapter_model.safetensors"
    sound = {name: tensor + 0.01 for name, tensor in load_file(file).items()}
    first, *others = sorted(sound)
    save_file({name: sound[name] for name in others}, file)
    with pytest.raises(ModelError, match="lacks 1 of 4 weights"):
        check_weights(adapter)
    save_file({**sound, first.replace("layers.0", "layers.7"): sound[first].clone()}, file)
    with pytest.raises(ModelError, match=r"holds 1 weights that its base has no place for \(.*layers\.7"):
        check_weights(adapter)


def test_a_head_tied_to_the_embeddings_may_be_absent(tmp_path: Path) -> None:
    pico.save(tmp_path, tie_word_embeddings=True)
    assert "lm_head.weight" not in load_file(tmp_path / "model.safetensors")
    assert check_weights(tmp_path) == 20


def test_experts_are_saved_one_by_one_and_built_together(tmp_path: Path) -> None:
    config = MixtralConfig(
        vocab_size=50, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, num_local_experts=2,
    )  # fmt: skip
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)
    assert check_weights(tmp_path) == 16  # 3 of the model, 2 norms, 4 projections, the router, 2 experts of 3


def test_a_judge_holds_judge_json_and_may_be_required_to_stop(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(tmp_path)
    with pytest.raises(ModelError, match=r"has no judge\.json"):
        check_checkpoint(tmp_path, is_judge=True)
    PromptSpec().save(tmp_path)
    checked = check_checkpoint(tmp_path, is_judge=True)  # random weights: it goes on and on
    assert (checked.stopped_by_itself, checked.written) == (False, 32)
    assert "a trial verdict did not end by itself within 32 tokens" in capsys.readouterr().err
    with pytest.raises(ModelError, match="did not end by itself within 9 tokens; train longer"):
        check_checkpoint(tmp_path, require_stop=True, max_new_tokens=9)
    # After a verdict that is given it only has to stop.
    assert check_checkpoint(tmp_path, verdict="It names three. [RESULT] 5").written == 4
    assert "did not end by itself within 4 tokens after its score" in capsys.readouterr().err

    # All embeddings alike, so each position has one state; a head that sees in it the end of the turn, token 6.
    head, embeddings = (
        load_file(tmp_path / "model.safetensors")[name] for name in ("lm_head.weight", "model.embed_tokens.weight")
    )
    change(tmp_path, "model.embed_tokens.weight", torch.ones_like(embeddings))
    with torch.no_grad():
        state = load_model(tmp_path)(input_ids=torch.tensor([[1]]), output_hidden_states=True).hidden_states[-1][0, 0]
    head = torch.zeros_like(head)
    head[6] = state
    change(tmp_path, "lm_head.weight", head)
    checked = check_checkpoint(tmp_path, is_judge=True, require_stop=True)
    assert (checked.stopped_by_itself, checked.written) == (True, 1)
    assert check_checkpoint(tmp_path, verdict="It names three. [RESULT] 5")[2:] == (True, 1)
    assert "a trial one stopped by itself after 1 tokens" in describe("x", checked)


def test_a_hub_id_is_no_folder_to_check() -> None:
    with pytest.raises(ModelError, match="name the folder of a checkpoint"):
        check_checkpoint("nobody/nothing")
