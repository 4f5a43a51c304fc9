"""Two judges whose verdicts can change places in a correlation, because each judge's verdicts are on its own standard.

Where verdicts of two judges are mixed as they are, the judge that spreads its scores more, or scores higher, weighs more in
the mix, whatever its agreement. So each verdict is first standardised in its own judge (Deutsch, Dror and Roth 2021, A
Statistical Analysis of Summarization Evaluation Metrics Using Resampling Methods), in what its statistic sees:

- Pearson: the score, to mean 0 and standard deviation 1;
- Spearman: the same of the score's midrank among the judge's own scores;
- Kendall: the share of the judge's own scores that lie below, as an interval. A verdict lies above another by the chance
  that a point of its interval lies above one of the other's, less the chance that it lies below: ±1 or 0 within a judge.

The mix is not ranked again: two judges' standards for one score differ by a little even where the judges do not, and as
ranks these differences would break every tie between a verdict of one and a verdict of the other.
All three are Daniels' general correlation (Daniels 1944): Σ aᵢⱼbᵢⱼ / √(Σ aᵢⱼ² Σ bᵢⱼ²) over pairs of rows, where a tells how
far gold parts the two rows and b how far the verdicts do.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import numpy as np

from core.agreement import place_unscored
from core.bootstrap import Clusters, Floats
from core.contingency import SCORES

# Scores of judge A, then those of judge B.
COLUMNS = 2 * len(SCORES)


class Exchange(NamedTuple):
    """Clusters whose two halves are the judges' verdicts, and a statistic of the first half minus that of the second."""

    clusters: Clusters
    difference: Callable[[Floats], Floats]


def standardised(
    gold: Sequence[float],
    scores_a: Sequence[int | None],
    scores_b: Sequence[int | None],
    clusters: Sequence[Hashable] | None,
    statistic: str,
) -> Exchange:
    """The exchange of two judges by Pearson, Spearman or Kendall (tau-b); unexchanged, it has the statistic's own values.

    Unscored verdicts stand farthest from gold. Neither gold nor a judge may be constant.
    """
    levels, level, gold_counts = np.unique(np.asarray(gold, float), return_inverse=True, return_counts=True)
    placed = [np.array(place_unscored(gold, scores), np.int64) - 1 for scores in (scores_a, scores_b)]
    half = len(levels) * COLUMNS
    cells = [level * COLUMNS + placed[0], half + level * COLUMNS + len(SCORES) + placed[1]]
    part = _PARTED[statistic]
    own = [part(SCORES, np.bincount(scores, minlength=len(SCORES)).astype(float)) for scores in placed]
    of_gold = part(levels, gold_counts.astype(float))
    gold_apart = _apart(of_gold, of_gold)
    scores_apart = np.block([[_apart(a, b) for b in own] for a in own])

    def difference(tables: Floats) -> Floats:
        first, second = (
            _correlation(flat.reshape(len(levels), COLUMNS, -1), gold_apart, scores_apart)
            for flat in (tables[:half], tables[half:])
        )
        return first - second

    return Exchange(Clusters.from_rows(np.stack(cells, axis=1), clusters, 2 * half), difference)


class _Places(NamedTuple):
    """Where values lie: between ``low`` and ``high`` each [k], or at a point, where these are equal."""

    low: Floats
    high: Floats


def _scores(values: Floats, counts: Floats) -> _Places:
    mean = np.average(values, weights=counts)
    standard = (values - mean) / np.sqrt(np.average((values - mean) ** 2, weights=counts))
    return _Places(standard, standard)


def _midranks(values: Floats, counts: Floats) -> _Places:
    return _scores(counts.cumsum() - counts / 2, counts)


def _intervals(values: Floats, counts: Floats) -> _Places:
    high = counts.cumsum() / counts.sum()
    return _Places(np.append(0, high[:-1]), high)


_PARTED: dict[str, Callable[[Floats, Floats], _Places]] = {
    "pearson": _scores, "spearman": _midranks, "kendall": _intervals,
}  # fmt: skip


def _apart(a: _Places, b: _Places) -> Floats:
    """How far a value of a lies above one of b, [k, k]: the difference of points, or the expected sign for intervals."""
    a_low, a_high, b_low, b_high = a.low[:, None], a.high[:, None], b.low, b.high
    if a.low is a.high:
        return a_low - b_low

    def twice_integrated_sign(difference: Floats) -> Floats:
        return difference * np.abs(difference) / 2

    area = (a_high - a_low) * (b_high - b_low)
    signed = sum(
        sign * twice_integrated_sign(x - y)
        for sign, x, y in ((1, a_high, b_low), (-1, a_low, b_low), (-1, a_high, b_high), (1, a_low, b_high))
    )
    # A score that nobody gave has no interval, and no rows either.
    return np.divide(signed, area, out=np.zeros_like(area), where=area > 0)


def _correlation(counts: Floats, gold_apart: Floats, scores_apart: Floats) -> Floats:
    """Daniels' correlation of tables [G, COLUMNS, B]; NaN where all verdicts are one."""
    partners = np.tensordot(gold_apart, np.tensordot(scores_apart, counts, axes=(1, 1)), axes=(1, 1))
    together = (counts * partners).sum(axis=(0, 1))
    spread = [
        (margin * (apart**2 @ margin)).sum(axis=0)
        for margin, apart in ((counts.sum(axis=1), gold_apart), (counts.sum(axis=0), scores_apart))
    ]
    # Equal verdicts of two judges part by rounding.
    varied = spread[1] > 1e-12 * counts.sum(axis=(0, 1)) ** 2
    return together / np.sqrt(np.where(varied, spread[0] * spread[1], np.nan))
