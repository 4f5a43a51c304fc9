"""A cheap fingerprint of a model's weights, so that directions are not put to a model they were not learned on.

One number a layer: the sum of some 64 evenly spaced weights of each of its matrices. It is compared with a tolerance that
covers storing the same weights in float32, bfloat16 or float16 (a cast keeps 8 significant bits or more), which a hash would
not. Another model, a tuned, merged or adapted one, or a quantised one differs by far more; a tune of a few steps may not.
"""

from typing import NamedTuple

import torch
from torch import nn

from eval.steering.layers import find_layers

SAMPLES = 64
# The sum of n rounding errors of relative size 2⁻⁹ is about 2⁻⁹/√3 of the root of the sum of squares; seven times that.
TOLERANCE = 2**-7


class WeightSums(NamedTuple):
    """Per layer, the sum of the sampled weights and the root of the sum of their squares."""

    sums: list[float]
    norms: list[float]

    def same(self, stored: list[float]) -> bool:
        """Whether stored sums were taken from these weights, up to their dtype."""
        return len(stored) == len(self.sums) and all(
            abs(then - value) <= TOLERANCE * norm for then, value, norm in zip(stored, *self, strict=True)
        )


def weight_sums(model: nn.Module) -> WeightSums:
    """The fingerprint of a model. Reads a few thousand weights."""
    sampled = [_sample(block) for block in find_layers(model).layers]
    sums = torch.stack([weights.sum() for weights in sampled])
    norms = torch.stack([weights.norm() for weights in sampled])
    return WeightSums(sums.tolist(), norms.tolist())


def same_weights(stored: list[float], model: nn.Module) -> bool:
    """Whether a model has the weights that the stored sums were taken from, up to their dtype."""
    return weight_sums(model).same(stored)


def _sample(block: nn.Module) -> torch.Tensor:
    matrices = [p.detach().flatten() for p in block.parameters() if p.dim() > 1 and p.is_floating_point()]
    parts = [matrix[:: max(1, matrix.numel() // SAMPLES)][:SAMPLES].float() for matrix in matrices]
    return torch.cat([part.to(parts[0].device) for part in parts]).cpu() if parts else torch.zeros(1)
