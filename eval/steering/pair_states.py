"""The states of the pairs that directions were learned from, kept beside them, and null directions learned from these.

A null direction (rule 9 of the design) is what the same sentences teach where nothing tells the languages apart: each pair's
difference changes its sign at random, which is to say its two sentences change sides. Isotropic random directions are no
null: they wreck a metric that the real direction barely touches.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from core.errors import DataError
from eval.steering.directions import Directions
from eval.steering.maps import MAP_KINDS, fit_maps

PAIRS_FILE = "pairs.safetensors"
STATES = ("source", "pivot", "held_out_source", "held_out_pivot")
SAME = 1e-4  # of a vector's length: float32 rounding is far less, other pairs far more


class PairStates(NamedTuple):
    """Pooled states in float32 on the CPU after each of ``layers``: pairs learned from [n, layers, d], held out [m, layers, d]."""

    layers: list[int]
    source: Tensor
    pivot: Tensor
    held_out_source: Tensor
    held_out_pivot: Tensor

    @classmethod
    def of(cls, layers: Sequence[int], source: Tensor, pivot: Tensor, count: int) -> Self:
        """From states [n + m, layers, d] of which the first ``count`` pairs were learned from."""
        return cls(list(layers), source[:count], pivot[:count], source[count:], pivot[count:])

    def save(self, folder: str | Path) -> None:
        """Write pairs.safetensors into the folder of the directions."""
        tensors = {name: getattr(self, name).float().contiguous().clone() for name in STATES}
        save_file(tensors | {"layers": torch.tensor(self.layers)}, Path(folder) / PAIRS_FILE)

    @classmethod
    def load(cls, folder: str | Path, directions: Directions) -> Self:
        """Read what ``save`` wrote. Raises DataError where it is missing or broken, or other directions were learned from it."""
        path = Path(folder) / PAIRS_FILE
        try:
            tensors = load_file(path)
            states = cls(tensors["layers"].tolist(), *(tensors[name] for name in STATES))
        except OSError:
            raise DataError(f"{path} is missing; learn the directions again, with keep_pairs: true") from None
        except (KeyError, SafetensorError) as error:
            raise DataError(f"{path} is broken ({error}); learn the directions again") from None
        if fault := states._fault():
            raise DataError(f"{path} is broken ({fault}); learn the directions again")
        for layer, place in _places(directions, states, path).items():
            vector = directions.vectors[layer].double()
            shift = states.pivot[:, place].double().mean(0) - states.source[:, place].double().mean(0)
            if (shift - vector).norm() > SAME * vector.norm():
                raise DataError(f"{path} holds other pairs than taught the vector of layer {layer}; learn both again")
        return states

    def _fault(self) -> str | None:
        tensors = self[1:]
        counts = [tensor.shape[:1] for tensor in (self.source, self.source, self.held_out_source, self.held_out_source)]
        expected = [(*count, len(self.layers), *self.source.shape[-1:]) for count in counts]
        if [tuple(tensor.shape) for tensor in tensors] != expected:
            return "its tensors are not of one size"
        return None if all(bool(torch.isfinite(tensor).all()) for tensor in tensors) else "not finite"


def null_directions(directions: Directions, states: PairStates, draw: int, seed: int) -> Directions:
    """Directions of a null draw, at the layers of ``directions``; the same for the same seed, draw and pairs.

    One sign a pair, the same in all layers, drawn from (seed, draw) alone. Vectors are rescaled to the real ‖v_l‖; maps, where
    ``directions`` hold some, are of their map_kind. Raises DataError where the states are those of other layers or pairs.
    """
    places = _places(directions, states, PAIRS_FILE)
    flipped = torch.from_numpy(np.random.default_rng([seed, draw]).integers(0, 2, len(states.source)) == 1)
    vectors, maps = {}, {}
    for layer, place in places.items():
        swap = flipped[:, None]
        source, pivot = states.source[:, place], states.pivot[:, place]
        at_source, at_pivot = torch.where(swap, pivot, source).double(), torch.where(swap, source, pivot).double()
        shift = at_pivot.mean(0) - at_source.mean(0)
        length = shift.norm()
        if length > 0:
            shift = shift * (directions.vectors[layer].double().norm() / length)
        vectors[layer] = shift
        for kind in MAP_KINDS:
            if layer in directions.maps and kind == directions.facts.map_kind:
                maps[layer] = fit_maps([kind], at_source, at_pivot)[kind].linear
    facts = directions.facts.model_dump(exclude={"layers", "hidden_size", "map_fit", "held_out", "held_out_pairs"})
    return Directions.from_vectors(vectors, maps, **facts)


def _places(directions: Directions, states: PairStates, path: str | Path) -> dict[int, int]:
    """Where each layer of the directions stands among those of the states."""
    places = {layer: place for place, layer in enumerate(states.layers)}
    if missing := [layer for layer in directions.layers if layer not in places]:
        raise DataError(f"{path} lacks layer {missing[0]} of the directions; learn them again")
    expected = {"pairs": directions.facts.pairs, "width": directions.facts.hidden_size}
    found = {"pairs": len(states.source), "width": states.source.shape[-1]}
    for name, value in expected.items():
        if value is not None and value != found[name]:
            raise DataError(f"{path} has {name} {found[name]}, the directions {value}; learn them again")
    return {layer: places[layer] for layer in directions.layers}
