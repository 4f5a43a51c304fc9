"""How much nearer held-out sentences come, against the measure taken on moved states themselves."""

from pathlib import Path

import pytest
import torch

from eval.steering.alignment import alignment
from eval.steering.fitting import Encoded, Learned, fit_directions
from eval.steering.held_out import HeldOutMoves, held_out_moves


def learned(held_out: int = 8, layers: tuple[int, ...] = (1, 3)) -> Learned:
    draw = torch.Generator().manual_seed(0)
    pivot = torch.randn(40, len(layers), 6, generator=draw)
    source = 0.8 * pivot + 0.3 * torch.randn(40, len(layers), 6, generator=draw) - 1
    sides = (Encoded(source, source.norm(dim=-1)), Encoded(pivot, pivot.norm(dim=-1)))
    return fit_directions(*sides, 40 - held_out, list(layers), "ridge", source="fr", pivot="en")


@pytest.mark.parametrize(
    ("method", "scale", "strength"),
    [
        ("vector", "raw", 0.5),
        ("vector", "raw", -2.0),
        ("vector", "relative", 0.3),
        ("map", None, 1.0),
        ("map", None, 0.25),
    ],
)
def test_explained_variance_grows_as_moved_states_say(method: str, scale: str | None, strength: float) -> None:
    """The mean over layers of the explained variance of moved held-out states less that of the states as they are."""
    directions, states = learned()
    gains = []
    for place, layer in enumerate(states.layers):
        source, pivot = states.held_out_source[:, place], states.held_out_pivot[:, place]
        vector = directions.vectors[layer]
        unit = directions.facts.mean_norms[layer] / float(vector.norm()) if scale == "relative" else 1.0
        by = directions.maps[layer](source) - source if method == "map" else unit * vector
        after, before = (alignment(x, pivot)["explained_variance"] for x in (source + strength * by, source))
        assert after is not None
        assert before is not None
        gains.append(after - before)
    moves = HeldOutMoves.of(directions, states)
    assert moves is not None
    assert moves.explained(method, scale, [1, 3], strength) == pytest.approx(sum(gains) / 2, rel=1e-4)
    assert moves.explained(method, scale, [3], strength) == pytest.approx(gains[1], rel=1e-4)
    assert moves.explained(method, scale, [2], strength) is None


def test_nothing_held_out_tells_nothing(tmp_path: Path) -> None:
    """No pairs, one pair (no variance to explain), no kept states."""
    assert HeldOutMoves.of(*learned(held_out=0)) is None
    assert HeldOutMoves.of(*learned(held_out=1)) is None
    folders = {}
    for name, count in (("fr", 8), ("hi", 0), ("tr", 8)):
        directions, states = learned(count)
        directions.save(tmp_path / name)
        folders[name] = (tmp_path / name, directions)
        if name != "tr":
            states.save(tmp_path / name)
    assert list(held_out_moves(folders)) == ["fr"]
