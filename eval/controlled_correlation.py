"""Pearson's correlation with what a metric may owe to something else taken out, and the gain of one metric over another.

All are statistics of sums over rows, so that documents are resampled by adding up what each contributes.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import numpy as np

from core.agreement import Figure
from core.bootstrap import Floats
from core.means import summed
from eval.correlation import undefined


class Gain(NamedTuple):
    """Pearson of a metric with human scores, and by how much it is higher than another's on the same rows."""

    pearson: Figure
    gain: Figure


def paired_gain(
    human: Floats, scores: Floats, others: Floats, documents: Sequence[Hashable], resamples: int, seed: int
) -> Gain:
    """A metric's scores [n] beside the scores of another; both figures come from the same resamples of documents."""
    x, u, h = (_standardised(values) for values in (scores, others, human))
    sums = summed(np.stack([np.ones_like(h), h, h * h, x, x * x, h * x, u, u * u, h * u]), documents)

    def statistic(total: Floats) -> Floats:
        n, h, hh = total[:3]
        return np.stack([_pearson(n, h, hh, *total[at : at + 3]) for at in (3, 6)])

    observed = statistic(sums.observed)
    if np.isnan(observed).any():
        missing = undefined("constant scores or human scores", len(h))
        return Gain(missing, missing)
    drawn = [statistic(total) for total in sums.resample(resamples, np.random.default_rng(seed))]
    return Gain(
        Figure.from_draws(observed[0], [draw[0] for draw in drawn], None, len(h), 0),
        Figure.from_draws(observed[0] - observed[1], [draw[0] - draw[1] for draw in drawn], None, len(h), 0),
    )


def within_system(
    human: Sequence[float],
    scores: Sequence[float | None],
    systems: Sequence[str | None],
    documents: Sequence[Hashable],
    resamples: int,
    seed: int,
) -> Figure:
    """Pearson after both are centred by system: what is left where a metric tells systems apart and no more.

    Rows without score or system are left out and counted.
    """
    rows = [row for row, (score, system) in enumerate(zip(scores, systems, strict=True)) if None not in (score, system)]
    names = list(dict.fromkeys(systems[row] for row in rows))
    if not names:
        return undefined("no scored row has a system", 0, len(scores))
    of_system = np.array([[systems[row] == name for row in rows] for name in names], float)
    x, y = _columns(rows, human, scores)
    of_own = of_system / of_system.sum(axis=1, keepdims=True)
    x, y = (_standardised(values, of_own @ values @ of_system) for values in (x, y))
    moments = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y])
    parts = (of_system[:, None, :] * moments).reshape(-1, len(rows))

    def statistic(total: Floats) -> Floats:
        n, x, y, xx, yy, xy = total.reshape(len(names), 6, -1).transpose(1, 0, 2)
        some = np.maximum(n, 1)
        xx, yy, xy = ((part - a * b / some).sum(axis=0) for part, a, b in ((xx, x, x), (yy, y, y), (xy, x, y)))
        return _ratio(xy, xx, yy, n.sum(axis=0))

    left_out = len(scores) - len(rows)
    return _figure(parts, statistic, rows, documents, "constant within systems", left_out, resamples, seed)


def length_partial(
    human: Sequence[float],
    scores: Sequence[float | None],
    lengths: Sequence[int],
    documents: Sequence[Hashable],
    resamples: int,
    seed: int,
) -> Figure:
    """Partial Pearson given the length: (r_xy − r_xz r_yz) / √((1 − r_xz²)(1 − r_yz²)) (Yule 1907).

    Rows without score are left out and counted. Null where length tells all of one side.
    """
    rows = [row for row, score in enumerate(scores) if score is not None]
    if not rows:
        return undefined("fewer than two scored rows", 0, len(scores))
    columns = (*_columns(rows, human, scores), np.array([lengths[row] for row in rows], float))
    x, y, z = (_standardised(values) for values in columns)
    parts = np.stack([np.ones_like(x), x, y, z, x * x, y * y, z * z, x * y, x * z, y * z])

    def statistic(total: Floats) -> Floats:
        n, x, y, z, xx, yy, zz, xy, xz, yz = total
        r_xy, r_xz = _pearson(n, x, xx, y, yy, xy), _pearson(n, x, xx, z, zz, xz)
        r_yz = _pearson(n, y, yy, z, zz, yz)
        return _ratio(r_xy - r_xz * r_yz, 1 - r_xz**2, 1 - r_yz**2, np.ones_like(n))

    reason = "constant scores, human scores or lengths, or length tells all"
    return _figure(parts, statistic, rows, documents, reason, len(scores) - len(rows), resamples, seed)


def _figure(
    parts: Floats,
    statistic: Callable[[Floats], Floats],
    rows: Sequence[int],
    documents: Sequence[Hashable],
    reason: str,
    left_out: int,
    resamples: int,
    seed: int,
) -> Figure:
    """The figure of a statistic of sums of ``parts`` [k, rows]; ``reason`` is why where it has no value."""
    sums = summed(parts, [documents[row] for row in rows])
    observed = statistic(sums.observed)
    if np.isnan(observed[0]):
        return undefined("fewer than two scored rows" if len(rows) < 2 else reason, len(rows), left_out)
    drawn = [statistic(total) for total in sums.resample(resamples, np.random.default_rng(seed))]
    return Figure.from_draws(observed, drawn, None, len(rows), left_out)


def _columns(rows: Sequence[int], human: Sequence[float], scores: Sequence[float | None]) -> tuple[Floats, Floats]:
    return np.array([human[row] for row in rows], float), np.array([scores[row] for row in rows], float)


def _standardised(values: Floats, means: Floats | None = None) -> Floats:
    """Values less their means, with standard deviation 1 so that sums keep their digits; zero where they are constant."""
    centred = values - (values.mean() if means is None else means)
    spread = centred.std()
    return centred / spread if spread > 1e-12 * np.abs(values).max() else np.zeros_like(values)


def _pearson(n: Floats, x: Floats, xx: Floats, y: Floats, yy: Floats, xy: Floats) -> Floats:
    """Pearson's r from sums; NaN where a side is constant."""
    return _ratio(xy - x * y / n, xx - x * x / n, yy - y * y / n, n)


def _ratio(product: Floats, square_x: Floats, square_y: Floats, n: Floats) -> Floats:
    """product / √(square_x · square_y); NaN where a square is nothing but rounding."""
    defined = (square_x > 1e-12 * n) & (square_y > 1e-12 * n)
    root = np.sqrt(np.where(defined, square_x * square_y, 1))
    return np.divide(product, root, out=np.full(np.shape(product), np.nan), where=defined)
