"""Whether two judges differ on the same items: the paired bootstrap of their difference, and the permutation test of none."""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from core.agreement import COLUMNS, HEADLINE, Figure, count_tables, figures, rows_as_cells
from core.bootstrap import Clusters, Floats
from core.contingency import CORRELATIONS
from core.errors import UserError
from core.exchange import Exchange, standardised

# Tau-c depends on how many labels a judge uses, so that two judges' verdicts cannot change places in it.
COMPARED = tuple(name for name in HEADLINE if name != "kendall_c")


class PairedDifference(NamedTuple):
    """A statistic of judge A minus that of judge B on the same items, and the permutation test of no difference."""

    difference: Figure
    p_value: float | None
    smallest_p: float

    def to_json(self) -> dict[str, Any]:
        """The fields by name, the difference as a figure."""
        return self._asdict() | {"difference": self.difference.to_json()}


def paired_difference(
    gold: Sequence[float],
    scores_a: Sequence[int | None],
    scores_b: Sequence[int | None],
    clusters: Sequence[Hashable] | None = None,
    statistic: str = "kappa",
    resamples: int = 10_000,
    seed: int = 0,
) -> PairedDifference:
    """A headline statistic of judge A minus judge B, with its paired bootstrap interval and `permutation_test`.

    Both judges' verdicts on a cluster are resampled together. The figure's ``n_unscored`` counts items that either judge
    left unscored. Raises UserError for an unknown statistic, DataError as `agreement` does.
    """
    exchange = _as_they_are(gold, scores_a, scores_b, clusters, statistic)
    rng = np.random.default_rng(seed)
    figure = Figure.from_draws(
        value=exchange.difference(exchange.clusters.observed),
        draws=[exchange.difference(tables) for tables in exchange.clusters.resample(resamples, rng)],
        reason=_reason(gold, scores_a, scores_b, statistic),
        n=len(gold),
        n_unscored=sum(a is None or b is None for a, b in zip(scores_a, scores_b, strict=True)),
    )
    p_value = permutation_test(gold, scores_a, scores_b, clusters, statistic, resamples, seed)
    return PairedDifference(figure, p_value, 1 / (1 + resamples))


def permutation_test(
    gold: Sequence[float],
    scores_a: Sequence[int | None],
    scores_b: Sequence[int | None],
    clusters: Sequence[Hashable] | None = None,
    statistic: str = "kappa",
    permutations: int = 10_000,
    seed: int = 0,
) -> float | None:
    """The two-sided p-value of no difference between two judges, None where their difference is undefined.

    The judges' verdicts change places at random, all those of a cluster together: p = (1 + permutations whose difference is
    at least as far from zero) / (1 + permutations). A correlation exchanges standardised verdicts (see core.exchange).
    Raises as `paired_difference` does.
    """
    exchange = _as_they_are(gold, scores_a, scores_b, clusters, statistic)
    if _reason(gold, scores_a, scores_b, statistic):
        return None
    if statistic in CORRELATIONS:
        exchange = standardised(gold, scores_a, scores_b, clusters, statistic)
    observed = abs(exchange.difference(exchange.clusters.observed)[0])
    # An undefined permuted difference counts against the finding; equal differences may part by rounding.
    as_far = sum(
        int((~(np.abs(exchange.difference(tables)) < observed - 1e-12)).sum())
        for tables in exchange.clusters.swap(permutations, np.random.default_rng(seed))
    )
    return (1 + as_far) / (1 + permutations)


def _as_they_are(
    gold: Sequence[float],
    scores_a: Sequence[int | None],
    scores_b: Sequence[int | None],
    clusters: Sequence[Hashable] | None,
    statistic: str,
) -> Exchange:
    """Both judges' own tables, and the statistic's difference between them."""
    if statistic not in COMPARED:
        raise UserError(f"statistic {statistic!r} cannot be compared; use one of {', '.join(COMPARED)}")
    levels, cells_a = rows_as_cells(gold, scores_a, clusters)
    _, cells_b = rows_as_cells(gold, scores_b, clusters)
    half = len(levels) * COLUMNS

    def difference(tables: Floats) -> Floats:
        a, b = count_tables(tables[:half], levels), count_tables(tables[half:], levels)
        return a.value(statistic) - b.value(statistic)

    cells = np.stack([cells_a, cells_b + half], axis=1)
    return Exchange(Clusters.from_rows(cells, clusters, 2 * half), difference)


def _reason(
    gold: Sequence[float], scores_a: Sequence[int | None], scores_b: Sequence[int | None], statistic: str
) -> str | None:
    """Why the difference is undefined, or None where it is not."""
    own = {
        judge: figures(gold, scores, [statistic], resamples=0)[statistic]
        for judge, scores in (("A", scores_a), ("B", scores_b))
    }
    reasons = [f"judge {judge}: {figure.reason}" for judge, figure in own.items() if figure.value is None]
    return "; ".join(reasons) or None
