"""Steering: a context manager that adds directions to a model's hidden states, and leaves no trace after it."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Literal
from weakref import WeakSet

import torch
from torch import Tensor, nn

from core.errors import ConfigError, DataError, ModelError
from eval.steering.directions import Directions, LinearMap
from eval.steering.layers import find_layers, hidden_of
from eval.steering.positions import Positions, SteeredPositions

Method = Literal["vector", "map"]
Scale = Literal["raw", "relative"]
# Steered hidden states from hidden states [B, T, d] and strengths [B or 1, 1, 1].
Change = Callable[[Tensor, Tensor], Tensor]

_steered: WeakSet[nn.Module] = WeakSet()


@contextmanager
def steer(
    model: nn.Module,
    directions: Directions,
    strength: float | Sequence[float] | Tensor,
    method: Method = "vector",
    positions: Positions = "all",
    scale: Scale = "raw",
    allow_other_model: bool = False,
) -> Iterator[None]:
    """Steer every pass of the model inside the block; strength 0 changes nothing, to the bit.

    Strength: a number, or one for each batch row. Positive moves toward the pivot. With beams or several sequences a prompt,
    ``generate`` makes rows side by side of each prompt, so that its strength has to be given as many times.
    Vector, raw: h + ρ·v_l. Vector, relative: h + ρ·m_l·v_l/‖v_l‖, with m_l the mean norm at layer l. Map: (1−σ)h + σ(W_l h + b_l),
    0 ≤ σ ≤ 1 (SteerEval, arXiv 2601.15809). Positions: see `eval.steering.positions`.

    Raises ModelError where the directions do not belong to the model, or it is compiled (hooks would be skipped);
    ConfigError for a strength or positions that do not fit, and where the model is being steered already; DataError where
    the directions lack what method and scale need.
    """
    stack = find_layers(model)
    if any(map(_is_compiled, model.modules())):
        raise ModelError("the model is compiled, so hooks may be skipped; steer it before torch.compile")
    if stack.owner in _steered:
        raise ConfigError("the model is being steered already; leave that block first")
    directions.check(model, allow_other_model)
    check_steerable(directions, method, scale)
    strengths = _strengths(strength, method)
    by_layer = changes(directions, method, scale)
    at = SteeredPositions(positions)
    handles = []
    _steered.add(stack.owner)
    try:
        handles.append(stack.owner.register_forward_pre_hook(at.begin_pass, with_kwargs=True))
        for layer, change in by_layer.items():
            # First of its layer's hooks: one that captures hidden states then sees the steered ones.
            handles.append(stack.layers[layer].register_forward_hook(_hook(change, strengths, at), prepend=True))
        yield
    finally:
        for handle in handles:
            handle.remove()
        _steered.discard(stack.owner)


def _is_compiled(module: nn.Module) -> bool:
    """By torch.compile(module), module.compile(), or module.forward = torch.compile(module.forward)."""
    in_place = getattr(module, "_compiled_call_impl", None) is not None
    return in_place or hasattr(module, "_orig_mod") or hasattr(module.forward, "_torchdynamo_orig_callable")


def _hook(change: Change, strengths: Tensor, at: SteeredPositions) -> Callable[[nn.Module, Any, Any], Any]:
    def hook(module: nn.Module, args: Any, output: Any) -> Any:
        hidden = hidden_of(output)
        if len(strengths) not in (1, len(hidden)):
            raise ConfigError(f"{len(strengths)} strengths for a batch of {len(hidden)}; give one for each row")
        by = strengths.to(hidden.device)[:, None, None]
        steered = torch.where(at.mask(hidden) & (by != 0), change(hidden, by), hidden)
        return (steered, *output[1:]) if isinstance(output, tuple) else steered

    return hook


def check_steerable(directions: Directions, method: Method, scale: Scale) -> None:
    """Raises ConfigError for an unknown method or scale, DataError where the directions lack what they need."""
    if method not in ("vector", "map") or scale not in ("raw", "relative"):
        raise ConfigError(f"method {method!r} on scale {scale!r} is unknown; use vector (raw or relative) or map")
    if method == "map" and (lacking := [layer for layer in directions.layers if layer not in directions.maps]):
        raise DataError(f"layer {lacking[0]} has no map; learn maps with eval.directions --maps true")
    if method == "vector" and scale == "relative":
        for layer, vector in directions.vectors.items():
            if layer not in directions.facts.mean_norms or not vector.any():
                raise DataError(f"layer {layer} has no mean norm or a zero vector; scale relative needs both, use raw")


def changes(directions: Directions, method: Method, scale: Scale) -> dict[int, Change]:
    """What steering does to hidden states after each layer; the formulas are those of `steer`."""
    if method == "map":
        return {layer: _mix(linear) for layer, linear in directions.maps.items()}
    mean_norms = directions.facts.mean_norms
    return {
        layer: _add(vector if scale == "raw" else vector * (mean_norms[layer] / vector.norm()))
        for layer, vector in directions.vectors.items()
    }


def _add(shift: Tensor) -> Change:
    on = lru_cache(shift.to)

    def change(hidden: Tensor, by: Tensor) -> Tensor:
        return hidden + (by * on(hidden.device)).to(hidden.dtype)

    return change


def _mix(linear: LinearMap) -> Change:
    on = lru_cache(linear.to)

    def change(hidden: Tensor, by: Tensor) -> Tensor:
        wide = hidden.float()
        # Exact at both ends, and at any strength where the map is the identity.
        return torch.lerp(wide, on(hidden.device)(wide), by).to(hidden.dtype)

    return change


def _strengths(strength: float | Sequence[float] | Tensor, method: Method) -> Tensor:
    """Strengths as float32 [B or 1]."""
    strengths = torch.as_tensor(strength, dtype=torch.float32, device="cpu").reshape(-1)
    low, high = (0.0, 1.0) if method == "map" else (-math.inf, math.inf)
    fits = torch.isfinite(strengths) & (low <= strengths) & (strengths <= high)
    if not len(strengths) or not fits.all():
        span = "from 0 to 1" if method == "map" else "finite"
        raise ConfigError(f"strength {strength!r} does not fit method {method}; give numbers {span}")
    return strengths
