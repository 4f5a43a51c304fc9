"""Folding a LoRA adapter: the same logits, the base's dtype, everything a judge needs, and the folders it must not touch."""

from pathlib import Path

import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from core.chat import encode_prompt
from core.errors import ModelError, RunFolderError
from merge.fold import FoldConfig, _checked, main
from tests import pico
from tests.merge.checkpoints import STOP, adapter, judge, read, tensors

PROMPT = [{"role": "user", "content": "Judge the response. उत्तर सही है।"}]


def folded(source: Path, tmp_path: Path) -> Path:
    output = tmp_path / "full"
    main(FoldConfig(adapter=str(source), output_dir=str(output)))
    return output


def logits(model: torch.nn.Module) -> torch.Tensor:
    ids = torch.tensor([encode_prompt(pico.tokenizer(), PROMPT)])
    with torch.no_grad():
        return model.float().eval()(input_ids=ids).logits


def with_adapter(base: Path, source: Path, tokens: int | None = None) -> torch.nn.Module:
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    if tokens:
        model.resize_token_embeddings(tokens)
    return PeftModel.from_pretrained(model, source)


def test_the_folded_model_answers_as_base_and_adapter(tmp_path: Path) -> None:
    base = judge(tmp_path / "base")
    source = adapter(tmp_path / "hi", base)
    output = folded(source, tmp_path)
    wanted = logits(with_adapter(base, source))
    torch.testing.assert_close(logits(AutoModelForCausalLM.from_pretrained(output)), wanted)
    effect = (wanted - logits(AutoModelForCausalLM.from_pretrained(base))).abs().max()
    assert effect > 0.1  # so that the equality above says something
    assert not (output / "adapter_config.json").exists()
    assert read(output / "judge.json")["with_reference"] is False
    assert read(output / "generation_config.json")["eos_token_id"] == [2, STOP]
    assert (output / "chat_template.jinja").read_bytes() == (source / "chat_template.jinja").read_bytes()
    manifest = read(output / "manifest.json")
    assert (manifest["status"], manifest["dtype"], manifest["base_model"]) == ("done", "float32", "base")


def test_the_weights_have_the_dtype_of_the_base(tmp_path: Path) -> None:
    base = judge(tmp_path / "base")
    AutoModelForCausalLM.from_pretrained(base).to(torch.bfloat16).save_pretrained(base)
    source = adapter(tmp_path / "hi", base)
    output = folded(source, tmp_path)
    assert {tensor.dtype for tensor in tensors(output).values()} == {torch.bfloat16}
    assert read(output / "config.json")["dtype"] == "bfloat16"
    # Rounded once: W + BA in float32, then to bfloat16 (relative spacing 2^-8).
    exact = dict(with_adapter(base, source).merge_and_unload().named_parameters())
    for name, weight in tensors(output).items():
        assert torch.equal(weight, exact[name].data.to(torch.bfloat16)), name
    manifest = read(output / "manifest.json")
    assert 0 < manifest["rounding_error"] < manifest["adapter_effect"]
    assert manifest["reload_error"] < 1e-5


def test_a_resized_vocabulary_is_folded_with_its_rows(tmp_path: Path) -> None:
    """Case 11: the base has two rows fewer than the adapter's own embeddings."""
    base = judge(tmp_path / "base")
    tokens = len(pico.tokenizer()) + 2
    source = adapter(tmp_path / "hi", base, tokens)
    output = folded(source, tmp_path)
    model = AutoModelForCausalLM.from_pretrained(output)
    assert model.config.vocab_size == tokens
    assert model.get_input_embeddings().weight.shape[0] == tokens
    torch.testing.assert_close(logits(model), logits(with_adapter(base, source, tokens)))


def test_tied_embeddings_stay_tied(tmp_path: Path) -> None:
    base = pico.save(tmp_path / "base", "gemma3", tie_word_embeddings=True)
    source = adapter(tmp_path / "hi", base)
    output = folded(source, tmp_path)
    assert read(output / "config.json")["tie_word_embeddings"] is True
    assert "lm_head.weight" not in tensors(output)
    torch.testing.assert_close(logits(AutoModelForCausalLM.from_pretrained(output)), logits(with_adapter(base, source)))


