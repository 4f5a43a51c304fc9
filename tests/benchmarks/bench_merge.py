"""What merge.run costs beside mergekit-yaml on the same merge of six copies of the embedded 270M model: time and memory.

Run as: python -m tests.benchmarks.bench_merge
or, the paper's other merge (many minutes): python -m tests.benchmarks.bench_merge --method ties

The copies differ by noise in every tensor, so that nothing can be passed over as unchanged. Each merge has a process of its
own; imports are not timed. Prints ratios of merges made one after the other, the better of each kind: of wall time, and of
processor time, which a busy machine changes less. Fails where in processor time merging takes more than 1.1 times
mergekit-yaml's or the checks more than the merge, or where merging takes more memory.
"""

import argparse
import multiprocessing
import os
import resource
import shutil
import sys
import tempfile
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

import yaml

LANGUAGES = ("bn", "de", "fr", "hi", "te", "ur")
NOISE = 1e-3
PARAMETERS: dict[str, dict[str, float]] = {"linear": {"weight": 1.0}, "ties": {"weight": 0.15, "density": 0.5}}
_PROCESSES = multiprocessing.get_context("spawn")


class Seconds(NamedTuple):
    wall: float
    processor: float

    def __add__(self, other: Any) -> "Seconds":
        return Seconds(self.wall + other.wall, self.processor + other.processor)


class Cost(NamedTuple):
    """Seconds (wall, processor) and the most memory (GiB) of a merge; ``checks`` are the parts of ours."""

    merge: Seconds
    memory: float
    checks: dict[str, Seconds]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", choices=sorted(PARAMETERS), default="linear")
    parser.add_argument("--repeat", type=int, default=2, help="merges of each kind, of which the better counts")
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copies = make_copies(folder / "copies")
        costs: dict[str, list[Cost]] = {"ours": [], "theirs": []}
        for _ in range(flags.repeat):
            for kind, work in (("theirs", theirs), ("ours", ours)):
                costs[kind].append(in_own_process(work, flags.method, copies, folder / kind))
        assert (folder / "ours/model.safetensors").read_bytes() == (folder / "theirs/model.safetensors").read_bytes()
    report(flags.method, *(min(costs[kind], key=lambda cost: cost.merge.processor) for kind in ("ours", "theirs")))


def report(method: str, ours: Cost, theirs: Cost) -> None:
    checks = sum(ours.checks.values(), Seconds(0, 0))
    trial = ours.checks["trial"]
    parts = ", ".join(f"{name} {seconds.processor:.1f}" for name, seconds in ours.checks.items())
    print(
        f"{method} of {len(LANGUAGES)}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, equal bit for bit\n"
        f"merge: wall {ours.merge.wall:.1f} s, mergekit-yaml {theirs.merge.wall:.1f} s, ratio "
        f"{ours.merge.wall / theirs.merge.wall:.2f}; processor {ours.merge.processor:.1f} s, {theirs.merge.processor:.1f} s, "
        f"ratio {ours.merge.processor / theirs.merge.processor:.2f}; most memory {ours.memory:.2f} GiB, "
        f"{theirs.memory:.2f} GiB, ratio {ours.memory / theirs.memory:.2f}\n"
        f"checks: wall {checks.wall:.1f} s, {checks.wall / ours.merge.wall:.2f} of the merge, "
        f"{(checks.wall - trial.wall) / ours.merge.wall:.2f} without the trial verdict; processor {checks.processor:.1f} s "
        f"({parts}), {checks.processor / ours.merge.processor:.2f} and "
        f"{(checks.processor - trial.processor) / ours.merge.processor:.2f}"
    )
    assert ours.merge.processor <= 1.1 * theirs.merge.processor
    assert checks.processor <= ours.merge.processor
    assert (
        ours.memory <= 1.05 * theirs.memory
    )  # how much of the mapped inputs stands in memory varies by some hundredths


