"""A LoRA or an attention that the base cannot have is refused from its config alone."""

from typing import Any

import pytest

from core.errors import ConfigError
from tests import pico
from train.adapter import check_adapter
from train.arguments import ModelArguments
from train.attention import attention

CONFIG = pico.model().config


def lora(**fields: Any) -> ModelArguments:
    return ModelArguments(model_name_or_path="m", use_peft=True, **fields)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"lora_target_modules": ["q_proj"]},
        {"lora_target_modules": ["q_proj", "v_proj"]},
        {"lora_target_modules": [r".*self_attn\..*"]},
        {"lora_modules_to_save": ["embed_tokens", "lm_head"]},
        {"use_dora": True, "use_rslora": True},
    ],
)
def test_a_lora_that_fits_passes(fields: dict[str, Any]) -> None:
    check_adapter(CONFIG, lora(**fields))


def test_what_it_trains_is_counted_with_whole_modules() -> None:
    # q_proj is 32 x 32 in both layers; A and B of rank 4 have 4 x 32 each.
    fields: dict[str, Any] = {"lora_r": 4, "lora_target_modules": ["q_proj"]}
    assert check_adapter(CONFIG, lora(**fields)) == 2 * 4 * (32 + 32)
    saved = check_adapter(CONFIG, lora(**fields, lora_modules_to_save=["embed_tokens"]))
    assert saved == 2 * 4 * (32 + 32) + CONFIG.vocab_size * 32
    assert check_adapter(CONFIG, ModelArguments(model_name_or_path="m")) is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"lora_target_modules": ["q_proj", "nope"]},
            "lora_target_modules nope is nothing in this model; it has act_fn",
        ),
        ({"lora_modules_to_save": ["nope"]}, "lora_modules_to_save nope is nothing"),
        ({"lora_target_parameters": ["nope"]}, "lora_target_parameters nope is nothing"),
        ({"lora_target_modules": ["(q_proj"]}, "this LoRA does not fit the model: missing"),
        ({"lora_target_modules": ["input_layernorm"]}, "this LoRA does not fit the model: Target module"),
    ],
)
def test_what_peft_passes_over_or_fails_at_later_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        check_adapter(CONFIG, lora(**fields))


def test_an_attention_that_is_none_is_refused_before_weights_load() -> None:
    with pytest.raises(ConfigError, match='"nope"` is not supported'):
        check_adapter(CONFIG, ModelArguments(model_name_or_path="m"), "nope")


def test_flex_attention_does_not_train_on_a_cpu() -> None:
    with pytest.raises(ConfigError, match="flex_attention has no gradients on a CPU; use sdpa"):
        attention("flex_attention", packing=False)
