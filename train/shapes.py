"""How big a model is, without its weights: from config.json, or from the shapes stored in model_shapes.yaml."""

import re
from collections.abc import Iterable
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, AutoConfig

from core.config import load_yaml
from core.errors import ModelError
from train.unreadable import UNREADABLE, reason

STORED = Path(__file__).parent / "model_shapes.yaml"


class Shape(NamedTuple):
    """Sizes of a decoder. Parameters are counts: ``linear`` of all linear projections but the head (what QLoRA keeps in
    4 bits), ``layer`` of the largest layer, ``trained`` of what the optimizer updates. ``queries`` and ``keys`` are the
    widths of the attention's projections.
    """

    parameters: int
    trained: int
    linear: int
    layer: int
    layers: int
    hidden: int
    intermediate: int
    heads: int
    queries: int
    keys: int
    vocabulary: int


def shape_of(model: str, lora_r: int | None = None, lora_target_modules: str | Iterable[str] = "all-linear") -> Shape:
    """The shape of a model folder or Hub id, trained whole, or by LoRA of rank ``lora_r`` on the modules named.

    The model is laid out on the meta device, so the count is the architecture's own. Raises ModelError where neither
    config.json nor a stored shape is to be had.
    """
    config = config_of(model)
    text = config.get_text_config()
    empty = empty_model(config)
    head = empty.get_output_embeddings()
    linear = {
        name: part for name, part in empty.named_modules() if isinstance(part, torch.nn.Linear) and part is not head
    }
    adapted = [part for name, part in linear.items() if targeted(name, lora_target_modules)]
    parameters = sum(weight.numel() for weight in empty.parameters())
    heads = text.num_attention_heads
    width = getattr(text, "head_dim", None) or text.hidden_size // heads
    return Shape(
        parameters=parameters,
        trained=sum(lora_r * (part.in_features + part.out_features) for part in adapted) if lora_r else parameters,
        linear=sum(part.weight.numel() for part in linear.values()),
        layer=_largest_layer(empty),
        layers=text.num_hidden_layers,
        hidden=text.hidden_size,
        intermediate=getattr(text, "intermediate_size", None) or 4 * text.hidden_size,
        heads=heads,
        queries=heads * width,
        keys=(getattr(text, "num_key_value_heads", None) or heads) * width,
        vocabulary=text.vocab_size,
    )


def empty_model(config: Any, attn_implementation: str | None = None) -> Any:
    """The model of a config on the meta device. ``from_config`` would share it out over the processes of ZeRO-3.

    Raises ModelError where it is no causal language model, what transformers raises where it has not that attention.
    """
    if type(config) not in MODEL_FOR_CAUSAL_LM_MAPPING:
        raise ModelError(
            f"a {config.model_type} model is no causal language model, so it cannot judge; name another base"
        )
    config = deepcopy(config)
    config._attn_implementation = attn_implementation
    try:
        with torch.device("meta"):
            return MODEL_FOR_CAUSAL_LM_MAPPING[type(config)](config)
    except (ValueError, ImportError):  # that attention
        raise
    except (*UNREADABLE, RuntimeError) as error:
        raise ModelError(
            f"this {config.model_type} config builds no model ({reason(error)}); correct config.json"
        ) from None


@lru_cache(maxsize=1)
def stored_shapes() -> dict[str, dict[str, Any]]:
    """The configs of model_shapes.yaml by Hub id."""
    return load_yaml(STORED)


def config_of(model: str, revision: str | None = None) -> Any:
    """The config of a model folder or Hub id, from stored_shapes where it is one of these. Raises ModelError."""
    if not Path(model).is_dir() and model in stored_shapes():
        fields = dict(stored_shapes()[model])
        return AutoConfig.for_model(fields.pop("model_type"), **fields)
    try:
        return AutoConfig.from_pretrained(model, revision=revision or "main")
    except UNREADABLE as error:
        raise ModelError(
            f"the size of {model} is unknown: no config.json to be had ({reason(error)}) and no "
            f"entry in {STORED.name}; name a model folder, or run where the Hub is reached"
        ) from None


def _largest_layer(empty: Any) -> int:
    """Parameters of the largest member of the longest list of modules: the decoder layers."""
    lists = [part for part in empty.modules() if isinstance(part, torch.nn.ModuleList)]
    layers = max(lists, key=len)
    return max(sum(weight.numel() for weight in layer.parameters()) for layer in layers)


def targeted(name: str, targets: str | Iterable[str]) -> bool:
    """Whether LoRA adapts the module: peft matches a text as a pattern and a list by the ends of names."""
    if targets == "all-linear":
        return True
    if isinstance(targets, str):
        return re.fullmatch(targets, name) is not None
    return any(name == target or name.endswith(f".{target}") for target in targets)
