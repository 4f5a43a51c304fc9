"""Steering hooks against a hand-written forward pass: the layers above the steered one, run on the changed hidden states."""

import copy
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch import Tensor, nn
from transformers import T5Config, T5ForConditionalGeneration, XLMRobertaConfig, XLMRobertaForMaskedLM

from core.errors import ConfigError, DataError, ModelError
from eval.steering.directions import Directions, LinearMap
from eval.steering.hooks import steer
from eval.steering.layers import find_layers
from tests.pico import model as pico

KINDS = ("llama", "gemma3", "bloom", "cohere", "falcon")
IDS = torch.tensor([[1, 20, 30, 40, 50, 60], [1, 21, 31, 41, 51, 61], [1, 22, 32, 42, 52, 62]])


def vector(seed: int = 0, size: int = 32) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed))


def at(layer: int, **facts: Any) -> Directions:
    return Directions.from_vectors({layer: vector(layer)}, **facts)


def logits(model: nn.Module, ids: Tensor = IDS, **inputs: Any) -> Tensor:
    with torch.no_grad():
        return model(input_ids=ids, **inputs).logits


def hidden_after(model: nn.Module, layer: int, ids: Tensor = IDS) -> Tensor:
    """Unsteered hidden states after a layer, taken by a plain hook."""
    seen: list[Any] = []
    handle = find_layers(model).layers[layer].register_forward_hook(lambda module, args, output: seen.append(output))
    logits(model, ids)
    handle.remove()
    return seen[0][0] if isinstance(seen[0], tuple) else seen[0]


def run_above(model: Any, layer: int, hidden: Tensor) -> Tensor:
    """Logits from hidden states after a layer: a copy of the model that has only the layers above it."""
    above = copy.deepcopy(model)
    stack = find_layers(above)
    above.config.num_hidden_layers = len(stack.layers) - 1 - layer
    if hasattr(above.config, "layer_types"):
        above.config.layer_types = above.config.layer_types[layer + 1 :]
    if hasattr(stack.owner, "word_embeddings_layernorm"):
        stack.owner.word_embeddings_layernorm = nn.Identity()
    del stack.layers[: layer + 1]
    with torch.no_grad():
        return above(inputs_embeds=hidden, use_cache=False).logits


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layer", [0, 1])
def test_every_row_moves_by_its_own_strength(kind: str, layer: int) -> None:
    model, strengths = pico(kind), [1.0, -2.0, 0.5]
    with steer(model, at(layer), strengths):
        steered = logits(model)
    shift = torch.tensor(strengths)[:, None, None] * vector(layer)
    torch.testing.assert_close(steered, run_above(model, layer, hidden_after(model, layer) + shift))
    assert ((steered - logits(model)).abs().amax((1, 2)) > 1e-3).all()


@pytest.mark.parametrize("kind", KINDS)
def test_strength_zero_changes_no_bit(kind: str) -> None:
    model = pico(kind)
    base = logits(model)
    with steer(model, at(0), 0):
        assert torch.equal(logits(model), base)
    with steer(model, at(0), [3.0, 0.0, -3.0]):
        assert torch.equal(logits(model)[1], base[1])


def test_relative_is_in_units_of_the_mean_norm() -> None:
    model, directions = pico(), at(0, mean_norms={0: 5.0})
    with steer(model, directions, 0.2, scale="relative"):
        relative = logits(model)
    with steer(model, directions, 0.2 * 5.0 / float(vector(0).norm())):
        torch.testing.assert_close(logits(model), relative)


def test_map_mixes_in_the_mapped_state() -> None:
    """σ = ¼: h ← ¾ h + ¼ (left · right · h + bias)."""
    model = pico()
    left, right, bias = vector(1, 64).reshape(32, 2), vector(2, 64).reshape(2, 32), vector(3)
    directions = Directions.from_vectors({1: vector()}, {1: LinearMap(left, right, bias)})
    with steer(model, directions, 0.25, method="map"):
        steered = logits(model)
    hidden = hidden_after(model, 1)
    mapped = torch.einsum("dr,re,bte->btd", left, right, hidden) + bias
    torch.testing.assert_close(steered, run_above(model, 1, 0.75 * hidden + 0.25 * mapped))
    base = logits(model)
    with steer(model, directions, 0.0, method="map"):
        assert torch.equal(logits(model), base)


