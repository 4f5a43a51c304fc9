"""Learn what moves a frozen model's hidden states from a language toward a pivot, from parallel sentences.

Run as:
    python -m eval.directions --model_name_or_path MODEL --input parallel.jsonl --source hi --pivot en --output runs/hi-en

MODEL is a language model, or a COMET checkpoint, whose pooled sentence embedding is steered. Writes directions.safetensors and
directions.json, which steer in eval.summaries and eval.judge, and pairs.safetensors, from which eval.summaries learns null
directions.
"""

from collections import defaultdict
from collections.abc import Hashable, Mapping
from pathlib import Path
from random import Random
from typing import Literal

from pydantic import Field

from core.config import CommandConfig, IfExists, run_command
from core.errors import ConfigError, DataError
from core.progress import say, warn
from core.records import read_parallel
from core.run import Run, shown_path
from eval.characters import check_characters
from eval.comet import Comet
from eval.comet.checkpoint import is_comet
from eval.comet.directions import learn_comet
from eval.device import Device
from eval.markdown_table import markdown_table
from eval.steering.directions import DirectionFacts, Directions
from eval.steering.fitting import Learned
from eval.steering.learning import Pooling, distinct_pairs, learn
from eval.steering.maps import MapKind
from train.load import check_model, load_model, load_tokenizer

__all__ = ["DirectionsConfig", "main"]

Pairs = list[tuple[str, str]]


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
    maps: bool = Field(False, description="learn least-squares maps too")
    map_kind: MapKind = Field(
        "minimum_norm", description="with maps; ridge is toward the identity, affine has an intercept"
    )
    held_out: int = Field(
        0, ge=0, description="pairs kept apart, by document, to measure vectors and every kind of map"
    )
    keep_pairs: bool = Field(True, description="keep the states of the pairs, which null directions are learned from")
    batch_size: int = Field(16, ge=1, description="sentences encoded at once")
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = Field(
        "auto", description="auto: as the weights are stored"
    )
    device: Device = Field(None, description="null: the GPU where there is one")
    seed: int = Field(42, description="of the draw of pairs")


def main(config: DirectionsConfig) -> None:
    """Learn directions from parallel sentences."""
    pairs, held_out = read_pairs(config)
    comet = is_comet(config.model_name_or_path)
    if comet:
        check_comet_options(config)
    else:
        check_model(config.model_name_or_path)
    with Run(config.output, "eval.directions", config, inputs(config), config.if_exists, config.seed) as run:
        learn_on = learn_on_comet if comet else learn_on_language_model
        directions, states = learn_on(config, pairs, held_out)
        directions.save(run.path)
        if config.keep_pairs:
            states.save(run.path)
        run.note(counts={"pairs": directions.facts.pairs, "held_out": directions.facts.held_out_pairs or 0})
    for line in summary(directions):
        say(line)
    say(f"{config.output}: {config.source} → {config.pivot} from {directions.facts.pairs} pairs")


def learn_on_language_model(config: DirectionsConfig, pairs: Pairs, held_out: Pairs) -> Learned:
    """Directions for the residual stream after each layer."""
    model_name = config.model_name_or_path
    return learn(
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
        config.map_kind,
        held_out,
    )


def learn_on_comet(config: DirectionsConfig, pairs: Pairs, held_out: Pairs) -> Learned:
    """Directions for COMET's pooled sentence embedding."""
    name = config.model_name_or_path
    comet = Comet.from_pretrained(name, config.device, config.batch_size)
    return learn_comet(
        comet, pairs, config.source, config.pivot, config.maps, config.map_kind, held_out, shown_path(name)
    )


def check_comet_options(config: DirectionsConfig) -> None:
    """Raises ConfigError for an option that COMET's own pooling leaves no room for."""
    for name in ("pooling", "pool_special_tokens", "layers", "dtype"):
        if getattr(config, name) != type(config).model_fields[name].default:
            raise ConfigError(f"{name} is for language models; a COMET checkpoint settles it, leave {name} out")


