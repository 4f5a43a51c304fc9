"""Maps that send source states to pivot states by least squares, from one SVD of the source states, in float64 on the CPU.

Of X [n, d] (source) and Y [n, d] (pivot), a row a sentence:
- ``minimum_norm``: the W of smallest norm among those of smallest ‖Y − XWᵀ‖ (SteerEval, arXiv 2601.15809). Its rank is n at
  most, so with fewer pairs than d it deletes all that lies outside the span of the source states.
- ``ridge``: the W of smallest ‖Y − XWᵀ‖² + λ‖W − I‖², which leaves alone what the sentences tell nothing of; λ by
  generalised cross-validation.
- ``affine`` and ``affine_ridge``: the same two on states less their means, and b = mean(Y) − W mean(X).
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import torch
from scipy.optimize import minimize_scalar
from torch import Tensor

from core.errors import DataError
from eval.steering.directions import LinearMap

MapKind = Literal["minimum_norm", "ridge", "affine", "affine_ridge"]
MAP_KINDS: tuple[MapKind, ...] = get_args(MapKind)
# Penalties looked at before the best of them is refined, evenly spaced in their logarithm.
GRID = 100


class MapFit(NamedTuple):
    """A map, the rank of its source states, their condition (largest over smallest singular value), and ridge's λ."""

    linear: LinearMap
    rank: int
    condition: float
    penalty: float | None

    def facts(self) -> dict[str, int | float | None]:
        """The fit in numbers, without the map."""
        return {"rank": self.rank, "condition": self.condition, "penalty": self.penalty}


class SourceBasis(NamedTuple):
    """Source states [n, d] less ``mean`` [d] (zero where not centred), and their singular value decomposition of rank r.

    u [n, r], s [r], vt [r, d].
    """

    states: Tensor
    mean: Tensor
    u: Tensor
    s: Tensor
    vt: Tensor

    @classmethod
    def of(cls, source: Tensor, centred: bool) -> "SourceBasis":
        """Singular values below max(n, d) · 2⁻²³ of the largest, also of X itself, are rounding of float32 states: zero.

        Raises DataError where none is left.
        """
        mean = source.mean(0) if centred else torch.zeros_like(source[0])
        states = source - mean
        u, s, vt = torch.linalg.svd(states, full_matrices=False)
        # The mean, which was taken off, was rounded with the states; alone it has the singular value ‖mean‖·√n.
        largest = max(float(s[0]), float(mean.norm()) * len(source) ** 0.5)
        rank = int((s > largest * max(source.shape) * torch.finfo(torch.float32).eps).sum())
        if rank == 0:
            raise DataError(f"{len(source)} source states that do not differ make no map; give more pairs")
        return cls(states, mean, u[:, :rank], s[:rank], vt[:rank])


def fit_maps(kinds: Sequence[MapKind], source: Tensor, pivot: Tensor) -> dict[MapKind, MapFit]:
    """Maps of these kinds from source states [n, d] to pivot states [n, d], in factors of rank n or d at most.

    Raises DataError where the states do not differ, as a single one less its mean.
    """
    source, pivot = source.double().cpu(), pivot.double().cpu()
    centred = {kind: kind.startswith("affine") for kind in kinds}
    bases = {which: SourceBasis.of(source, which) for which in set(centred.values())}
    return {kind: _fit(bases[centred[kind]], pivot, centred[kind], kind.endswith("ridge")) for kind in kinds}


def _fit(basis: SourceBasis, pivot: Tensor, centred: bool, toward_identity: bool) -> MapFit:
    pivot_mean = pivot.mean(0) if centred else torch.zeros_like(basis.mean)
    target = pivot - pivot_mean - (basis.states if toward_identity else 0)
    penalty = best_penalty(basis, target, len(pivot) - centred) if toward_identity else 0.0
    left = target.T @ (basis.u * (basis.s / (basis.s**2 + penalty)))
    mapped_mean = left @ (basis.vt @ basis.mean) + (basis.mean if toward_identity else 0.0)
    bias = (pivot_mean - mapped_mean).float() if centred else None
    linear = LinearMap(left.float(), basis.vt.float(), bias, toward_identity)
    return MapFit(linear, len(basis.s), float(basis.s[0] / basis.s[-1]), penalty if toward_identity else None)


def best_penalty(basis: SourceBasis, target: Tensor, freedom: int) -> float:
    """The λ of least generalised cross-validation (Golub, Heath and Wahba 1979) for ridge regression of target [n, d].

    GCV(λ) = ‖(I − H)T‖² / tr(I − H)², with H = U diag(s² / (s² + λ)) Uᵀ and tr(I) = ``freedom``: n, less one where a mean
    was taken off. From λ that is nothing beside the smallest s² to λ that leaves only the identity.
    """
    square = basis.s**2
    weights = basis.u.T @ target
    explained, rest = weights.square().sum(1), float((target - basis.u @ weights).square().sum())

    def cross_validated(log_penalty: float) -> float:
        left = 1 / (1 + square / 10**log_penalty)
        return (float(left.square() @ explained) + rest) / (freedom - len(square) + float(left.sum())) ** 2

    low, high = float(square[-1].log10()) - 2, float(square[0].log10()) + 4
    step = (high - low) / (GRID - 1)
    best = min((low + step * place for place in range(GRID)), key=cross_validated)
    bounds = (max(low, best - step), min(high, best + step))
    return float(10 ** minimize_scalar(cross_validated, bounds=bounds, method="bounded").x)