def test_a_map_leaves_rows_at_strength_zero_and_the_identity_leaves_all() -> None:
    model, strengths = pico(), [0.3, 0.0, 1.0]
    base = logits(model)
    to_zero = Directions.from_vectors({0: vector()}, {0: LinearMap(torch.zeros(32, 1), torch.zeros(1, 32))})
    with steer(model, to_zero, strengths, method="map"):
        assert [torch.equal(row, before) for row, before in zip(logits(model), base, strict=True)] == [
            False,
            True,
            False,
        ]
    identity = LinearMap(torch.zeros(32, 1), torch.zeros(1, 32), identity=True)
    with steer(model, Directions.from_vectors({0: vector()}, {0: identity}), strengths, method="map"):
        assert torch.equal(logits(model), base)


@pytest.mark.parametrize("kind", KINDS)
def test_spans_steer_their_positions_alone(kind: str) -> None:
    model = pico(kind)
    with steer(model, at(0), 2.0, positions=[(2, 4), None, (5, None)]):
        steered = logits(model)
    inside = torch.zeros(3, 6, 1)
    inside[0, 2:4] = inside[2, 5:] = 1
    torch.testing.assert_close(steered, run_above(model, 0, hidden_after(model, 0) + 2.0 * inside * vector(0)))


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_hooks_are_gone_after_any_exit(error: type[BaseException]) -> None:
    model = pico()
    base = logits(model)

    def fail_when_steered() -> None:
        with steer(model, at(0), 2.0):
            assert not torch.equal(logits(model), base)
            raise error

    with pytest.raises(error):
        fail_when_steered()
    assert torch.equal(logits(model), base)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_hooks_are_gone_after_an_error_inside_a_pass() -> None:
    model = pico()
    base = logits(model)
    with pytest.raises(ConfigError, match="2 strengths for a batch of 3"), steer(model, at(0), [1.0, 2.0]):
        logits(model)
    assert torch.equal(logits(model), base)


def test_steering_twice_is_refused_and_leaves_the_first_in_place() -> None:
    model = pico()
    base = logits(model)
    with steer(model, at(0), 2.0):
        once = logits(model)
        with pytest.raises(ConfigError, match="already"), steer(model, at(0), 2.0):
            pass
        assert torch.equal(logits(model), once)
    assert torch.equal(logits(model), base)


def test_captured_hidden_states_are_the_steered_ones() -> None:
    model = pico()
    logits(model, output_hidden_states=True)
    with steer(model, at(0), 2.0), torch.no_grad():
        states = model(input_ids=IDS, output_hidden_states=True).hidden_states
    torch.testing.assert_close(states[1], hidden_after(model, 0) + 2.0 * vector(0))


def test_a_wrapped_model_is_steered_as_its_base() -> None:
    model = pico()
    with steer(model, at(0), 2.0):
        expected = logits(model)
    wrapped = get_peft_model(copy.deepcopy(model), LoraConfig(r=2, target_modules="all-linear"))
    with steer(wrapped, at(0), 2.0):
        torch.testing.assert_close(logits(wrapped), expected)
        with pytest.raises(ConfigError, match="already"), steer(wrapped.get_base_model(), at(0), 2.0):
            pass


@pytest.mark.parametrize("layer", [0, 2])
def test_an_encoder_is_steered(layer: int) -> None:
    """XLM-R's masked-LM logits from its remaining layers and its head, called one by one; the second row is padded."""
    shape = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 64}
    model = XLMRobertaForMaskedLM(XLMRobertaConfig(vocab_size=100, **shape)).eval()
    mask = torch.ones_like(IDS)
    mask[1, 4:] = 0
    strengths = torch.tensor([1.0, 2.0, -3.0])
    with steer(model, at(layer), strengths):
        steered = logits(model, attention_mask=mask)
    with torch.no_grad():
        hidden = model(input_ids=IDS, attention_mask=mask, output_hidden_states=True).hidden_states[layer + 1]
        hidden = hidden + strengths[:, None, None] * vector(layer)
        for block in model.roberta.encoder.layer[layer + 1 :]:
            hidden = block(hidden, torch.zeros(3, 1, 6, 6).masked_fill(mask[:, None, None] == 0, -torch.inf))
        by_hand = model.lm_head(hidden)
    torch.testing.assert_close(steered, by_hand)
    assert ((steered - logits(model, attention_mask=mask)).abs().amax((1, 2)) > 1e-3).all()
    with pytest.raises(ConfigError, match="KV cache"), steer(model, at(0), 1.0, positions="generated"):
        logits(model)