def test_a_head_trained_apart_from_tied_embeddings_is_kept(tmp_path: Path) -> None:
    """The base ties its head to the embeddings; the adapter brings a head of its own, which a tied config would not load."""
    base = pico.save(tmp_path / "base", "gemma3", tie_word_embeddings=True)
    source = adapter(tmp_path / "hi", base, modules_to_save=["lm_head"])
    file = source / "adapter_model.safetensors"
    weights = load_file(file)
    (head,) = (name for name in weights if "lm_head" in name)
    save_file({**weights, head: weights[head] + 0.1 * torch.randn_like(weights[head])}, file)
    wanted = logits(with_adapter(base, source))
    output = folded(source, tmp_path)
    torch.testing.assert_close(logits(AutoModelForCausalLM.from_pretrained(output)), wanted)
    assert read(output / "config.json")["tie_word_embeddings"] is False


def test_shards_are_of_the_size_asked_for_and_match_their_index(tmp_path: Path) -> None:
    source = adapter(tmp_path / "hi", judge(tmp_path / "base"))
    output = tmp_path / "full"
    main(FoldConfig(adapter=str(source), output_dir=str(output), max_shard_size="40KB"))
    shards = {name: shard.name for shard in output.glob("model-*.safetensors") for name in load_file(shard)}
    assert len(set(shards.values())) > 2
    assert shards == read(output / "model.safetensors.index.json")["weight_map"]
    assert not (output / "model.safetensors").exists()


def test_an_adapter_without_a_tokenizer_takes_its_bases(tmp_path: Path) -> None:
    base = judge(tmp_path / "base")
    source = adapter(tmp_path / "hi", base)
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        (source / name).unlink()
    output = folded(source, tmp_path)
    assert (output / "tokenizer.json").read_bytes() == (base / "tokenizer.json").read_bytes()
    assert read(output / "judge.json")["languages"] == ["hi"]


def test_the_adapters_own_folder_and_any_with_an_adapter_are_refused(tmp_path: Path) -> None:
    """Case 10: AutoModel would attach the adapter once more to the folded weights."""
    source = adapter(tmp_path / "hi", judge(tmp_path / "base"))
    other = adapter(tmp_path / "fr", tmp_path / "base")
    before = sorted(path.name for path in source.iterdir())
    refusals = {
        source: "is or holds the input",
        source / ".." / "hi": "is or holds the input",
        other: "holds an adapter",
        source / "checkpoint-4" / "full": "is inside the input",
    }
    for output, message in refusals.items():
        with pytest.raises(RunFolderError, match=message):
            main(FoldConfig(adapter=str(source), output_dir=str(output), if_exists="overwrite"))
    assert sorted(path.name for path in source.iterdir()) == before


def test_an_adapter_that_does_nothing_or_is_broken_is_refused(tmp_path: Path) -> None:
    """Case 9: peft loads these with a warning at most, and the judge is its base."""
    source = adapter(tmp_path / "hi", judge(tmp_path / "base"))
    file = source / "adapter_model.safetensors"
    weights = load_file(file)
    zero = {name: value * 0 if "lora_B" in name else value for name, value in weights.items()}
    nan = {name: value * float("nan") if "lora_B" in name else value for name, value in weights.items()}
    prefixed = {f"x.{name}": value for name, value in weights.items()}
    cases = [({}, "lacks 28 of 28 weights"), (zero, "every lora_B is zero"), (nan, "NaN"), (prefixed, "lacks")]
    for content, message in cases:
        save_file(content, file)
        assert content or file.stat().st_size <= 40  # what ZeRO-3 wrote
        with pytest.raises(ModelError, match=message):
            folded(source, tmp_path)
        assert not (tmp_path / "full").exists()
    file.write_bytes(b"")
    with pytest.raises(ModelError, match="cannot be read"):
        folded(source, tmp_path)


def test_full_weights_need_no_folding(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is no adapter folder"):
        folded(judge(tmp_path / "base"), tmp_path)


def test_logits_beyond_rounding_stop_the_fold() -> None:
    wanted = torch.tensor([10.0, -50.0])
    # The limit is 1e-4 of the largest, 50: .005.
    assert _checked(wanted + 0.004, wanted, "folding") == pytest.approx(0.004, rel=1e-3)
    for wrong in (wanted + 0.006, wanted * float("nan")):
        with pytest.raises(ModelError, match=r"at most 0\.005"):
            _checked(wrong, wanted, "folding")
