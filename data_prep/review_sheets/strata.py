"""A seeded sample in proportion: which rows of a language people are shown."""

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Candidate(NamedTuple):
    """A row that may be drawn: its id, and its value of each stratum."""

    id: str
    strata: tuple[str, ...]


def draw(candidates: Sequence[Candidate], size: int, seed: int) -> list[str]:
    """The ids of ``size`` of the candidates (all, where there are fewer) in a seeded order, in proportion over their strata.

    The rows of the first stratum's values are exactly proportional, by largest remainders; within each value, those of the
    second, and so on. The draw depends on ids and seed, not on the order of rows: languages whose records share ids get
    the same items where their strata agree.
    """
    ids = _proportional(list(candidates), min(size, len(candidates)), 0, seed)
    return sorted(ids, key=lambda name: _rank(seed, "order", name))


def largest_remainders(sizes: Mapping[str, int], total: int, seed: int) -> dict[str, int]:
    """``total`` split in proportion to ``sizes``, at most as many as there are: whole quotas first, then one each to the
    largest remainders (Hamilton's method), equal remainders by seed."""
    rows = sum(sizes.values())
    shares = {name: size * total // rows for name, size in sizes.items()}
    by_remainder = sorted(sizes, key=lambda name: (-(sizes[name] * total % rows), _rank(seed, "tie", name)))
    for name in by_remainder[: total - sum(shares.values())]:
        shares[name] += 1
    return shares


def _proportional(candidates: list[Candidate], size: int, level: int, seed: int) -> list[str]:
    if size in (0, len(candidates)):
        return [row.id for row in candidates[:size]]
    if level == len(candidates[0].strata):
        return sorted((row.id for row in candidates), key=lambda name: _rank(seed, "draw", name))[:size]
    groups: dict[str, list[Candidate]] = defaultdict(list)
    for row in candidates:
        groups[row.strata[level]].append(row)
    shares = largest_remainders({name: len(group) for name, group in groups.items()}, size, seed)
    return [row for name, group in groups.items() for row in _proportional(group, shares[name], level + 1, seed)]


def _rank(seed: int, purpose: str, name: str) -> bytes:
    """A place in a seeded order that is the same in every run and for every order of rows."""
    return hashlib.sha256(f"{seed}\n{purpose}\n{name}".encode()).digest()