def test_hidden_states_keep_their_dtype() -> None:
    model = pico().bfloat16()
    directions = Directions.from_vectors({0: vector()}, {0: LinearMap(torch.eye(32), torch.eye(32))})
    for method in ("vector", "map"):
        with steer(model, directions, 0.5, method=method):
            assert logits(model).dtype is torch.bfloat16


def test_experts_are_not_taken_for_layers() -> None:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.experts = nn.ModuleList(nn.Linear(2, 2) for _ in range(8))

    body = nn.Module()
    body.blocks = nn.ModuleList(Block() for _ in range(3))
    assert find_layers(body).layers is body.blocks
    assert find_layers(body).owner is body
    two = nn.ModuleDict({"encoder": copy.deepcopy(body), "decoder": body})
    with pytest.raises(ModelError, match=r"2 equally long lists of layers \(encoder.blocks, decoder.blocks\)"):
        find_layers(two)
    with pytest.raises(ModelError, match="no list of layers"):
        find_layers(nn.Linear(2, 2))
    shape = {"d_model": 16, "d_kv": 4, "d_ff": 32, "num_heads": 4}
    with pytest.raises(ModelError, match="an encoder and a decoder"):
        find_layers(T5ForConditionalGeneration(T5Config(vocab_size=50, num_layers=3, num_decoder_layers=2, **shape)))


@pytest.mark.parametrize(
    ("directions", "options", "error", "message"),
    [
        (at(2), {}, ModelError, "layer 2, but the model's last layer is 1"),
        (Directions.from_vectors({0: vector(0, 16)}), {}, ModelError, "width 16, but the model has 32"),
        (at(0, fingerprint=[1.0, 2.0]), {}, ModelError, "another model"),
        (at(0), {"scale": "relative"}, DataError, "no mean norm"),
        (at(0), {"method": "map"}, DataError, "layer 0 has no map"),
        (at(0), {"method": "turn"}, ConfigError, "unknown"),
        (at(0), {"scale": "big"}, ConfigError, "unknown"),
        (at(0), {"positions": "first"}, ConfigError, "unknown"),
        (at(0), {"positions": [(3, 2)]}, ConfigError, "start ≤ stop"),
        (at(0), {"strength": float("nan")}, ConfigError, "finite"),
        (at(0), {"strength": []}, ConfigError, "finite"),
    ],
)
def test_what_does_not_fit_is_refused(directions: Any, options: Any, error: Any, message: str) -> None:
    options = {"strength": 1.0, **options}
    model = pico()
    with pytest.raises(error, match=message), steer(model, directions, **options):
        pass
    with steer(model, at(0), 1.0):
        logits(model)


def test_spans_and_map_strengths_must_fit() -> None:
    model = pico()
    with pytest.raises(ConfigError, match="1 spans for a batch of 3"), steer(model, at(0), 1.0, positions=[(0, 1)]):
        logits(model)
    directions = Directions.from_vectors({0: vector()}, {0: LinearMap(torch.eye(32), torch.eye(32))})
    with pytest.raises(ConfigError, match="from 0 to 1"), steer(model, directions, 1.5, method="map"):
        pass


def test_other_models_directions_are_taken_when_asked_for() -> None:
    model = pico()
    with steer(model, at(0, fingerprint=[1.0, 2.0]), 2.0, allow_other_model=True):
        steered = logits(model)
    with steer(model, at(0), 2.0):
        assert torch.equal(logits(model), steered)


def test_a_compiled_model_is_refused() -> None:
    in_place, by_forward = pico(), pico()
    in_place.compile()
    by_forward.forward = torch.compile(by_forward.forward)
    compiled: Any
    for compiled in (torch.compile(pico()), in_place, by_forward):
        with pytest.raises(ModelError, match="compiled"), steer(compiled, at(0), 1.0):
            pass
