"""From the states of parallel sentences to directions: vectors, maps, and how well both do on pairs held out."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from core.progress import track
from eval.steering.alignment import Alignment, alignment, alignments
from eval.steering.directions import Directions, LinearMap
from eval.steering.maps import MAP_KINDS, MapKind, fit_maps
from eval.steering.pair_states import PairStates


class Encoded(NamedTuple):
    """Sentences at each layer, in float32 on the CPU: pooled states [n, layers, d], pooled norms of the states [n, layers]."""

    states: Tensor
    norms: Tensor


class Learned(NamedTuple):
    """Directions, and the states of the pairs that they were learned from and measured on."""

    directions: Directions
    states: PairStates


class Fitted(NamedTuple):
    """Maps by layer, and what directions.json tells of their fit and of held-out pairs."""

    maps: dict[int, LinearMap]
    map_fit: dict[int, dict[str, int | float | None]]
    held_out: dict[int, dict[str, Alignment]]


def fit_directions(
    at_source: Encoded, at_pivot: Encoded, count: int, layers: Sequence[int], map_kind: MapKind | None, **facts: Any
) -> Learned:
    """Directions from the first ``count`` pairs of sentences, and their measures on the others.

    v_l = mean(pivot) − mean(source) for each of ``layers``, and with ``map_kind`` a map each. ``facts``: the other fields
    of DirectionFacts, such as source, pivot, hook_point and fingerprint.
    """
    # Means in float64: v is a small difference of large sums.
    shifts = at_pivot.states[:count].double().mean(0) - at_source.states[:count].double().mean(0)
    mean_norms = torch.cat([at_source.norms[:count], at_pivot.norms[:count]]).double().mean(0)
    vectors = dict(zip(layers, shifts, strict=True))
    fitted = _fit(vectors, at_source.states, at_pivot.states, count, map_kind)
    directions = Directions.from_vectors(
        vectors,
        **fitted._asdict(),
        mean_norms=dict(zip(layers, mean_norms.tolist(), strict=True)),
        map_kind=map_kind,
        held_out_pairs=(len(at_source.states) - count) or None,
        pairs=count,
        **facts,
    )
    return Learned(directions, PairStates.of(layers, at_source.states, at_pivot.states, count))


def _fit(vectors: dict[int, Tensor], source: Tensor, pivot: Tensor, count: int, kind: MapKind | None) -> Fitted:
    """Maps from the first ``count`` of the states [n, layers, d], and agreement on the others, layer by layer."""
    fitted = Fitted({}, {}, {})
    for place, layer in enumerate(track(vectors, len(vectors), "fit")):
        fit_on, measure_on = (slice(None, count), place), (slice(count, None), place)
        kinds = () if kind is None else (kind,) if count == len(source) else MAP_KINDS
        fits = fit_maps(kinds, source[fit_on], pivot[fit_on])
        if kind is not None:
            fitted.maps[layer] = fits[kind].linear
            agreement = alignment(fits[kind].linear(source[fit_on]), pivot[fit_on])
            fitted.map_fit[layer] = {"pairs": count, **fits[kind].facts(), **agreement}
        if count < len(source):
            linear: dict[str, LinearMap] = {name: fit.linear for name, fit in fits.items()}
            fitted.held_out[layer] = alignments(source[measure_on], pivot[measure_on], vectors[layer], linear)
    return fitted
