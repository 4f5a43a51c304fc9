"""What all strengths of all sweeps over one text share in a causal model: the keys and values of what is not steered.

Nothing before the first steered position depends on the strength, so it is read once, without hooks. That is exact.
"""

import copy
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

from core.errors import ConfigError, ModelError
from eval.steering.hooks import steer
from eval.steering.layers import backbone
from eval.steering.positions import Span
from eval.steering.sweep import Sweep

T = TypeVar("T")


class Prefix:
    """The KV cache of the first tokens of a text, read in one unsteered pass that computes no logits.

    The model is one that `check_cache` lets pass.
    """

    def __init__(self, model: Any, ids: Sequence[int]) -> None:
        self._cache = DynamicCache(config=model.config)
        if ids:
            backbone(model)(input_ids=row(model, ids), cache=self._cache, use_cache=True)

    def rows(self, count: int) -> DynamicCache:
        """A cache of its own, with so many copies of the prefix as batch rows."""
        cache = copy.copy(self._cache)
        cache.layers = [_repeated(layer, count) for layer in self._cache.layers]
        return cache


def check_cache(model: Any) -> None:
    """Raises ModelError where the cache of a layer holds something else than keys and values, as in linear attention."""
    for layer in DynamicCache(config=model.config).layers:
        if type(layer) not in (DynamicLayer, DynamicSlidingWindowLayer):
            raise ModelError(
                f"{type(model).__name__} has layers without keys and values ({type(layer).__name__}), so that strengths cannot "
                "share a prefix; use a model with attention in every layer"
            )


def _repeated(layer: Any, count: int) -> Any:
    """A layer's cache for so many rows. New keys are joined to the old ones in a new tensor, so that rows can share these."""
    own = copy.copy(layer)
    if layer.get_seq_length():
        own.keys, own.values = (states.expand(count, -1, -1, -1) for states in (layer.keys, layer.values))
    return own


def row(model: Any, ids: Sequence[int]) -> Tensor:
    """Token ids as a batch of one row, [1, T], where the model is."""
    return torch.tensor([ids], device=next(model.parameters()).device)


def over_strengths(model: Any, sweep: Sweep, size: int, score: Callable[[int], list[T]], span: Span) -> list[T]:
    """What ``score`` finds at each strength of a sweep: it is called with a number of batch rows, at most ``size``, each of
    which is steered at its own strength in the positions of ``span``, and gives one value a row.

    The unsteered sweep is one call for one row, without hooks. Raises ConfigError for a strength without directions, and as
    `steer` does.
    """
    if sweep.directions is None:
        if any(sweep.strengths):
            raise ConfigError(f"strengths {list(sweep.strengths)} need directions; give some, or strength 0 alone")
        return score(1) * len(sweep.strengths)
    found: list[T] = []
    method, scale = sweep.method or "vector", sweep.scale or "raw"
    for start in range(0, len(sweep.strengths), size):
        group = sweep.strengths[start : start + size]
        with steer(model, sweep.directions, group, method, [span] * len(group), scale, sweep.allow_other_model):
            found += score(len(group))
    return found
