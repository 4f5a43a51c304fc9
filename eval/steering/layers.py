"""Where a model's layers are, found by structure and not by a list of names."""

from typing import Any, NamedTuple

import torch
from torch import nn

from core.errors import ModelError

# Directions are learned and applied at this one place: what a layer passes on to the next.
HOOK_POINT = "residual stream after the layer"


class LayerStack(NamedTuple):
    """A model's layers, first to last, and the module whose forward pass runs through them."""

    owner: nn.Module
    layers: nn.ModuleList


def find_layers(model: nn.Module) -> LayerStack:
    """The longest list of blocks of one class that lies in no other such list (as a mixture's experts do).

    Works through wrappers such as a PeftModel. Raises ModelError where there is none, where two are equally long, and for a
    model of encoder and decoder.
    """
    if getattr(getattr(model, "config", None), "is_encoder_decoder", False):
        raise ModelError(f"{type(model).__name__} has an encoder and a decoder; steering needs a model of one stack")
    lists = {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, nn.ModuleList) and len({type(block) for block in module}) == 1
    }
    outer = {name: found for name, found in lists.items() if not any(name.startswith(f"{other}.") for other in lists)}
    longest = max((len(found) for found in outer.values()), default=0)
    names = [name for name, found in outer.items() if len(found) == longest]
    if len(names) != 1:
        found = f"{len(names)} equally long lists of layers ({', '.join(names)})" if names else "no list of layers"
        raise ModelError(f"{type(model).__name__} has {found}; steering needs one stack of blocks of the same class")
    return LayerStack(model.get_submodule(names[0].rpartition(".")[0]), outer[names[0]])


def hidden_of(output: Any) -> torch.Tensor:
    """The hidden states [batch, positions, width] in a layer's output, a tensor or a tuple that opens with it.

    Raises ModelError for any other output.
    """
    hidden = output[0] if isinstance(output, tuple) else output
    if not isinstance(hidden, torch.Tensor) or hidden.dim() != 3:
        raise ModelError(
            f"a layer returned {type(output).__name__}, in which no hidden states are known; not supported"
        )
    return hidden


def width_of(model: Any) -> int:
    """The width of the hidden states."""
    return int(model.config.get_text_config().hidden_size)


def backbone(model: Any) -> nn.Module:
    """The model without its head, adapters included: layers run, no logits are computed."""
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    return inner.base_model