def make_copies(folder: Path) -> dict[str, Path]:
    """A base without and six judges with a chat template, of one shape, all weights different."""
    from train.embedded import embedded_model
    from train.load import load_tokenizer

    base = embedded_model()
    tokenizer = load_tokenizer(base, "gemma")
    copies = {"base": base}
    for seed, language in enumerate(LANGUAGES):
        copies[language] = folder / language
        tokenizer.save_pretrained(copies[language])
        for name in ("config.json", "generation_config.json"):
            shutil.copyfile(base / name, copies[language] / name)
        in_own_process(write_noisy, base, copies[language], seed)
    return copies


def write_noisy(base: Path, folder: Path, seed: int) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    random = torch.Generator().manual_seed(seed)
    tensors = load_file(base / "model.safetensors")
    noisy = {
        name: value + NOISE * torch.randn(value.shape, generator=random).to(value.dtype)
        for name, value in tensors.items()
    }
    save_file(noisy, folder / "model.safetensors", {"format": "pt"})


def ours(method: str, copies: dict[str, Path], output: Path) -> Cost:
    """merge.run's own steps, timed one by one."""
    from core.chat import stop_token_id
    from merge.check import check_inputs, check_written
    from merge.preflight import check_alike
    from merge.recipe import MergeConfig
    from merge.run import finish, merge, read_sources
    from train.load import load_tokenizer

    config = MergeConfig.model_validate(
        {
            "merge_method": method,
            "experts": {language: str(copies[language]) for language in LANGUAGES},
            "base_model": str(copies["base"]) if method == "ties" else None,
            **PARAMETERS[method],
            "parameters": {"normalize": True},
            "output_dir": str(output),
        }
    )
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir()
    checks: dict[str, Seconds] = {}
    sources: dict[str, Any] = {}
    checks["alike"] = timed(lambda: sources.update(read_sources(config)))
    checks["alike"] += timed(lambda: check_alike(config, sources))
    checks["inputs"] = timed(lambda: check_inputs(sources, values=method != "linear"))
    seconds = timed(lambda: merge(config, sources, output))
    memory = most_memory()
    tokenizer: list[Any] = []
    checks["tokenizer"] = timed(lambda: tokenizer.append(load_tokenizer(sources[config.donor].folder)))
    checks["side files"] = timed(lambda: finish(config, sources, output, stop_token_id(tokenizer[0])))
    one = config.model_copy(update={"max_new_tokens": 1})
    checks["output"] = timed(lambda: check_written(one, sources, output, tokenizer[0]))
    whole = timed(lambda: check_written(config, sources, output, tokenizer[0]))
    checks["trial"] = Seconds(*(max(a - b, 0) for a, b in zip(whole, checks["output"], strict=True)))
    return Cost(seconds, memory, checks)


def theirs(method: str, copies: dict[str, Path], output: Path) -> Cost:
    """The command mergekit-yaml, whose entry point this is."""
    import mergekit.merge  # noqa: F401  (imported before the clock starts)
    from mergekit.scripts.run_yaml import main as mergekit_yaml

    recipe = {
        "merge_method": method,
        "models": [{"model": str(copies[language]), "parameters": PARAMETERS[method]} for language in LANGUAGES],
        "parameters": {"normalize": True},
        "dtype": "bfloat16",
    }
    if method == "ties":
        recipe["base_model"] = str(copies["base"])
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir()
    (output / "recipe.yaml").write_text(yaml.safe_dump(recipe), encoding="utf-8")
    words = [str(output / "recipe.yaml"), str(output), "--random-seed", "42", "--no-write-model-card", "--quiet"]
    seconds = timed(lambda: mergekit_yaml(words, standalone_mode=False))
    return Cost(seconds, most_memory(), {})


def in_own_process(work: Callable[..., Any], *arguments: Any) -> Any:
    """What ``work`` returns, run where no earlier work has taken memory."""
    parent, child = _PROCESSES.Pipe()
    process = _PROCESSES.Process(target=send_result, args=(child, work, arguments))
    process.start()
    child.close()
    try:
        return parent.recv()
    except EOFError:
        sys.exit(f"{work.__name__} failed")
    finally:
        process.join()


def send_result(pipe: Connection, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    pipe.send(work(*arguments))


def most_memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def timed(work: Callable[[], Any]) -> Seconds:
    wall, processor = perf_counter(), process_time()
    work()
    return Seconds(perf_counter() - wall, process_time() - processor)


if __name__ == "__main__":
    main()
