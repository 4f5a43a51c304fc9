"""What 21 strengths cost on COMET beside one unsteered pass, on the CPU, both over the same texts in one run.

Run as: python tests/benchmarks/bench_comet.py [LAYERS [HIDDEN [TEXTS]]]

A checkpoint of random weights in wmt22-comet-da's proportions (feed-forward 4 times the width, an estimator of 3 times and once
the width, sparsemax mix), summaries of some 120 tokens and references of 60. A pass is CometMetric.score by a new metric, so
that nothing is embedded before. Wanted: at most 1.2 for vectors and for maps, on one steered side and on both.
"""

import sys
import tempfile
from pathlib import Path
from random import Random
from time import perf_counter

import torch

from eval.comet import Comet
from eval.comet.metric import CometMetric, CometPrepared, Steered
from eval.steering.directions import POOLED_EMBEDDING, Directions, LinearMap
from eval.steering.sweep import UNSTEERED, Sweep
from tests.eval import comet_checkpoint
from tests.eval.comet_checkpoint import LETTERS

VECTOR = tuple(round(0.03 * step, 2) for step in range(-10, 11) if step)
MAP = tuple(step / 20 for step in range(1, 21))
SUMMARY, REFERENCE = 120, 60
ROUNDS = 5


def main() -> None:
    layers, hidden, count = (int(word) for word in [*sys.argv[1:], *["6", "256", "16"][len(sys.argv) - 1 :]])
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        comet = Comet.from_pretrained(write(Path(folder) / "comet", layers, hidden), device="cpu")
    texts = draw_texts(count)
    found = Directions.from_vectors(
        {0: torch.randn(hidden)},
        {0: LinearMap(torch.randn(hidden, hidden // 2), torch.randn(hidden // 2, hidden))},
        mean_norms={0: 1.0},
        hook_point=POOLED_EMBEDDING,
    )
    sweeps = {"vector": Sweep(found, VECTOR, "vector", "relative"), "map": Sweep(found, MAP, "map")}
    sides: tuple[Steered, ...] = ("mt", "both")
    ratios = {(name, side): ratio(comet, texts, sweep, side) for name, sweep in sweeps.items() for side in sides}
    size = f"{layers} layers × hidden {hidden}, {count} texts"
    listed = ", ".join(f"{name} on {side} {value:.3f}" for (name, side), value in ratios.items())
    print(f"{size}: 21 strengths beside one unsteered pass: {listed}")
    assert max(ratios.values()) <= 1.2


def write(folder: Path, layers: int, hidden: int) -> Path:
    """A checkpoint of that size."""
    shape = {
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "intermediate_size": 4 * hidden,
        "num_attention_heads": max(1, hidden // 64),
        "max_position_embeddings": 514,
    }
    return comet_checkpoint.write(folder, shape=shape, hidden_sizes=[3 * hidden, hidden])


def draw_texts(count: int) -> list[CometPrepared]:
    """Summaries and references of random letters, a token each."""
    draw = Random(0)

    def text(tokens: int) -> str:
        return "".join(draw.choice(LETTERS[1:]) for _ in range(tokens + draw.randint(-tokens // 4, tokens // 4)))

    return [CometPrepared(text(SUMMARY), text(REFERENCE), False) for _ in range(count)]


def ratio(comet: Comet, texts: list[CometPrepared], sweep: Sweep, side: Steered) -> float:
    """Seconds of the unsteered pass and 20 steered strengths over those of the unsteered pass, by the best round of each."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for place, sweeps in enumerate(([UNSTEERED], [UNSTEERED, sweep])):
            metric = CometMetric(comet, side)
            before = perf_counter()
            metric.score(texts, sweeps)
            seconds[place].append(perf_counter() - before)
    return min(seconds[1]) / min(seconds[0])


if __name__ == "__main__":
    main()
