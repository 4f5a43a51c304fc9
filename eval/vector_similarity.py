"""How alike several languages' vectors toward one pivot are, layer by layer: cosines of eval.directions' vectors.

Run as:
    python -m eval.vector_similarity --directions runs/directions/hi-en runs/directions/fr-en runs/directions/yo-en --output runs/similarity

Writes similarity.json (the cosine of each two languages) and table.md, which is printed: each language's mean cosine with the
others. Vectors that were learned from the same sentences share the pivot's mean, which makes them alike; compare layers and
languages with each other, not with zero.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from pydantic import Field
from torch.nn.functional import cosine_similarity

from core.config import CommandConfig, IfExists, run_command
from core.errors import ConfigError, DataError
from core.jsonl import atomic, write_json
from core.progress import say
from core.run import Run
from eval.markdown_table import markdown_table
from eval.steering.directions import FACTS_FILE, WEIGHTS_FILE, Directions

# What must be the same for vectors to be comparable.
SAME = ("pivot", "hook_point", "pooling", "pool_special_tokens", "hidden_size", "layers", "fingerprint")


class VectorSimilarityConfig(CommandConfig):
    """Fields of eval.vector_similarity."""

    directions: list[Path] = Field(min_length=2, description="folders of eval.directions, one a language")
    output: Path = Field(description="run folder to make")
    if_exists: IfExists = Field("fail", description="what to do with an output folder that exists")


def main(config: VectorSimilarityConfig) -> None:
    """Compare the languages' vectors and write what was found."""
    by_language = read(config.directions)
    inputs = [folder / name for folder in config.directions for name in (WEIGHTS_FILE, FACTS_FILE)]
    with Run(config.output, "eval.vector_similarity", config, inputs, config.if_exists) as run:
        cosines = similarity(by_language)
        pivot = next(iter(by_language.values())).facts.pivot
        write_json({"languages": list(by_language), "pivot": pivot, "cosines": cosines}, run.path / "similarity.json")
        table = means_table(list(by_language), cosines)
        with atomic(run.path / "table.md") as handle:
            handle.write(table + "\n")
    say(table)


def read(folders: Sequence[Path]) -> dict[str, Directions]:
    """Directions by source language.

    Raises DataError for a zero vector and a language that is not known, ConfigError where folders do not compare.
    """
    by_language: dict[str, Directions] = {}
    first: Directions | None = None
    for folder in folders:
        directions = Directions.load(folder)
        first = first or directions
        language = directions.facts.source
        if language is None:
            raise DataError(f"{folder} does not say its source language; learn it with eval.directions")
        if language in by_language:
            raise ConfigError(f"{folder}: {language} has a folder already; give one a language")
        for name in SAME:
            if getattr(directions.facts, name) != getattr(first.facts, name):
                raise ConfigError(f"{folder} and {folders[0]} differ in {name}; learn them alike")
        if zero := [layer for layer, vector in directions.vectors.items() if not vector.any()]:
            raise DataError(f"{folder}: the vector of layer {zero[0]} is zero and has no cosine")
        by_language[language] = directions
    return by_language


def similarity(by_language: Mapping[str, Directions]) -> dict[int, list[dict[str, Any]]]:
    """By layer, the cosine of each two languages' vectors."""
    layers = next(iter(by_language.values())).layers
    return {
        layer: [
            {"languages": [one, other], "cosine": cosine(by_language[one], by_language[other], layer)}
            for one, other in combinations(by_language, 2)
        ]
        for layer in layers
    }


def cosine(one: Directions, other: Directions, layer: int) -> float:
    """The cosine of two vectors of a layer, in float64."""
    return float(cosine_similarity(one.vectors[layer].double(), other.vectors[layer].double(), dim=0))


def means_table(languages: Sequence[str], cosines: Mapping[int, Sequence[Mapping[str, Any]]]) -> str:
    """A row a layer, a column a language: its mean cosine with the others."""
    rows = []
    for layer, found in cosines.items():
        with_others = [[each["cosine"] for each in found if code in each["languages"]] for code in languages]
        rows.append([str(layer), *(f"{sum(values) / len(values):.3f}" for values in with_others)])
    return markdown_table(["layer", *languages], rows)


if __name__ == "__main__":
    run_command(main, VectorSimilarityConfig)
