"""What length-grouped batches save over random padded ones (the paper's recipe), on real Recon-English lengths.

Run as: python -m tests.benchmarks.bench_length_grouping [BATCHES]

Useful tokens are counted over all 500 records at per-device batch 4. Time and loss come from training two LoRA adapters of
the embedded 270M model on the same records, one in grouped and one in random batches, step by step in turn, so that both
meet the machine in the same state. Peak memory is that of a process of its own on each order's largest batch, with
gradient checkpointing as the configs have it.
"""

import multiprocessing
import resource
import sys
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import torch
import trl.trainer.utils
from datasets import Dataset
from peft import LoraConfig, get_peft_model

from core.jsonl import read_jsonl
from core.prompt_spec import PromptSpec
from core.records import JudgeRecord, parse_row
from train.dataset import MASKED, encode
from train.embedded import embedded_model
from train.load import load_model, load_tokenizer
from train.sampling import LengthGroupedOrder, lengths_of

DATA = Path(__file__).parents[3] / "shared" / "data" / "recon_en.jsonl"
BATCH = 4
ORDERS = ("grouped", "random")


class Measured(NamedTuple):
    """Seconds, useful tokens, and the loss summed over ``learned`` tokens."""

    seconds: float = 0.0
    useful: int = 0
    loss: float = 0.0
    learned: int = 0


def main() -> None:
    if not DATA.is_file():
        print(f"real data absent: no {DATA.name} in ../shared/data beside the checkout")
        return
    dataset = tokenized()
    lengths = lengths_of(dataset)
    for name in ORDERS:
        shares = [useful_share(lengths, batches(name, lengths, epoch)) for epoch in range(20)]
        print(
            f"{name}: {np.mean(shares):.1%} of the tokens useful (20 epochs of {len(lengths)} records, batch {BATCH})"
        )
    for name in ORDERS:  # first, for what a training takes is not given back
        largest = max(batches(name, lengths), key=lambda rows: lengths[rows].max())
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            peak = pool.apply(peak_memory, (dataset.select(largest).to_dict(),))
        print(f"{name}: peak {peak / 1e9:.1f} GB on its largest batch, {BATCH} x {lengths[largest].max()} tokens")
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    by_length = sorted(batches("grouped", lengths), key=lambda rows: int(lengths[rows].sum()))
    grouped = [by_length[len(by_length) * (2 * at + 1) // (2 * count)] for at in range(count)]  # their quantiles
    same = np.random.default_rng(0).permutation(np.concatenate(grouped))
    chosen = {"grouped": grouped, "random": list(same.reshape(-1, BATCH))}
    measured = train_in_turn(dataset, chosen)
    costs = {name: 1000 * found.seconds / found.useful for name, found in measured.items()}
    for name, found in measured.items():
        share = useful_share(lengths, chosen[name])
        print(
            f"{name}: {costs[name]:.2f} s for 1,000 useful tokens ({share:.0%} useful), loss {found.loss / found.learned:.3f}"
        )
    print(
        f"grouped takes {costs['random'] / costs['grouped']:.2f} times less time ({count} batches, {len(same)} records)"
    )


def tokenized() -> Dataset:
    rows = [parse_row({"language": "en", **row}, JudgeRecord, f"line {number}") for number, row in read_jsonl(DATA)]
    return encode(rows, load_tokenizer(embedded_model(), "gemma"), PromptSpec(), "benchmark").dataset


def batches(name: str, lengths: np.ndarray, epoch: int = 0) -> list[np.ndarray]:
    grouped = LengthGroupedOrder(lengths, BATCH, seed=0, epoch=lambda: epoch)
    order = (
        np.array(list(grouped)) if name == "grouped" else np.random.default_rng((1, epoch)).permutation(len(lengths))
    )
    return np.split(order, range(BATCH, len(order), BATCH))


def useful_share(lengths: np.ndarray, rows: list[np.ndarray]) -> float:
    return float(sum(lengths[batch].sum() for batch in rows) / sum(lengths[batch].max() * len(batch) for batch in rows))


def train_in_turn(dataset: Dataset, chosen: dict[str, list[np.ndarray]]) -> dict[str, Measured]:
    model, optimizers = adapters()
    measured = dict.fromkeys(ORDERS, Measured())
    step(model, dataset[chosen["grouped"][0].tolist()])  # warm up
    for pair in zip(*(chosen[name] for name in ORDERS), strict=True):
        for name, rows in zip(ORDERS, pair, strict=True):
            model.set_adapter(name)
            start = perf_counter()
            loss, learned = step(model, dataset[rows.tolist()])
            optimizers[name].step()
            optimizers[name].zero_grad()
            seconds = perf_counter() - start
            useful = sum(len(ids) for ids in dataset[rows.tolist()]["input_ids"])
            measured[name] = Measured(*map(sum, zip(measured[name], (seconds, useful, loss, learned), strict=True)))
    return measured


def adapters() -> tuple[Any, dict[str, torch.optim.Optimizer]]:
    """The model with an adapter for each order, equal at the start, and their optimizers."""
    base = load_model(embedded_model(), dtype="bfloat16", device="cpu", attn_implementation="sdpa").train()
    trl.trainer.utils._use_triton = lambda device: True  # masked positions are not scored; see train.trainer
    trl.trainer.utils.add_fused_lm_head(base)
    lora = LoraConfig(r=16, lora_alpha=32, target_modules="all-linear")
    torch.manual_seed(0)
    model = get_peft_model(base, lora, adapter_name=ORDERS[0])
    torch.manual_seed(0)
    model.add_adapter(ORDERS[1], lora)
    named = {name: [weight for key, weight in model.named_parameters() if f".{name}." in key] for name in ORDERS}
    return model, {name: torch.optim.AdamW(weights, lr=1e-3) for name, weights in named.items()}


def step(model: Any, rows: dict[str, list[list[int]]]) -> tuple[float, int]:
    """Forward and backward on one padded batch, with the head as train.trainer has it."""
    longest = max(map(len, rows["input_ids"]))
    fill = {"input_ids": (rows["input_ids"], 0), "labels": (rows["labels"], MASKED)}
    batch = {
        name: torch.tensor([row + [pad] * (longest - len(row)) for row in given]) for name, (given, pad) in fill.items()
    }
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows["input_ids"]])
    loss = model(**batch, attention_mask=mask, fused_lm_head=True).loss
    loss.backward()
    learned = int((batch["labels"] != MASKED).sum())
    return float(loss.detach()) * learned, learned


def peak_memory(rows: dict[str, list[list[int]]]) -> int:
    model, _ = adapters()
    model.enable_input_require_grads()
    model.gradient_checkpointing_enable()
    step(model, rows)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
