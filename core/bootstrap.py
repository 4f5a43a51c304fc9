"""Resampling of clusters of items (all rows of one prompt or document), by count tables instead of rows."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]

# Numbers held at once in one array of a chunk of resamples: 1.6 MB, so that a few of them stay in a core's cache.
CHUNK_NUMBERS = 200_000


@dataclass(frozen=True)
class Clusters:
    """Clusters of rows as what each adds to a flat count table.

    Clusters that add the same are interchangeable, so each such pattern is kept once, with its number of clusters: with one
    row a cluster, a resample is then one multinomial draw over the cells of the table.
    ``patterns``: sparse counts [cells, P]; ``sizes``: clusters of each pattern, [P].
    """

    patterns: sparse.csr_array
    sizes: NDArray[np.int64]

    @classmethod
    def from_rows(cls, cells: NDArray[np.int64], clusters: Sequence[Hashable] | None, n_cells: int) -> Self:
        """Clusters of rows, each of which adds one to its ``cells`` [rows, k]. Without names, each row is a cluster."""
        members: dict[Hashable, list[int]] = defaultdict(list)
        for cluster, row in zip(range(len(cells)) if clusters is None else clusters, cells.tolist(), strict=True):
            members[cluster] += row
        sizes = Counter(tuple(sorted(member)) for member in members.values())
        row_index = [cell for pattern in sizes for cell in pattern]
        column_index = np.repeat(np.arange(len(sizes)), [len(pattern) for pattern in sizes])
        entries = (np.ones(len(row_index)), (np.array(row_index, int), column_index))
        patterns = sparse.coo_array(entries, shape=(n_cells, len(sizes))).tocsr()
        return cls(patterns, np.array(list(sizes.values()), np.int64))

    @property
    def n(self) -> int:
        """Number of clusters."""
        return int(self.sizes.sum())

    @property
    def observed(self) -> Floats:
        """The table of all rows, [cells, 1]."""
        return self.patterns @ self.sizes[:, None].astype(float)

    def resample(self, resamples: int, rng: np.random.Generator) -> Iterator[Floats]:
        """Tables of clusters drawn with replacement, [cells, b], in chunks; none where there are fewer than two clusters."""
        # A multinomial draw costs by the pattern, an index draw by the cluster and some five times less.
        draw, width = (_draw_sizes, 1) if 5 * len(self.sizes) < self.n else (_draw_clusters, self.n)
        for size in self._chunks(resamples if self.n > 1 else 0, width):
            yield self.patterns @ draw(self.sizes, size, rng).astype(float)

    def swap(self, draws: int, rng: np.random.Generator) -> Iterator[Floats]:
        """Tables where each cluster exchanges the two halves of its cells with probability ½: [cells, b], in chunks."""
        half = self.patterns.shape[0] // 2
        change = self.patterns[half:] - self.patterns[:half]
        for size in self._chunks(draws):
            moved = change @ _half_of(self.sizes, size, rng)
            yield self.observed + np.concatenate([moved, -moved])

    def _chunks(self, draws: int, width: int = 1) -> Iterator[int]:
        chunk = max(1, CHUNK_NUMBERS // max(*self.patterns.shape, width, 1))
        for start in range(0, draws, chunk):
            yield min(chunk, draws - start)


def percentile_interval(draws: Floats) -> tuple[float, float] | None:
    """The 95 % percentile interval (Efron 1979) over the resamples with a value (not NaN); None where there is none."""
    defined = draws[~np.isnan(draws)]
    if not defined.size:
        return None
    low, high = np.percentile(defined, [2.5, 97.5])
    return float(low), float(high)


def _draw_sizes(sizes: NDArray[np.int64], resamples: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """How often each pattern is drawn, [P, resamples]."""
    n = sizes.sum()
    return rng.multinomial(n, sizes / n, size=resamples).T


def _draw_clusters(sizes: NDArray[np.int64], resamples: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The same by drawing each cluster."""
    patterns, n = len(sizes), int(sizes.sum())
    drawn = rng.integers(0, n, size=(n, resamples))
    if patterns < n:
        drawn = np.repeat(np.arange(patterns), sizes)[drawn]
    drawn *= resamples
    drawn += np.arange(resamples)
    return np.bincount(drawn.ravel(), minlength=patterns * resamples).reshape(patterns, resamples)


def _half_of(sizes: NDArray[np.int64], draws: int, rng: np.random.Generator) -> Floats:
    """How many of each pattern's clusters are chosen where each is with probability ½, [P, draws]."""
    chosen = np.empty((len(sizes), draws))
    once = sizes == 1
    chosen[once] = rng.integers(0, 2, (np.count_nonzero(once), draws), np.int8)
    chosen[~once] = rng.binomial(sizes[~once, None], 0.5, (np.count_nonzero(~once), draws))
    return chosen
