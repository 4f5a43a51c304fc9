"""Many tests at once: p-values held to one family-wise error rate, and ranks in clusters that the tests can tell apart."""

import math
from collections.abc import Callable, Sequence
from itertools import accumulate


def holm(p: Sequence[float | None]) -> list[float | None]:
    """P-values corrected for the number of tests by Holm's step-down method (Holm 1979), in the order given.

    The k-th smallest of m becomes the largest of (m − i + 1) · p₍ᵢ₎ over i ≤ k, and at most 1. A None (no test) stays None and
    is not counted in m. Raises ValueError for a value outside 0 to 1.
    """
    tests = sorted((value, place) for place, value in enumerate(p) if value is not None)
    for value, place in tests:
        if not 0 <= value <= 1 or math.isnan(value):
            raise ValueError(f"p[{place}] is {value}, no probability")
    scaled = (min(1.0, (len(tests) - before) * value) for before, (value, _) in enumerate(tests))
    corrected: list[float | None] = [None] * len(p)
    for (_, place), value in zip(tests, accumulate(scaled, max), strict=True):
        corrected[place] = value
    return corrected


def rank_clusters(order: Sequence[str], significant: Callable[[str, str], bool]) -> list[int]:
    """The cluster of each name of ``order`` (best first), counted from 1.

    A cluster ends where every name above is significantly better than every name below, as in the WMT rankings (Bojar et
    al. 2016, Findings of WMT16). ``significant(a, b)`` says whether a, which stands above b, is significantly better.
    """
    clusters: list[int] = []
    for place in range(len(order)):
        boundary = place > 0 and all(significant(a, b) for a in order[:place] for b in order[place:])
        clusters.append((clusters[-1] if clusters else 1) + boundary)
    return clusters
