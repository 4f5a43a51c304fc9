"""How near source sentences come to their pivot sentences, before and after a vector or a map moves them."""

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn.functional import normalize

from eval.steering.directions import LinearMap

Alignment = dict[str, float | None]


def alignments(source: Tensor, pivot: Tensor, vector: Tensor, maps: Mapping[str, LinearMap]) -> dict[str, Alignment]:
    """``alignment`` of source states [n, d] unmoved (``none``), shifted by the vector, and sent through each map."""
    source, pivot = source.float(), pivot.float()
    moved = {"none": source, "vector": source + vector.float()}
    moved |= {kind: linear(source) for kind, linear in maps.items()}
    return {method: alignment(states, pivot) for method, states in moved.items()}


def alignment(moved: Tensor, pivot: Tensor) -> Alignment:
    """Agreement of moved source states [n, d] with pivot states [n, d], row by row.

    ``retrieval``: share of rows whose nearest pivot state by cosine, of all n, is their own (1/n by chance). ``cosine``: mean
    over rows. ``explained_variance``: 1 − Σ‖y − ŷ‖² / Σ‖y − mean(y)‖², None where the pivot states do not differ.
    """
    cosines = normalize(moved, dim=1) @ normalize(pivot, dim=1).T
    own = torch.arange(len(pivot))
    wide = pivot.double()
    spread, error = float((wide - wide.mean(0)).square().sum()), float((wide - moved).square().sum())
    return {
        "retrieval": float((cosines.argmax(1) == own).double().mean()),
        "cosine": float(cosines.diagonal().double().mean()),
        "explained_variance": 1 - error / spread if spread > 0 else None,
    }
