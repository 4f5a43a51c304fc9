"""Means of a judge's scores, corrected by the items that people scored too."""

from collections.abc import Hashable, Sequence

import numpy as np

from core.agreement import Figure
from core.bootstrap import Floats
from core.means import summed, sums_figure

FEWEST_ITEMS = 2


def corrected_mean(
    judge: Sequence[float | None],
    human: Sequence[float | None],
    clusters: Sequence[Hashable],
    resamples: int = 10_000,
    seed: int = 0,
) -> Figure:
    """mean(judge over all rows) + mean(human − judge over the rows with both): the difference estimator.

    Unbiased for the mean of the human scores, whatever the judge's bias, where the rows that people scored are a random
    sample of all (prediction-powered inference, Angelopoulos et al. 2023; Särndal et al. 1992). Rows of a cluster are resampled
    together, human-scored ones or not. Rows without a judge's score are left out and counted in ``n_unscored``. No value,
    with the reason, where fewer than two clusters have both scores: they would give no interval.
    """
    rows = [(j, h, cluster) for j, h, cluster in zip(judge, human, clusters, strict=True) if j is not None]
    left_out = len(clusters) - len(rows)
    with_both = {cluster for _, h, cluster in rows if h is not None}
    if len(with_both) < FEWEST_ITEMS:
        reason = f"{len(with_both)} human-scored items, {FEWEST_ITEMS} are the fewest"
        return Figure(None, None, None, len(rows), left_out, reason)
    added = [(1, j, 0, 0) if h is None else (1, j, 1, h - j) for j, h, _ in rows]
    sums = summed(np.array(added, float).T, [cluster for *_, cluster in rows])
    return sums_figure(sums, _corrected, len(rows), left_out, resamples, seed)


def _corrected(sums: Floats) -> Floats:
    # A resample without a human-scored row has no correction, so no value.
    correction = np.divide(sums[3], sums[2], out=np.full(sums.shape[1], np.nan), where=sums[2] > 0)
    return sums[1] / sums[0] + correction
