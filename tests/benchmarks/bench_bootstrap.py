"""How many times faster the bootstrap of linear kappa is than a loop over scikit-learn, and what all figures cost.

Run as: python -m tests.benchmarks.bench_bootstrap
"""

from collections.abc import Callable
from time import perf_counter

import numpy as np
from sklearn.metrics import cohen_kappa_score

from core.agreement import agreement, figures

ITEMS = 500
RESAMPLES = 10_000
LOOPED = 200


def main() -> None:
    for rows_per_item in (1, 5):
        gold, scores, items = noisy_judge(rows_per_item)
        loop = sklearn_loop(np.array(gold), np.array(scores), rows_per_item) * RESAMPLES / LOOPED
        ours = best_of_three(lambda: figures(gold, scores, ["kappa"], items, RESAMPLES))  # noqa: B023
        everything = best_of_three(lambda: agreement(gold, scores, items, RESAMPLES))  # noqa: B023
        print(
            f"{ITEMS} items of {rows_per_item} rows, {RESAMPLES} resamples: scikit-learn loop {loop:.1f} s (scaled from "
            f"{LOOPED}); kappa {ours * 1e3:.0f} ms, {loop / ours:.0f} times faster; all figures {everything * 1e3:.0f} ms, "
            f"{loop / everything:.0f} times faster than kappa alone in the loop"
        )


def noisy_judge(rows_per_item: int) -> tuple[list[int], list[int], list[int]]:
    rng = np.random.default_rng(0)
    gold = np.repeat(rng.integers(1, 6, ITEMS), rows_per_item)
    scores = np.clip(gold + rng.integers(-2, 3, len(gold)), 1, 5)
    return gold.tolist(), scores.tolist(), np.repeat(np.arange(ITEMS), rows_per_item).tolist()


def sklearn_loop(gold: np.ndarray, scores: np.ndarray, rows_per_item: int) -> float:
    rng = np.random.default_rng(0)
    start = perf_counter()
    for _ in range(LOOPED):
        items = rng.integers(0, ITEMS, ITEMS)
        rows = (items[:, None] * rows_per_item + np.arange(rows_per_item)).ravel()
        cohen_kappa_score(gold[rows], scores[rows], labels=[1, 2, 3, 4, 5], weights="linear")
    return perf_counter() - start


def best_of_three(work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(3):
        start = perf_counter()
        work()
        seconds.append(perf_counter() - start)
    return min(seconds)


if __name__ == "__main__":
    main()
