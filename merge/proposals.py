"""Which weights a search tries next: uniform ones, random draws, then moves of one coordinate from the best so far.

Weights are shares of a fixed sum (the recipe's), on the simplex: a linear merge that normalises has no other freedom, and
under TIES and DARE the sum, which scales the whole change, stays the recipe's. Densities are tried from a grid.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, NamedTuple

import numpy as np

# By what a move multiplies or divides one expert's share before the shares are normalised again: ever finer.
FACTORS = (2.0, 2**0.5, 2**0.25)
DECIMALS = 4

Step = Literal["uniform", "draw", "move"]


class Candidate(NamedTuple):
    """Weight by expert; density by expert, or None where the recipe's stand."""

    weights: dict[str, float]
    densities: dict[str, float] | None = None


@dataclass(frozen=True)
class Space:
    """What is searched: shares of ``total`` over the experts, and densities from ``grid``, beginning with ``densities``
    (None: not searched).
    """

    experts: Sequence[str]
    total: float
    densities: Mapping[str, float] | None = None
    grid: Sequence[float] = ()

    @property
    def start(self) -> "_Point":
        experts = len(self.experts)
        densities = None if self.densities is None else tuple(self.densities[name] for name in self.experts)
        return _Point((1 / experts,) * experts, densities)

    @property
    def uniform(self) -> Candidate:
        """Equal weights, with the densities that the search begins with."""
        return self.candidate(self.start)

    def candidate(self, point: "_Point") -> Candidate:
        weights = (round(self.total * share, DECIMALS) for share in point.shares)
        densities = None if point.densities is None else dict(zip(self.experts, point.densities, strict=True))
        return Candidate(dict(zip(self.experts, weights, strict=True)), densities)


class _Point(NamedTuple):
    shares: tuple[float, ...]
    densities: tuple[float, ...] | None


def proposals(space: Space, draws: int, seed: int) -> Generator[tuple[Step, Candidate], float | None, None]:
    """Candidates one by one, none twice. Each is to be answered with ``send``: its objective (greater is better), or None
    where that is undefined. What comes next hangs on the seed and on the answers alone. Ends where no finer move is left.
    """
    rng = np.random.default_rng(seed)
    best, seen = space.start, [space.uniform]
    best_value = yield "uniform", space.uniform
    for _ in range(draws):
        point = _drawn(space, rng)
        if (candidate := space.candidate(point)) not in seen:
            seen.append(candidate)
            value = yield "draw", candidate
            if _better(value, best_value):
                best, best_value = point, value
    coordinates = range(len(space.experts) * (1 if space.densities is None else 2))
    for factor in FACTORS:
        before = None
        while best != before:  # passes over all coordinates, up to one without a gain
            before = best
            for up, coordinate in product((True, False), coordinates):
                point = _moved(space, best, coordinate, factor, up)
                while (candidate := space.candidate(point)) not in seen:
                    seen.append(candidate)
                    value = yield "move", candidate
                    if not _better(value, best_value):
                        break
                    best, best_value = point, value
                    point = _moved(space, best, coordinate, factor, up)


def _better(value: float | None, than: float | None) -> bool:
    return value is not None and (than is None or value > than)


def _drawn(space: Space, rng: np.random.Generator) -> _Point:
    """Shares uniform on the simplex, densities uniform on the grid."""
    shares = tuple(float(share) for share in rng.dirichlet(np.ones(len(space.experts))))
    if space.densities is None:
        return _Point(shares, None)
    return _Point(shares, tuple(float(one) for one in rng.choice(space.grid, size=len(space.experts))))


def _moved(space: Space, point: _Point, coordinate: int, factor: float, up: bool) -> _Point:
    """One expert's share times or over ``factor``, the others making room; or, past the shares, one density's next on the
    grid, itself at the grid's end.
    """
    if coordinate < len(point.shares):
        scaled = [
            share * (factor if up else 1 / factor) if at == coordinate else share
            for at, share in enumerate(point.shares)
        ]
        return point._replace(shares=tuple(share / sum(scaled) for share in scaled))
    assert point.densities is not None
    at = coordinate - len(point.shares)
    now = point.densities[at]
    further = sorted((one for one in space.grid if (one > now if up else one < now)), key=lambda one: abs(one - now))
    return point._replace(densities=(*point.densities[:at], further[0] if further else now, *point.densities[at + 1 :]))
