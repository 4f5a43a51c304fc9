"""What a map of low rank saves over the dense one, and the solver's share of learning vectors and maps, on the CPU.

Run as: python tests/benchmarks/bench_directions.py [SENTENCES [LAYERS [HIDDEN]]]

- A map of rank 500 at hidden 4096 against the same map as one matrix, the two in turn on the same states. Wanted: 2 or more.
- Maps of one kind from random states of SENTENCES × HIDDEN at each of LAYERS, against encoding as many source sentences of
  some 30 tokens, and as many of the pivot, with a model of that size built from a config. Wanted: under 10 % in all kinds.
The default 48 × 6 × 512 takes seconds; the size that is asked for is 500 24 1024, some 10 minutes on one thread.
"""

import sys
from random import Random
from time import perf_counter

import torch
from transformers import AutoModelForCausalLM
from transformers.models.llama import LlamaConfig

from eval.steering.directions import LinearMap
from eval.steering.learning import SentenceEncoder
from eval.steering.maps import MAP_KINDS, MapKind, fit_maps

RANK, WIDTH, TOKENS, ROUNDS = 500, 4096, 512, 5
SENTENCE = 30
VOCABULARY = 1000


class Numbers:
    """A tokenizer of sentences that are numbers, so that each has as many tokens as it should."""

    all_special_ids: tuple[int, ...] = ()

    def __call__(self, texts: list[str]) -> dict[str, list[list[int]]]:
        return {"input_ids": [[int(word) for word in text.split()] for text in texts]}


def main() -> None:
    sentences, layers, hidden = (int(word) for word in [*sys.argv[1:], *["48", "6", "512"][len(sys.argv) - 1 :]])
    torch.manual_seed(0)
    ratio = apply_ratio()
    print(f"rank {RANK} at hidden {WIDTH}, {TOKENS} positions: {ratio:.2f} times the speed of the dense map")
    encoding = 2 * encode_seconds(sentences, layers, hidden)
    size = f"{sentences} pairs, {layers} layers × hidden {hidden}"
    shares = {kind: solve_seconds(kind, sentences, layers, hidden) / encoding for kind in MAP_KINDS}
    listed = ", ".join(f"{kind} {share:.1%}" for kind, share in shares.items())
    print(f"{size}: encoding {encoding:.1f} s; the solver beside it: {listed}")
    assert ratio >= 2
    assert max(shares.values()) < 0.1


def apply_ratio() -> float:
    """How many times as fast the factors are as the matrix, by the best round of each."""
    low = LinearMap(torch.randn(WIDTH, RANK), torch.randn(RANK, WIDTH), torch.randn(WIDTH), identity=True)
    dense = (low.left @ low.right + torch.eye(WIDTH)).contiguous()
    states = torch.randn(TOKENS, WIDTH)
    bias = low.bias if low.bias is not None else torch.zeros(WIDTH)
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for place, apply in enumerate((low, lambda hidden: hidden @ dense.T + bias)):
            before = perf_counter()
            apply(states)
            seconds[place].append(perf_counter() - before)
    return min(seconds[1]) / min(seconds[0])


def encode_seconds(sentences: int, layers: int, hidden: int) -> float:
    """Seconds to encode so many sentences of some 30 tokens with a Llama of that size, as eval.directions does."""
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=hidden,
        intermediate_size=4 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=hidden // 64,
        num_key_value_heads=hidden // 64,
    )
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    draw = Random(0)
    texts = [
        " ".join(str(draw.randrange(3, VOCABULARY)) for _ in range(draw.randint(SENTENCE // 2, SENTENCE * 3 // 2)))
        for _ in range(sentences)
    ]
    encode = SentenceEncoder(model, Numbers(), list(range(layers)), "mean", batch_size=16)
    encode(texts[:1])  # what is loaded late is loaded
    before = perf_counter()
    encode(texts)
    return perf_counter() - before


def solve_seconds(kind: MapKind, sentences: int, layers: int, hidden: int) -> float:
    """Seconds to learn the vectors and one map of this kind for each layer from random states."""
    states = torch.randn(2, sentences, layers, hidden)
    before = perf_counter()
    for layer in range(layers):
        source, pivot = states[0, :, layer], states[1, :, layer]
        pivot.double().mean(0).sub(source.double().mean(0))
        fit_maps([kind], source, pivot)
    return perf_counter() - before


if __name__ == "__main__":
    main()
