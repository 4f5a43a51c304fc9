"""How much nearer each layer set and strength brings held-out source sentences to their pivot sentences: no human score needed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from torch import Tensor

from eval.steering.directions import Directions
from eval.steering.pair_states import PAIRS_FILE, PairStates


class Move(NamedTuple):
    """Of moving states x to x + a·u toward y, summed over pairs: Σ(y − x)·u / S and Σ‖u‖² / S, with S = Σ‖y − mean(y)‖²."""

    along: float
    length: float


class HeldOutMoves(NamedTuple):
    """By layer, what a unit of strength does to held-out pairs: along v_l, and on the way to the map's image.

    ``relative``: by layer, how many v_l a relative strength of 1 is: the mean norm of the states over ‖v_l‖.
    """

    vectors: dict[int, Move]
    maps: dict[int, Move]
    relative: dict[int, float]

    @classmethod
    def of(cls, directions: Directions, states: PairStates) -> Self | None:
        """None where no pairs are held out, or the pivot states of a layer do not differ."""
        moves = cls({}, {}, {})
        for place, layer in enumerate(states.layers):
            if layer not in directions.vectors:
                continue
            source, pivot = states.held_out_source[:, place].double(), states.held_out_pivot[:, place].double()
            spread = float((pivot - pivot.mean(0)).square().sum()) if len(pivot) > 1 else 0.0
            if spread <= 0:
                return None
            vector = directions.vectors[layer].double()
            moves.vectors[layer] = _move(source, pivot, vector.expand_as(source), spread)
            if (norm := float(vector.norm())) > 0 and layer in directions.facts.mean_norms:
                moves.relative[layer] = directions.facts.mean_norms[layer] / norm
            if layer in directions.maps:
                image = directions.maps[layer](source.float()).double()
                moves.maps[layer] = _move(source, pivot, image - source, spread)
        return moves

    def explained(self, method: str, scale: str | None, layers: Sequence[int], strength: float) -> float | None:
        """By how much explained variance (eval.steering.alignment) grows over unmoved states, averaged over the layers.

        Each layer is moved by itself: what steering an earlier one does to it is not seen. None where a layer is unknown.
        """
        gains = []
        for layer in layers:
            move = (self.maps if method == "map" else self.vectors).get(layer)
            unit = self.relative.get(layer) if method == "vector" and scale == "relative" else 1.0
            if move is None or unit is None:
                return None
            # Σ‖y − x − a·u‖² = Σ‖y − x‖² − 2a Σ(y − x)·u + a² Σ‖u‖².
            gains.append(2 * unit * strength * move.along - (unit * strength) ** 2 * move.length)
        return sum(gains) / len(gains)


def held_out_moves(folders: Mapping[str, tuple[Path, Directions]]) -> dict[str, HeldOutMoves]:
    """By language, from the folders of its directions; those without held-out pairs, or without kept states, are left out.

    Raises DataError where kept states are broken or not those of the directions.
    """
    kept = {language: found for language, found in folders.items() if (found[0] / PAIRS_FILE).is_file()}
    found = {
        language: HeldOutMoves.of(directions, PairStates.load(folder, directions))
        for language, (folder, directions) in kept.items()
    }
    return {language: moves for language, moves in found.items() if moves is not None}


def _move(source: Tensor, pivot: Tensor, unit: Tensor, spread: float) -> Move:
    return Move(float(((pivot - source) * unit).sum()) / spread, float(unit.square().sum()) / spread)
