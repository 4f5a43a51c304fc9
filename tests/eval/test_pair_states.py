"""Kept states of pairs, the null directions learned from them, and whether luck is told from a direction that helps."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from scipy import stats
from torch import Tensor

from core.errors import DataError
from core.records import ScoreRow, SummaryRecord
from eval.steering.directions import Directions
from eval.steering.fitting import Encoded, Learned, fit_directions
from eval.steering.maps import MAP_KINDS, MapKind, fit_maps
from eval.steering.pair_states import PairStates, null_directions
from eval.steering.selection import folds_by_document, grids, nested, oracle, p_value
from eval.summary.metrics import cells

PAIRS, WIDTH, LAYERS = 40, 12, (2, 5)


def encoded(
    seed: int, pairs: int = PAIRS, width: int = WIDTH, layers: int = 2, shift: float = 0.5
) -> tuple[Encoded, Encoded]:
    """States of source and pivot sentences around a shift, and their norms."""
    draw = torch.Generator().manual_seed(seed)
    pivot = torch.randn(pairs, layers, width, generator=draw)
    source = pivot + torch.randn(pairs, layers, width, generator=draw) - shift
    return Encoded(source, source.norm(dim=-1)), Encoded(pivot, pivot.norm(dim=-1))


def learned(kind: MapKind | None = None, held_out: int = 8) -> Learned:
    return fit_directions(*encoded(0), PAIRS - held_out, list(LAYERS), kind, source="fr", pivot="en")


def signs(pairs: int, draw: int, seed: int) -> list[int]:
    return [-1 if flip else 1 for flip in np.random.default_rng([seed, draw]).integers(0, 2, pairs)]


def test_a_folder_gives_back_the_states(tmp_path: Path) -> None:
    directions, states = learned()
    states.save(tmp_path)
    loaded = PairStates.load(tmp_path, directions)
    assert loaded.layers == [2, 5]
    assert (loaded.source.shape, loaded.held_out_pivot.shape) == ((32, 2, WIDTH), (8, 2, WIDTH))
    for ours, theirs in zip(states[1:], loaded[1:], strict=True):
        assert torch.equal(ours, theirs)  # type: ignore[arg-type]


def test_states_that_are_missing_or_broken_are_refused(tmp_path: Path) -> None:
    directions, states = learned()
    with pytest.raises(DataError, match="keep_pairs: true"):
        PairStates.load(tmp_path, directions)
    save_file({"source": torch.ones(2)}, tmp_path / "pairs.safetensors")
    with pytest.raises(DataError, match="is broken"):
        PairStates.load(tmp_path, directions)
    for broken, message in (
        ({"pivot": states.pivot[:10]}, "not of one size"),
        ({"source": states.source[:, 0], "pivot": states.pivot[:, 0]}, "not of one size"),
        ({"held_out_source": states.held_out_source[..., :3]}, "not of one size"),
        ({"held_out_pivot": states.held_out_pivot / 0}, "not finite"),
        ({"source": states.source + torch.nan}, "not finite"),
        ({"source": states.source[:10], "pivot": states.pivot[:10]}, "has pairs 10, the directions 32"),
        ({"layers": [2, 4]}, "lacks layer 5"),
        ({"source": states.source.flip(1), "pivot": states.pivot.flip(1)}, "other pairs than taught the vector"),
    ):
        states._replace(**broken).save(tmp_path)
        with pytest.raises(DataError, match=message):
            PairStates.load(tmp_path, directions)


@pytest.mark.parametrize("draw", [0, 1, 17])
def test_a_null_vector_is_the_mean_of_signed_differences_of_the_real_length(draw: int) -> None:
    """One sign a pair, the same in both layers, of the 32 pairs learned from; held-out pairs take no part."""
    directions, states = learned()
    null = null_directions(directions, states, draw, seed=3)
    sign = torch.tensor(signs(32, draw, 3), dtype=torch.float32)[:, None]
    for place, layer in enumerate(LAYERS):
        mean = (sign * (states.pivot - states.source)[:, place]).mean(0)
        expected = mean * directions.vectors[layer].norm() / mean.norm()
        torch.testing.assert_close(null.vectors[layer], expected, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(null.vectors[layer].norm(), directions.vectors[layer].norm())
    assert null.facts.mean_norms == directions.facts.mean_norms
    assert (null.facts.held_out, null.facts.map_fit, null.maps) == ({}, {}, {})


@pytest.mark.parametrize("kind", MAP_KINDS)
def test_a_null_map_is_learned_from_exchanged_sentences(kind: MapKind) -> None:
    directions, states = learned(kind)
    null = null_directions(directions, states, draw=4, seed=0)
    flipped = torch.tensor([sign < 0 for sign in signs(32, 4, 0)])[:, None]
    for place, layer in enumerate(LAYERS):
        source, pivot = states.source[:, place], states.pivot[:, place]
        exchanged = torch.where(flipped, pivot, source), torch.where(flipped, source, pivot)
        expected = fit_maps([kind], *exchanged)[kind].linear
        hidden = torch.randn(3, WIDTH, generator=torch.Generator().manual_seed(1))
        torch.testing.assert_close(null.maps[layer](hidden), expected(hidden))
        assert not torch.allclose(null.maps[layer](hidden), directions.maps[layer](hidden), atol=0.1)


def test_a_null_depends_on_seed_and_draw_alone() -> None:
    directions, states = learned("ridge")
    first = null_directions(directions, states, draw=1, seed=0)
    again = null_directions(directions, states, draw=1, seed=0)
    subset = null_directions(directions.at_layers([5]), states, draw=1, seed=0)
    assert torch.equal(first.vectors[5], again.vectors[5])
    assert torch.equal(first.maps[2].left, again.maps[2].left)
    assert torch.equal(first.vectors[5], subset.vectors[5])
    assert subset.layers == [5]
    others = [null_directions(directions, states, draw, seed) for draw, seed in ((2, 0), (1, 1))]
    assert all(not torch.equal(first.vectors[5], other.vectors[5]) for other in others)


def test_states_of_other_directions_are_refused() -> None:
    directions, states = learned()
    with pytest.raises(DataError, match="lacks layer 5"):
        null_directions(directions, states._replace(layers=[2, 4]), 0, 0)
    with pytest.raises(DataError, match="has pairs 10, the directions 32"):
        null_directions(directions, states._replace(source=states.source[:10]), 0, 0)


def simulated(
    learned: Learned, hidden: Tensor, human: Tensor, metric: Callable[[Tensor], Tensor], draws: int, method: str
) -> dict[str, Any]:
    """A cell of a metric of pooled states [m, d] of summaries, two a document, steered at layer 0 by algebra."""
    records = [
        SummaryRecord(
            id=str(n), language="fr", dimension="coherence", document_id=str(n // 2), document="d", summary="s" * (n + 1),
            human_score=float(score),
        )
        for n, score in enumerate(human)
    ]  # fmt: skip

    def rows(directions: Directions | None, strength: float, draw: int | None) -> list[ScoreRow]:
        states = hidden
        if directions is not None:
            moved = directions.maps[0](hidden) if method == "map" else hidden + directions.vectors[0]
            states = torch.lerp(hidden, moved, strength)
        given: dict[str, Any] = {"language": "fr", "dimension": "coherence", "metric": "comet", "model": "m"}
        given |= {"pivot": "en", "scale": "raw" if method == "vector" else None, "draw": draw, "strength": strength}
        given |= {"method": method, "layers": [0]} if directions else {"method": None, "layers": None}
        scores = metric(states).tolist()
        return [
            ScoreRow(id=r.id, document_id=r.document_id, score=s, **given) for r, s in zip(records, scores, strict=True)
        ]

    strengths = (0.25, 0.5, 0.75, 1.0) if method == "map" else (-1.0, -0.5, 0.5, 1.0)
    found = rows(None, 0.0, None)
    for draw in (None, *range(draws)):
        directions = (
            learned.directions if draw is None else null_directions(learned.directions, learned.states, draw, 0)
        )
        found += [row for strength in strengths for row in rows(directions, strength, draw)]
    [cell] = cells(records, found, resamples=500, seed=0)
    return cell


def assert_found(cell: dict[str, Any], strength: float) -> None:
    nest, best = cell["selection"]["nested"], cell["selection"]["oracle"]
    assert [(part["strength"], part["share"]) for part in nest["chosen"]] == [(strength, 1.0)]
    assert nest["gain"]["low"] > 0.1
    assert (best["null"]["draws"], best["null"]["smallest_p"]) == (24, 0.04)
    assert best["null"]["p_value"] == nest["null"]["p_value"] == 0.04
    assert best["null"]["mean_gain"] < best["gain"]["value"] / 3


def test_a_vector_that_helps_is_found_and_its_nulls_do_not() -> None:
    """A metric −(x − 1)² of one coordinate tells good from bad where pivot states are, x around 0, and is blind where source
    states are, x around 1; the two sides of a pair differ elsewhere by far more than that.
    """
    draw = torch.Generator().manual_seed(0)
    width = 128
    shift = torch.eye(width)[0]
    pivot = torch.randn(300, 1, width, generator=draw)
    source = pivot + torch.randn(300, 1, width, generator=draw) + shift
    facts = fit_directions(*(Encoded(side, side.norm(dim=-1)) for side in (source, pivot)), 300, [0], None)
    human = torch.randn(120, generator=draw)
    hidden = torch.randn(120, width, generator=draw)
    hidden[:, 0] = 0.7 * human + 0.2 * torch.randn(120, generator=draw) + 1
    cell = simulated(facts, hidden, human, lambda states: -((states[:, 0] - 1) ** 2), 24, "vector")
    assert_found(cell, 1.0)


@pytest.mark.parametrize("kind", MAP_KINDS)
def test_a_map_that_helps_is_found_and_its_nulls_do_not(kind: MapKind) -> None:
    """Source states are the pivot's turned a quarter round in 16 planes: a linear metric of pivot states is blind to them.

    Exchanging the sentences of half of the pairs leaves nothing to learn, since turning back is the opposite of turning.
    """
    draw = torch.Generator().manual_seed(1)
    quarter = torch.kron(torch.eye(16), torch.tensor([[0.0, -1.0], [1.0, 0.0]]))
    pivot = torch.randn(300, 1, 32, generator=draw)
    source = pivot @ quarter.T + 0.1 * torch.randn(300, 1, 32, generator=draw)
    facts = fit_directions(*(Encoded(side, side.norm(dim=-1)) for side in (source, pivot)), 300, [0], kind)
    meaning, weights = torch.randn(120, 32, generator=draw), torch.randn(32, generator=draw)
    human = meaning @ weights + torch.randn(120, generator=draw)
    cell = simulated(facts, meaning @ quarter.T, human, lambda states: states @ weights, 24, "map")
    assert_found(cell, 1.0)


@pytest.mark.parametrize("kind", [None, "minimum_norm"])
def test_p_is_uniform_where_the_languages_do_not_differ(kind: MapKind | None) -> None:
    """200 repeats: pairs whose two sides come from one population, and 19 null draws of each; vectors (None) and maps."""
    draw, rng = torch.Generator().manual_seed(2), np.random.default_rng(2)
    documents, folds = np.arange(40) // 2, folds_by_document(20, seed=0)
    p: dict[str, list[float]] = {"oracle": [], "nested": []}
    for repeat in range(200):
        sides = [Encoded(states, states.norm(dim=-1)) for states in torch.randn(2, 20, 1, 4, generator=draw)]
        directions, states = fit_directions(sides[0], sides[1], 20, [0], kind)
        every = [directions, *(null_directions(directions, states, n, repeat) for n in range(19))]
        hidden, weights = torch.randn(40, 4, generator=draw), torch.randn(4, generator=draw)
        human = (hidden @ weights + 2 * torch.randn(40, generator=draw)).double().numpy()
        images = torch.stack([one.maps[0](hidden) if kind else hidden + one.vectors[0] for one in every])
        strengths = torch.tensor([0.0, 0.5, 1] if kind else [0.0, -1, -0.5, 0.5, 1])[:, None]
        moved = torch.lerp(hidden[None, :, None].expand(20, -1, len(strengths), -1), images[:, :, None], strengths)
        scores = torch.sigmoid(moved @ weights).double().numpy()
        found = np.full((2, 20), np.nan)
        for grid in grids(scores, human, documents):
            found[:, grid.members] = oracle(grid).gain, nested(grid, folds).gain
        for name, values in zip(p, found, strict=True):
            # Spread over its step, which equal gains (unsteered stays best) make longer, p is continuous.
            equal = int((np.abs(values - values[0]) <= 1e-12).sum())
            p[name].append(p_value(values[0], values[1:].tolist()) - rng.random() * equal / 20)
    for values_of in p.values():
        assert stats.kstest(values_of, "uniform").pvalue > 0.05
