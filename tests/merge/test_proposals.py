"""The candidates of a search on objectives that are known: hand-worked shares, and what hangs on seed and answers alone."""

import math
from collections.abc import Callable

import pytest

from merge.proposals import Candidate, Space, proposals

TWO = Space(("hi", "fr"), total=1.0)
NAMES = ("bn", "de", "fr", "hi", "te", "ur")
SIX = Space(NAMES, total=0.9, densities=dict.fromkeys(NAMES, 0.5), grid=(0.2, 0.5, 0.9))


def searched(
    space: Space, objective: Callable[[Candidate], float | None], budget: int, draws: int = 0, seed: int = 0
) -> list[tuple[str, Candidate]]:
    """The first ``budget`` proposals when each is answered by the objective."""
    asked, found, answer = proposals(space, draws, seed), [], None
    for _ in range(budget):
        try:
            step, candidate = asked.send(answer)
        except StopIteration:
            break
        found.append((step, candidate))
        answer = objective(candidate)
    return found


def test_moves_climb_by_the_hand_worked_shares() -> None:
    """Best where hi has 3/4.

    Doubling hi's share of 1/2: 1 / (1 + 1/2) = 2/3, nearer, so again: 4/3 / (4/3 + 1/3) = 4/5, nearer still (.05 against
    .083); again: 8/5 / (8/5 + 1/5) = 8/9, too far. Halving 4/5 leads back to 2/3, and fr's moves are hi's the other way
    round. With the factor of root 2 from .8: 1.1314 / 1.3314 = .8498, worse; .5657 / .7657 = .7388, nearer (.0112).
    """
    found = searched(TWO, lambda candidate: -abs(candidate.weights["hi"] - 0.75), 6)
    assert [candidate.weights["hi"] for _, candidate in found] == [0.5, 0.6667, 0.8, 0.8889, 0.8498, 0.7388]
    assert [step for step, _ in found] == ["uniform", *["move"] * 5]


def test_shares_are_of_the_recipes_sum() -> None:
    found = searched(SIX, lambda _: 0.0, 12, draws=5)
    assert found[0] == ("uniform", Candidate(dict.fromkeys(SIX.experts, 0.15), dict(SIX.densities or {})))
    for _, candidate in found:
        assert math.fsum(candidate.weights.values()) == pytest.approx(0.9, abs=6 * 0.5e-4)
        assert min(candidate.weights.values()) >= 0


def test_densities_move_to_the_next_on_the_grid_and_stop_at_its_ends() -> None:
    space = Space(("hi", "fr"), 1.0, {"hi": 0.5, "fr": 0.6}, grid=(0.2, 0.5, 0.9))
    found = [candidate for _, candidate in searched(space, lambda one: (one.densities or {})["hi"], 100)]
    seen = {tuple((one.densities or {}).values()) for one in found}
    # hi rises to .9, the end of the grid, and comes back to .5 for a look; fr goes from .6, not on the grid, to .9 and to .5.
    assert seen == {(0.5, 0.6), (0.9, 0.6), (0.9, 0.9), (0.9, 0.5)}


def test_none_comes_twice_and_the_end_is_reached() -> None:
    found = searched(TWO, lambda candidate: -abs(candidate.weights["hi"] - 0.3), 1000, draws=4)
    candidates = [candidate for _, candidate in found]
    assert len(candidates) < 60
    assert all(candidates.count(one) == 1 for one in candidates)
    best = max(candidates, key=lambda candidate: -abs(candidate.weights["hi"] - 0.3))
    assert best.weights["hi"] == pytest.approx(0.3, abs=0.02)  # the finest factor moves .3 by about .035


def test_a_search_finds_the_one_expert_that_is_right_among_six() -> None:
    """The objective is te's share; the draws alone do not come near it."""
    found = searched(SIX, lambda candidate: candidate.weights["te"], 30, draws=6)
    shares = [candidate.weights["te"] / 0.9 for _, candidate in found]
    assert max(shares[:7]) < 0.6 < 0.85 < max(shares)


def test_what_comes_next_hangs_on_seed_and_answers_alone() -> None:
    def objective(candidate: Candidate) -> float:
        return -abs(candidate.weights["te"] - 0.4)

    assert searched(SIX, objective, 25, draws=6) == searched(SIX, objective, 25, draws=6)
    assert searched(SIX, objective, 4, draws=6, seed=1)[1:] != searched(SIX, objective, 4, draws=6)[1:]


def test_an_undefined_objective_is_never_the_best() -> None:
    """Uniform has none; the first candidate with a value takes its place, and moves go on from there."""
    found = searched(TWO, lambda candidate: None if candidate.weights["hi"] < 0.6 else 1.0, 3)
    assert [candidate.weights["hi"] for _, candidate in found] == [0.5, 0.6667, 0.8]
