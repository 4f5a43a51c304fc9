"""What one prefix for all strengths saves in GPTScore: 21 strengths on a document of 600 and a summary of 120 tokens.

Run as: python tests/benchmarks/bench_sweep.py [pico|embedded [ROUNDS]]

Against one pass over the whole text for each strength; both sides compute logits of the summary's tokens alone. ``pico`` is a
Llama of 4 layers × 256 with a vocabulary of 1,000, some 30 s; ``embedded`` has the shapes of Gemma 3 270M and its vocabulary
of 262,144, some 80 s a round on a quiet core and 2.1 GB. Both are built from a config, in float32, and run on one thread, whose
own time is taken, the median round. Other programs that crowd the processor's cache still slow the larger batches more: judge
it on a quiet machine. Wanted: .85 of the speed-up that the multiply-adds of layers, attention and head allow, and the same
scores to 1e-4.
"""

import sys
from statistics import median
from time import process_time
from typing import Any

import torch
from transformers import AutoModelForCausalLM
from transformers.models.gemma3 import Gemma3TextConfig
from transformers.models.llama import LlamaConfig

from eval.gptscore import GPTScore, PreparedSummary, Prompted, mean_log_probability
from eval.steering.directions import Directions
from eval.steering.hooks import steer
from eval.steering.sweep import UNSTEERED, Sweep

DOCUMENT, SUMMARY = 600, 120
STRENGTHS = [step / 100 for step in range(-30, 31, 3)]
ROWS = {"pico": 8, "embedded": 4}


def main() -> None:
    size, rounds = [*sys.argv[1:], *["pico", "9"][len(sys.argv) - 1 :]]
    torch.set_num_threads(1)  # the time of one thread is what it works, however busy the machine
    torch.manual_seed(0)
    model, text = build(size), made_up_text()
    width = model.config.hidden_size
    vectors = {layer: torch.randn(width) for layer in range(model.config.num_hidden_layers)}
    directions = Directions.from_vectors(vectors, mean_norms=dict.fromkeys(vectors, 10.0))
    metric = GPTScore(model, None, batch_size=ROWS[size])
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(int(rounds)):
        scores = []
        for place, score in enumerate((shared, separate)):
            before = process_time()
            scores.append(score(metric, text, directions))
            seconds[place].append(process_time() - before)
    measured = median(alone / together for together, alone in zip(*seconds, strict=True))
    allowed = multiply_adds(model, True) / multiply_adds(model, False)
    apart = max(abs(one - other) for one, other in zip(*scores, strict=True))
    print(
        f"{size}: {len(STRENGTHS)} strengths in {min(seconds[0]):.1f} s, in passes of their own {min(seconds[1]):.1f} s"
    )
    print(f"speed-up {measured:.2f}, {measured / allowed:.0%} of the {allowed:.2f} allowed; scores {apart:.0e} apart")
    print(f"scores go from {min(scores[0]):.3f} to {max(scores[0]):.3f}")
    assert apart < 1e-4
    assert measured >= 0.85 * allowed


def build(size: str) -> Any:
    """A model of random weights."""
    shapes = {
        "pico": lambda: LlamaConfig(
            vocab_size=1000,
            hidden_size=256,
            intermediate_size=1024,
            num_hidden_layers=4,
            num_attention_heads=4,
            num_key_value_heads=4,
        ),
        "embedded": lambda: Gemma3TextConfig(
            vocab_size=262_144,
            hidden_size=640,
            intermediate_size=2048,
            num_hidden_layers=18,
            num_attention_heads=4,
            num_key_value_heads=1,
            head_dim=256,
            sliding_window=512,
        ),
    }
    return AutoModelForCausalLM.from_config(shapes[size](), dtype=torch.float32).eval()


def made_up_text() -> Prompted:
    """A document and a summary of token ids that both vocabularies have."""
    ids = torch.randint(3, 1000, (DOCUMENT + SUMMARY,)).tolist()
    return Prompted(ids[:DOCUMENT], ids[DOCUMENT:], False)


def shared(metric: GPTScore, text: Prompted, directions: Directions) -> list[float]:
    """The scores as eval.summaries has them."""
    steered = tuple(strength for strength in STRENGTHS if strength)
    sweeps = [UNSTEERED, Sweep(directions, steered, "vector", "relative")]
    [[plain, moved]] = metric.score([PreparedSummary((text,))], sweeps)
    found = dict(zip(steered, moved["gptscore"], strict=True)) | {0.0: plain["gptscore"][0]}
    return [float(found[strength] or 0) for strength in STRENGTHS]


def separate(metric: GPTScore, text: Prompted, directions: Directions) -> list[float]:
    """The scores from one pass over document and summary for each strength."""
    ids = torch.tensor([text.prompt + text.target])
    span = (DOCUMENT - 1, DOCUMENT + SUMMARY - 1)
    found = []
    for strength in STRENGTHS:
        with torch.inference_mode(), steer(metric.model, directions, strength, positions=[span], scale="relative"):
            logits = metric.model(input_ids=ids, use_cache=False, logits_to_keep=SUMMARY + 1).logits[0, :-1]
            found.append(mean_log_probability(logits, text.target))
    return found


def multiply_adds(model: Any, whole: bool) -> float:
    """Of all strengths, in whole passes or after one prefix: layers, attention (each token on those up to it) and head."""
    config = model.config
    head = model.get_output_embeddings().weight.numel()
    layers = sum(p.numel() for name, p in model.named_parameters() if ".layers." in name and p.dim() == 2)
    width = config.num_attention_heads * getattr(config, "head_dim", config.hidden_size // config.num_attention_heads)
    seen = 2 * width * config.num_hidden_layers  # keys and values of one position
    length = DOCUMENT + SUMMARY
    prefix = DOCUMENT * layers + seen * DOCUMENT * DOCUMENT / 2
    after = SUMMARY * (layers + head) + seen * (length * length - DOCUMENT * DOCUMENT) / 2
    return len(STRENGTHS) * (prefix + after) if whole else prefix + len(STRENGTHS) * after


if __name__ == "__main__":
    main()
