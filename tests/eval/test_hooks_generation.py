"""Steering while a text grows: padding, the KV cache, generation with and without beams, an error half way."""

from typing import Any

import pytest
import torch
from transformers import StoppingCriteria

from core.errors import ConfigError
from eval.steering.hooks import steer
from tests.eval.test_hooks import IDS, KINDS, at, logits
from tests.pico import model as pico


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_a_span_counts_the_padding_left_of_a_row(kind: str, side: str) -> None:
    """Tokens 1 and 2 of a text of 4, alone and beside a text of 6."""
    model = pico(kind)
    with steer(model, at(0), 2.0, positions=[(1, 3)]):
        alone = logits(model, IDS[1:2, :4])[0]
    ids, mask = IDS[:2].clone(), torch.ones(2, 6, dtype=torch.long)
    text, padding, first = (slice(2, 6), slice(0, 2), 2) if side == "left" else (slice(0, 4), slice(4, 6), 0)
    ids[1, text] = IDS[1, :4]
    ids[1, padding] = mask[1, padding] = 0
    with steer(model, at(0), 2.0, positions=[None, (first + 1, first + 3)]):
        padded = logits(model, ids, attention_mask=mask)
    torch.testing.assert_close(padded[1, text], alone, atol=1e-5, rtol=1e-4)
    assert not torch.allclose(alone, logits(model, IDS[1:2, :4])[0], atol=1e-3)


@pytest.mark.parametrize("side", ["left", "right"])
def test_last_prompt_token_is_found_on_either_padding_side(side: str) -> None:
    model = pico()
    ids, mask = IDS.clone(), torch.ones_like(IDS)
    padding = slice(0, 2) if side == "left" else slice(4, 6)
    ids[1, padding] = mask[1, padding] = 0
    last = [(5, 6), (5, 6) if side == "left" else (3, 4), (5, 6)]
    with steer(model, at(0), 2.0, positions=last):
        by_span = logits(model, ids, attention_mask=mask)
    with steer(model, at(0), 2.0, positions="last_prompt"):
        assert torch.equal(logits(model, ids, attention_mask=mask), by_span)
    assert not torch.equal(by_span, logits(model, ids, attention_mask=mask))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("positions", "span"),
    [("all", (0, None)), ("last_prompt", (3, 4)), ("generated", (4, None)), ([(2, 5)] * 3, (2, 5))],
)
def test_a_cached_pass_of_one_token_is_steered_as_in_a_whole_pass(kind: str, positions: Any, span: Any) -> None:
    """A prompt of 4 tokens, then 2 passes of 1 token, against one pass of 6."""
    model = pico(kind)
    with steer(model, at(0), 2.0, positions=[span] * 3):
        whole = logits(model)
    with steer(model, at(0), 2.0, positions=positions), torch.no_grad():
        first = model(input_ids=IDS[:, :4], use_cache=True)
        steps = [first.logits]
        for token in (4, 5):
            steps.append(model(input_ids=IDS[:, token : token + 1], cache=first.cache, use_cache=True).logits)
    torch.testing.assert_close(torch.cat(steps, 1), whole, atol=1e-5, rtol=1e-4)


def test_generation_is_steered_at_every_step() -> None:
    model = pico()
    expected = IDS
    with steer(model, at(1), 5.0):
        for _ in range(4):
            expected = torch.cat([expected, logits(model, expected)[:, -1:].argmax(-1)], 1)
        generated = model.generate(IDS, max_new_tokens=4, do_sample=False, eos_token_id=None)
    assert torch.equal(generated, expected)
    assert not torch.equal(model.generate(IDS, max_new_tokens=4, do_sample=False, eos_token_id=None), expected)


@pytest.mark.parametrize("positions", ["last_prompt", "generated"])
def test_where_the_prompt_ends_must_be_known(positions: Any) -> None:
    model = pico()
    with pytest.raises(ConfigError, match="KV cache"), steer(model, at(0), 1.0, positions=positions):
        logits(model, use_cache=False)


GREEDY: dict[str, Any] = {"max_new_tokens": 4, "do_sample": False, "eos_token_id": None}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_generate_at_their_own_strength_as_alone(kind: str) -> None:
    model, strengths = pico(kind), [9.0, 0.0, -9.0]
    with steer(model, at(0), strengths, positions="generated"):
        together = model.generate(IDS, **GREEDY)
    for row, strength in enumerate(strengths):
        with steer(model, at(0), strength, positions="generated"):
            assert torch.equal(model.generate(IDS[row : row + 1], **GREEDY)[0], together[row])
    assert not torch.equal(together, model.generate(IDS, **GREEDY))


def test_beams_are_rows_of_their_prompts_strength() -> None:
    model, strengths = pico(), [9.0, 0.0, -9.0]
    with steer(model, at(0), [strength for strength in strengths for _ in range(2)]):
        together = model.generate(IDS, num_beams=2, **GREEDY)
    for row, strength in enumerate(strengths):
        with steer(model, at(0), strength):
            assert torch.equal(model.generate(IDS[row : row + 1], num_beams=2, **GREEDY)[0], together[row])
    with pytest.raises(ConfigError, match="3 strengths for a batch of 6"), steer(model, at(0), strengths):
        model.generate(IDS, num_beams=2, **GREEDY)


def test_an_error_half_way_through_a_generation_leaves_no_trace() -> None:
    class Fail(StoppingCriteria):
        def __call__(self, input_ids: torch.Tensor, scores: Any, **kwargs: Any) -> Any:
            if input_ids.shape[1] == IDS.shape[1] + 3:
                raise KeyboardInterrupt
            return torch.zeros(len(input_ids), dtype=torch.bool)

    model = pico()
    base, generated = logits(model), model.generate(IDS, **GREEDY)
    with pytest.raises(KeyboardInterrupt), steer(model, at(0), 9.0):
        model.generate(IDS, stopping_criteria=[Fail()], **GREEDY)
    assert torch.equal(logits(model), base)
    assert torch.equal(model.generate(IDS, **GREEDY), generated)
