"""The shared prefix: rows go on from it by themselves, and a model whose cache cannot be shared is refused."""

import pytest
import torch
from transformers import AutoModelForCausalLM, Lfm2Config

from core.errors import ModelError
from eval.direct import Direct
from eval.gptscore import GPTScore
from eval.steering.prefix import Prefix, row
from tests.pico import model as pico
from tests.pico import tokenizer

TEXT = [1, 20, 30, 40, 50, 60]


@pytest.mark.parametrize("kind", ["llama", "gemma3", "bloom", "cohere", "falcon"])
def test_rows_go_on_as_a_whole_pass_and_leave_the_prefix_alone(kind: str) -> None:
    """Four tokens read once; then two rows with different endings, and the same again."""
    model = pico(kind)
    endings = torch.tensor([[50, 60], [51, 61]])
    with torch.inference_mode():
        prefix = Prefix(model, TEXT[:4])
        first, again = (model(input_ids=endings, cache=prefix.rows(2), use_cache=True).logits for _ in range(2))
        for ending, found in zip(endings, first, strict=True):
            whole = model(input_ids=row(model, TEXT[:4] + ending.tolist())).logits[0, 4:]
            torch.testing.assert_close(found, whole, atol=1e-5, rtol=1e-4)
    assert torch.equal(first, again)


def test_an_empty_prefix_is_no_pass() -> None:
    model = pico()
    with torch.inference_mode():
        found = model(input_ids=row(model, TEXT), cache=Prefix(model, []).rows(1), use_cache=True).logits
        torch.testing.assert_close(found, model(input_ids=row(model, TEXT)).logits)


def test_a_model_without_keys_and_values_in_every_layer_is_refused() -> None:
    shape = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2}
    config = Lfm2Config(vocab_size=400, layer_types=["conv", "full_attention"], num_hidden_layers=2, **shape)
    model = AutoModelForCausalLM.from_config(config)
    for metric in (GPTScore, Direct):
        with pytest.raises(ModelError, match="Lfm2ForCausalLM has layers without keys and values"):
            metric(model, tokenizer())
