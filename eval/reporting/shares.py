"""How far a judge's scores lie from gold, as shares that add up to one, and where a judge stands among the others."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Shares(NamedTuple):
    """Shares of scored verdicts by score − gold: two or more below, one below, equal, one above, two or more above."""

    lower_by_2: float
    lower_by_1: float
    equal: float
    higher_by_1: float
    higher_by_2: float


def differences_of(figures: Mapping[str, Any]) -> Shares | None:
    """The shares of a group of eval.agree; None where gold is not an integer or nothing is scored."""
    counts = figures["differences"]
    total = sum(counts.values()) if counts else 0
    if not total:
        return None
    by = {int(difference): count / total for difference, count in counts.items()}
    above, below = (sum(by.get(sign * size, 0) for size in (2, 3, 4)) for sign in (1, -1))
    return Shares(below, by.get(-1, 0), by.get(0, 0), by.get(1, 0), above)


def rank_of(metrics: Mapping[str, Any], judge: str, group: str = "all") -> dict[str, Any] | None:
    """A judge's rank and cluster, by kappa where it is ranked so, else by Pearson; None where judges are not ranked."""
    ranked = [row for row in metrics.get("ranks", ()) if row["group"] == group]
    for statistic in ("kappa", "pearson"):
        for row in ranked:
            if row["statistic"] == statistic:
                return next((one for one in row["judges"] if one["name"] == judge), None)
    return None


def cluster(number: int) -> str:
    """A cluster as a letter, A the best; after Z its number."""
    return chr(ord("A") + number - 1) if number <= 26 else str(number)