def read_pairs(config: DirectionsConfig) -> tuple[Pairs, Pairs]:
    """The distinct pairs to learn from and those held out, drawn by seed; no document has pairs among both.

    Raises DataError for a language that the file lacks, and where holding out leaves nothing to learn from.
    """
    if config.source == config.pivot:
        raise ConfigError(f"source and pivot are both {config.source}; name two languages")
    rows = read_parallel(config.input, (config.source, config.pivot))
    check_characters(rows, config.input)
    document_of: dict[tuple[str, str], tuple[str, str]] = {}
    for row in rows:
        document = ("document", row["document_id"]) if row.get("document_id") else ("row", row["id"])
        document_of.setdefault((row[config.source], row[config.pivot]), document)
    pairs = by_document(distinct_pairs(list(document_of)), document_of, Random(config.seed))
    held_out = pairs[max(0, len(pairs) - config.held_out) :]
    apart = {document_of[pair] for pair in held_out}
    left = [pair for pair in pairs if document_of[pair] not in apart]
    found = f"{config.input} has {len(pairs)} distinct pairs of {len(rows)} rows"
    if len(left) < (needed := 2 if config.maps else 1):
        raise DataError(
            f"{found}; less {config.held_out} held out, and others of their documents, {len(left)} are left and {needed} "
            "needed; hold out fewer or give more"
        )
    if len(left) < config.pairs:
        less = f", less {len(pairs) - len(left)} held out or of a document held out" if config.held_out else ""
        warn(f"{found}{less}, fewer than the {config.pairs} asked for")
    return left[: config.pairs], held_out


def by_document(pairs: Pairs, document_of: Mapping[tuple[str, str], Hashable], draw: Random) -> Pairs:
    """The pairs with their documents in random order, those of a document together."""
    members: dict[Hashable, Pairs] = defaultdict(list)
    for pair in pairs:
        members[document_of[pair]].append(pair)
    documents = list(members)
    draw.shuffle(documents)
    return [pair for document in documents for pair in members[document]]


def inputs(config: DirectionsConfig) -> list[Path]:
    """What the run reads: the sentences, and the model where it is a folder."""
    model = Path(config.model_name_or_path)
    return [config.input, *([model] if model.is_dir() else [])]


def summary(directions: Directions) -> list[str]:
    """A line a layer: how far apart the languages are, beside how long the states are; the map's fit; held-out pairs."""
    facts, lines = directions.facts, []
    for layer in directions.layers:
        length, mean_norm = float(directions.vectors[layer].norm()), facts.mean_norms[layer]
        line = f"layer {layer:>3}: ‖v‖ {length:.4g}, mean norm {mean_norm:.4g}, ratio {length / mean_norm:.3f}"
        if fit := facts.map_fit.get(layer):
            line += f"; map of rank {fit['rank']}, condition {fit['condition']:.3g}"
            line += "" if fit["penalty"] is None else f", λ {fit['penalty']:.3g}"
        lines.append(line)
    if facts.map_kind in ("minimum_norm", "affine") and (facts.pairs or 0) < facts.hidden_size:
        lines.append(
            "fewer pairs than the hidden size: at σ = 1 a map deletes all outside the span of the source states; "
            "map_kind ridge leaves it alone"
        )
    if facts.held_out:
        lines.append(f"retrieval · cosine · explained variance on {facts.held_out_pairs} held-out pairs:")
        lines.append(held_out_table(facts))
    return lines


def held_out_table(facts: DirectionFacts) -> str:
    """A row a layer, a column a method (none: the source states as they are)."""
    methods = list(next(iter(facts.held_out.values())))
    rows = [
        [str(layer), *(" · ".join(shown(value) for value in measured[method].values()) for method in methods)]
        for layer, measured in facts.held_out.items()
    ]
    return markdown_table(["layer", *methods], rows)


def shown(value: float | None) -> str:
    """A figure with three decimals; a dash where there is none."""
    return "–" if value is None else f"{value:.3f}"


if __name__ == "__main__":
    run_command(main, DirectionsConfig)
