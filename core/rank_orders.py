"""How far two orders of the same systems agree: Kendall's tau-b and Spearman's rho of their means."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from core.agreement import Figure
from core.bootstrap import CHUNK_NUMBERS, Floats
from core.means import summed, sums_figure

NO_ITEMS = "no interval: there are no items to resample"


class ScoredTwice(NamedTuple):
    """One row of a system that both sides scored."""

    system: str
    cluster: Hashable
    a: float
    b: float


class OrderAgreement(NamedTuple):
    """Two rank correlations; ``n`` of each figure is the number of systems."""

    kendall: Figure
    spearman: Figure


def order_agreement(rows: Sequence[ScoredTwice], resamples: int = 10_000, seed: int = 0) -> OrderAgreement:
    """Correlations of the orders that two sides give the systems by their means, with intervals over clusters."""
    systems = sorted({row.system for row in rows})
    if len(systems) < 2:
        return undefined_order(len(systems), "fewer than 2 systems")
    place = {system: number for number, system in enumerate(systems)}
    values = np.zeros((len(rows), 3, len(systems)))
    for number, row in enumerate(rows):
        values[number, :, place[row.system]] = 1, row.a, row.b
    sums = summed(values.reshape(len(rows), -1).T, [row.cluster for row in rows])

    def means(drawn: Floats) -> tuple[Floats, Floats]:
        counts, a, b = drawn.reshape(3, len(systems), -1)
        counts = np.where(counts > 0, counts, np.nan)  # a resample may lack a system
        return a / counts, b / counts

    if reason := _reason(*means(sums.observed)):
        return undefined_order(len(systems), reason)

    def correlation(drawn: Floats, f: Callable[[Floats, Floats], Floats]) -> Floats:
        pieces = 1 + len(systems) ** 2 * drawn.shape[1] // CHUNK_NUMBERS  # signs of all pairs would fill the memory
        return np.concatenate([f(*map(_signs, means(piece))) for piece in np.array_split(drawn, pieces, axis=1)])

    kendall, spearman = (
        sums_figure(sums, partial(correlation, f=f), len(systems), 0, resamples, seed) for f in (_kendall, _spearman)
    )
    return OrderAgreement(kendall, spearman)


def order_agreement_of_values(a: Sequence[float], b: Sequence[float]) -> OrderAgreement:
    """The same of one value a system on each side, which leaves nothing to resample: no intervals."""
    if len(a) < 2:
        return undefined_order(len(a), "fewer than 2 systems")
    columns = tuple(np.array(side, float)[:, None] for side in (a, b))
    if reason := _reason(*columns):
        return undefined_order(len(a), reason)
    signs = [_signs(column) for column in columns]
    kendall, spearman = (Figure(float(f(*signs)[0]), None, None, len(a), 0, NO_ITEMS) for f in (_kendall, _spearman))
    return OrderAgreement(kendall, spearman)


def undefined_order(n: int, reason: str) -> OrderAgreement:
    """No correlations of the orders of ``n`` systems, with the reason."""
    nothing = Figure(None, None, None, n, 0, reason)
    return OrderAgreement(nothing, nothing)


def _reason(a: Floats, b: Floats) -> str | None:
    tied = [name for name, means in (("first", a), ("second", b)) if not _signs(means).any()]
    return f"all systems tie on the {' and the '.join(tied)} side" if tied else None


def _signs(means: Floats) -> Floats:
    """Which of two systems is higher: −1, 0 or 1 for each pair, [S, S, B]. Means that part by rounding alone are ties."""
    rounded = np.round(means, 9)
    return np.sign(rounded[:, None] - rounded[None])


def _kendall(a: Floats, b: Floats) -> Floats:
    """Kendall's tau-b of signs of pairs (Kendall 1945), [B]."""
    return _cosine(a, b, (0, 1))


def _spearman(a: Floats, b: Floats) -> Floats:
    """Spearman's rho: a system's signs against all others add up to twice its centred midrank, [B]."""
    return _cosine(a.sum(axis=1), b.sum(axis=1), (0,))


def _cosine(a: Floats, b: Floats, axes: tuple[int, ...]) -> Floats:
    product, squares = (a * b).sum(axis=axes), (a * a).sum(axis=axes) * (b * b).sum(axis=axes)
    return product / np.sqrt(np.where(squares > 0, squares, np.nan))
