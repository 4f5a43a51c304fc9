"""A model loads whole or is refused: plain folders and adapters, and every way in which one is not what it seems."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file

from core.errors import ConfigError, ModelError
from tests import pico
from train.load import check_model, check_names, load_model, load_tokenizer

IDS = torch.tensor([[1, 5, 40, 41, 6]])


def logits(model: torch.nn.Module) -> torch.Tensor:
    with torch.no_grad():
        return model(input_ids=IDS).logits


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return pico.save(tmp_path / "base")


@pytest.fixture
def adapter(base: Path, tmp_path: Path) -> Path:
    """A LoRA adapter on the base whose lora_B are not zero."""
    model = get_peft_model(load_model(base), LoraConfig(r=4, target_modules="all-linear", task_type="CAUSAL_LM"))
    torch.manual_seed(1)
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.1)
    model.save_pretrained(tmp_path / "adapter")
    torch.save(logits(model.eval()), tmp_path / "logits.pt")
    return tmp_path / "adapter"


def test_a_plain_folder_loads_in_the_dtype_asked_for(base: Path) -> None:
    assert torch.equal(logits(load_model(base)), logits(pico.model()))
    assert load_model(base, dtype="bfloat16").dtype == torch.bfloat16
    assert not load_model(str(base)).training


def test_an_adapter_loads_on_the_base_that_it_records(base: Path, adapter: Path) -> None:
    loaded = load_model(adapter)
    assert isinstance(loaded, PeftModel)
    assert torch.allclose(logits(loaded), torch.load(adapter.parent / "logits.pt"), atol=1e-6)
    assert not torch.allclose(logits(loaded), logits(load_model(base)), atol=1e-2)


def test_an_adapters_own_stops_win_over_its_bases(adapter: Path) -> None:
    (adapter / "generation_config.json").write_text('{"eos_token_id": [2, 6]}', encoding="utf-8")
    assert load_model(adapter).generation_config.eos_token_id == [2, 6]


def empty(weights: Path) -> None:  # the 40 bytes that a wrong ZeRO-3 save leaves
    save_file({}, weights, {"format": "pt"})


def wrong_prefix(weights: Path) -> None:
    save_file({f"model.{name}": tensor for name, tensor in load_file(weights).items()}, weights)


def one_missing(weights: Path) -> None:
    tensors = load_file(weights)
    tensors.pop(sorted(tensors)[0])
    save_file(tensors, weights)


@pytest.mark.parametrize(("damage", "lost"), [(empty, 28), (wrong_prefix, 28), (one_missing, 1)])
def test_an_adapter_that_would_judge_as_its_base_is_refused(  # case 9
    damage: Callable[[Path], None], lost: int, adapter: Path
) -> None:
    # 2 layers x 7 projections x (A, B) = 28 weights
    damage(adapter / "adapter_model.safetensors")
    with pytest.raises(ModelError, match=f"lacks {lost} of 28 weights"):
        load_model(adapter)


def test_an_adapter_with_added_tokens_grows_its_base(base: Path, tmp_path: Path) -> None:  # case 11
    grown = load_model(base)
    rows = grown.get_input_embeddings().weight.shape[0] + 2
    grown.resize_token_embeddings(rows)
    config = LoraConfig(
        r=4, target_modules=["q_proj"], modules_to_save=["embed_tokens", "lm_head"], task_type="CAUSAL_LM"
    )
    trained = get_peft_model(grown, config)
    trained.save_pretrained(tmp_path / "adapter")
    loaded = load_model(tmp_path / "adapter")
    assert loaded.get_input_embeddings().weight.shape[0] == rows
    assert torch.allclose(logits(loaded), logits(trained.eval()), atol=1e-6)


def test_an_adapter_on_a_bigger_base_than_its_own_is_one_line(base: Path, tmp_path: Path) -> None:  # case 11
    config = LoraConfig(r=4, target_modules=["q_proj"], modules_to_save=["embed_tokens"], task_type="CAUSAL_LM")
    get_peft_model(load_model(base), config).save_pretrained(tmp_path / "adapter")
    rows = len(pico.tokenizer())
    pico.save(base, vocab_size=rows + 2)
    with pytest.raises(ModelError, match=f"was trained with {rows} tokens, its base has {rows + 2}"):
        load_model(tmp_path / "adapter")


def test_a_folder_that_cannot_be_used_is_named_before_it_loads(base: Path, adapter: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="absent does not exist; name a folder with a model, or a Hub id"):
        check_model(tmp_path / "absent")
    with pytest.raises(ModelError, match="adapter is an adapter where a whole model is needed"):
        check_model(adapter, whole=True)
    (base / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="base has no weights"):
        check_model(base)
    with pytest.raises(ModelError, match="base has no weights"):  # the adapter's base
        check_model(adapter)
    (adapter / "adapter_model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"has no adapter_model.safetensors"):
        check_model(adapter)


@pytest.mark.parametrize(
    ("changed", "message"),
    [({"r": 3}, "in shape|size mismatch"), ({"peft_type": "NO_LORA"}, "adapter_config.json is no adapter's")],
)
def test_an_adapter_whose_config_is_anothers_is_one_line(
    changed: dict[str, object], message: str, adapter: Path
) -> None:
    path = adapter / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changed), encoding="utf-8")
    for look in (check_names, load_model):
        with pytest.raises(ModelError, match=message):
            look(adapter)


def test_an_adapter_that_names_no_base_is_refused(adapter: Path) -> None:
    path = adapter / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"base_model_name_or_path": None}))
    with pytest.raises(ModelError, match="names no base_model_name_or_path"):
        check_model(adapter)


def test_a_hub_id_that_cannot_be_reached_is_one_line() -> None:
    with pytest.raises(
        ModelError, match="nobody/nothing is no folder, and not in the Hub's cache while HF_HUB_OFFLINE is set"
    ):
        load_model("nobody/nothing")
    with pytest.raises(ModelError, match="no tokenizer in nobody/nothing"):
        load_tokenizer("nobody/nothing")


def test_a_weight_that_is_missing_or_misshapen_is_never_made_up(base: Path) -> None:
    weights = base / "model.safetensors"
    tensors = load_file(weights)
    missing = tensors.pop("model.layers.1.mlp.up_proj.weight")
    save_file(tensors, weights, {"format": "pt"})
    with pytest.raises(ModelError, match=r"1 missing weights \(model.layers.1.mlp.up_proj.weight\)"):
        load_model(base)
    save_file({**tensors, "model.layers.1.mlp.up_proj.weight": missing[:, 1:].contiguous()}, weights, {"format": "pt"})
    with pytest.raises(ModelError, match=r"1 mismatched weights \(model.layers.1.mlp.up_proj.weight\)"):
        load_model(base)
    weights.write_bytes(b"cut")
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_model(base)


def test_a_tokenizer_keeps_its_template_or_takes_the_one_named(base: Path, tmp_path: Path) -> None:
    assert load_tokenizer(base).chat_template == pico.CHAT_TEMPLATE
    with pytest.raises(ConfigError, match="brings its own chat template"):
        load_tokenizer(base, "plain")
    bare = pico.save(tmp_path / "bare", chat_template=None)
    with pytest.raises(ModelError, match="has no chat template; choose one by name"):
        load_tokenizer(bare)
    assert "### Verdict" in load_tokenizer(bare, "plain").chat_template


def test_an_adapter_without_tokenizer_takes_its_bases(adapter: Path) -> None:
    assert load_tokenizer(adapter).chat_template == pico.CHAT_TEMPLATE


@pytest.mark.parametrize(("unused", "pad"), [("<|right_pad|>", "<|right_pad|>"), ("<unused>", "<unk>")])
def test_a_reserved_token_or_else_the_unknown_one_pads_where_no_token_was_named_for_it(
    unused: str, pad: str, tmp_path: Path
) -> None:
    tok = pico.tokenizer()
    tok.pad_token = None
    tok.save_pretrained(tmp_path)
    for file in tmp_path.glob("tokenizer*.json"):
        file.write_text(file.read_text(encoding="utf-8").replace("<pad>", unused), encoding="utf-8")
    assert load_tokenizer(tmp_path).pad_token == pad
