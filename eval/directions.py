"""Learn what moves a frozen model's hidden states from a language toward a pivot, from parallel sentences.

Run as:
    python -m eval.directions --model_name_or_path MODEL --input parallel.jsonl --source hi --pivot en --output runs/hi-en

Writes directions.safetensors and directions.json, which steer in eval.summaries and eval.judge.
"""

from pathlib import Path
from random import Random
from typing import Literal

from pydantic import Field

from core.config import CommandConfig, IfExists, run_command
from core.errors import ConfigError
from core.progress import say, warn
from core.records import read_parallel
from core.run import Run, shown_path
from eval.steering.directions import Directions
from eval.steering.learning import Pooling, distinct_pairs, learn
from train.load import check_model, load_model, load_tokenizer

__all__ = ["DirectionsConfig", "main"]


class DirectionsConfig(CommandConfig):
    """Fields of eval.directions."""

    model_name_or_path: str = Field(description="model folder, adapter folder or Hub id")
    input: Path = Field(description="parallel.jsonl: id and one column a language code")
    source: str = Field(description="language to steer")
    pivot: str = Field("en", description="language to steer toward")
    output: Path = Field(description="run folder to make")
    if_exists: IfExists = Field("fail", description="what to do with an output folder that exists")
    pairs: int = Field(500, ge=1, description="sentence pairs to learn from, drawn by seed")
    pooling: Pooling = Field("mean", description="a sentence's state: the mean over its tokens, or its last token's")
    pool_special_tokens: bool = Field(False, description="pool BOS and the like too")
    layers: list[int] | None = Field(None, description="layers, counted from 0; null: all")
    maps: bool = Field(False, description="learn minimum-norm least-squares maps too")
    batch_size: int = Field(16, ge=1, description="sentences encoded at once")
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = Field(
        "auto", description="auto: as the weights are stored"
    )
    device: str | None = Field(None, description="null: the GPU where there is one")
    seed: int = Field(42, description="of the draw of pairs")


def main(config: DirectionsConfig) -> None:
    """Learn directions from parallel sentences."""
    pairs = read_pairs(config)
    model_name = config.model_name_or_path
    check_model(model_name)
    with Run(config.output, "eval.directions", config, inputs(config), config.if_exists, config.seed) as run:
        directions = learn(
            load_model(model_name, config.dtype, config.device or "auto"),
            load_tokenizer(model_name, needs_chat_template=False),
            pairs,
            config.source,
            config.pivot,
            config.pooling,
            config.layers,
            config.batch_size,
            config.maps,
            config.pool_special_tokens,
            shown_path(model_name),
        )
        directions.save(run.path)
        run.note(counts={"pairs": directions.facts.pairs})
    for line in summary(directions):
        say(line)
    say(f"{config.output}: {config.source} → {config.pivot} from {directions.facts.pairs} pairs")


def read_pairs(config: DirectionsConfig) -> list[tuple[str, str]]:
    """The distinct pairs to learn from, drawn by seed. Raises DataError for a language that the file lacks."""
    if config.source == config.pivot:
        raise ConfigError(f"source and pivot are both {config.source}; name two languages")
    rows = read_parallel(config.input, (config.source, config.pivot))
    pairs = distinct_pairs([(row[config.source], row[config.pivot]) for row in rows])
    if len(pairs) < config.pairs:
        warn(
            f"{config.input} has {len(pairs)} distinct pairs of {len(rows)} rows, fewer than the {config.pairs} asked for"
        )
    return Random(config.seed).sample(pairs, min(config.pairs, len(pairs)))


def inputs(config: DirectionsConfig) -> list[Path]:
    """What the run reads: the sentences, and the model where it is a folder."""
    model = Path(config.model_name_or_path)
    return [config.input, *([model] if model.is_dir() else [])]


def summary(directions: Directions) -> list[str]:
    """A line a layer: how far apart the languages are, beside how long the states are."""
    lines = []
    for layer in directions.layers:
        length, mean_norm = float(directions.vectors[layer].norm()), directions.facts.mean_norms[layer]
        line = f"layer {layer:>3}: ‖v‖ {length:.4g}, mean norm {mean_norm:.4g}, ratio {length / mean_norm:.3f}"
        if fit := directions.facts.map_fit.get(layer):
            line += f"; map of rank {fit['rank']:.0f}, condition {fit['condition']:.3g}"
        lines.append(line)
    if directions.facts.map_fit and (directions.facts.pairs or 0) < directions.facts.hidden_size:
        lines.append(
            "fewer pairs than the hidden size: at σ = 1 a map deletes all outside the span of the source states"
        )
    return lines


if __name__ == "__main__":
    run_command(main, DirectionsConfig)
