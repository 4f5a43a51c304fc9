"""How many times faster the bootstrap of linear kappa is than a loop over scikit-learn, and what all figures cost.

Run as: python -m tests.benchmarks.bench_bootstrap
Ends with status 1 where it is less than 200 times with one row an item or 25 times with five, or where values differ.
"""

import sys
from collections.abc import Callable
from time import process_time

import numpy as np
from sklearn.metrics import cohen_kappa_score

from core.agreement import agreement, figures

ITEMS = 500
RESAMPLES = 10_000
LOOPED = 200
# Rows an item has, and how many times faster kappa must be.
GOALS = {1: 200, 5: 25}


def main() -> None:
    missed = [rows_per_item for rows_per_item, goal in GOALS.items() if times_faster(rows_per_item) < goal]
    if missed:
        sys.exit(f"missed with {', '.join(map(str, missed))} rows an item")


def times_faster(rows_per_item: int) -> float:
    gold, scores, items = noisy_judge(rows_per_item)
    loop = sklearn_loop(np.array(gold), np.array(scores), rows_per_item) * RESAMPLES / LOOPED
    ours = best_of_three(lambda: figures(gold, scores, ["kappa"], items, RESAMPLES))
    everything = best_of_three(lambda: agreement(gold, scores, items, RESAMPLES))
    print(
        f"{ITEMS} items of {rows_per_item} rows, {RESAMPLES} resamples: scikit-learn loop {loop:.1f} s (scaled from "
        f"{LOOPED}); kappa {ours * 1e3:.0f} ms, {loop / ours:.0f} times faster (goal {GOALS[rows_per_item]}); all figures "
        f"{everything * 1e3:.0f} ms, {loop / everything:.0f} times faster than kappa alone in the loop"
    )
    return loop / ours


def noisy_judge(rows_per_item: int) -> tuple[list[int], list[int], list[int]]:
    rng = np.random.default_rng(0)
    gold = np.repeat(rng.integers(1, 6, ITEMS), rows_per_item)
    scores = np.clip(gold + rng.integers(-2, 3, len(gold)), 1, 5)
    return gold.tolist(), scores.tolist(), np.repeat(np.arange(ITEMS), rows_per_item).tolist()


def sklearn_loop(gold: np.ndarray, scores: np.ndarray, rows_per_item: int) -> float:
    """Seconds of LOOPED resamples, whose values are then compared with ours."""
    rng = np.random.default_rng(0)
    items = rng.integers(0, ITEMS, (LOOPED, ITEMS))
    resampled = (items[:, :, None] * rows_per_item + np.arange(rows_per_item)).reshape(LOOPED, -1)
    start = process_time()  # of this process alone, so that a busy machine changes the ratio little
    values = [
        cohen_kappa_score(gold[rows], scores[rows], labels=[1, 2, 3, 4, 5], weights="linear") for rows in resampled
    ]
    seconds = process_time() - start
    for rows, value in zip(resampled, values, strict=True):
        ours = figures(gold[rows].tolist(), scores[rows].tolist(), ["kappa"], resamples=0)["kappa"].value
        if ours is None or abs(ours - value) > 1e-12:
            sys.exit(f"kappa of a resample is {ours}, by scikit-learn {value}")
    return seconds


def best_of_three(work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(3):
        start = process_time()
        work()
        seconds.append(process_time() - start)
    return min(seconds)


if __name__ == "__main__":
    main()
