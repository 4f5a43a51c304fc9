"""Fields of eval.summaries, and what must hold between them."""

from pathlib import Path
from typing import Literal, Self

import torch
from pydantic import Field, model_validator

from core.config import CommandConfig, IfExists
from core.errors import ConfigError
from eval.device import Device
from eval.steering.hooks import Method, Scale

# Symmetric, log-spaced to ±.3 for a vector on the relative scale; a raw vector has no scale that suits every model.
DEFAULT_STRENGTHS = {
    ("vector", "relative"): (-0.3, -0.1, -0.03, 0.0, 0.03, 0.1, 0.3),
    ("map", None): (0.0, 0.25, 0.5, 0.75, 1.0),
}
LARGEST = torch.finfo(torch.float32).max
# Options that one metric alone heeds.
OF_METRIC = {
    "given": ("gptscore",), "prompt_language": ("direct",), "positions": ("direct",), "comet_steer": ("comet",),
    "layer_sets": ("gptscore", "direct"), "dtype": ("gptscore", "direct"), "max_length": ("gptscore", "direct"),
}  # fmt: skip
OF_STEERING = ("strengths", "layer_sets", "null_draws", "null_language", "null_dimension", "dev", "method", "scale")


class SummariesConfig(CommandConfig):
    """Fields of eval.summaries."""

    metric: Literal["gptscore", "direct", "comet"] = Field("gptscore", description="how a summary is scored")
    model_name_or_path: str = Field(description="model folder, adapter folder or Hub id; comet: an Unbabel checkpoint")
    input: Path = Field(description="summaries.jsonl, or a CSV or TSV with its fields as columns")
    output: Path = Field(description="run folder to make")
    if_exists: IfExists = Field("fail", description="what to do with an output folder that exists")
    language: list[str] | str | None = Field(None, description="score the summaries of these languages only")
    dimension: list[str] | str | None = Field(None, description="score the summaries on these dimensions only")
    max_per_cell: int | None = Field(None, ge=1, description="summaries of a language and dimension, drawn by seed")
    given: Literal["document", "reference", "summary", "both"] = Field(
        "document",
        description="gptscore: what the scored text follows. document, reference: the summary after it; summary: the reference "
        "after the summary; both: the mean of the last two",
    )
    prompt_language: Literal["en", "target"] = Field(
        "en", description="direct: language of the prompt around the texts"
    )
    positions: Literal["summary", "last_prompt", "generated", "all"] = Field(
        "summary", description="direct: the tokens that are steered"
    )
    comet_steer: Literal["mt", "ref", "both"] = Field("both", description="comet: the embeddings that are steered")
    directions: list[Path] = Field([], description="folders of eval.directions, one a source language")
    method: Method = Field("vector", description="how to steer")
    scale: Scale = Field("relative", description="unit of a vector's strength")
    strengths: list[float] | None = Field(
        None, min_length=1, description="0 is added; null: ±.3, ±.1, ±.03 relative, or 0, .25, .5, .75, 1 for a map"
    )
    layer_sets: list[list[int]] | None = Field(
        None,
        min_length=1,
        description="steer each of these sets of layers in turn; null: all of the directions at once",
    )
    null_draws: int = Field(0, ge=0, description="null directions, from pairs whose sign was flipped at random")
    null_language: list[str] | str | None = Field(None, description="null draws for these languages only")
    null_dimension: list[str] | str | None = Field(None, description="null draws on these dimensions only")
    dev: Path | None = Field(
        None,
        description="human-scored summaries on which each language's strength is chosen; input gets that one and 0",
    )
    allow_other_model: bool = Field(False, description="steer with directions of another model, e.g. a judge's base")
    max_length: int = Field(4096, ge=128, description="tokens of document and summary; longer documents are shortened")
    batch_size: int = Field(8, ge=1, description="strengths (comet: texts) scored at once")
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = Field(
        "auto", description="auto: as the weights are stored"
    )
    device: Device = Field(None, description="null: the GPU where there is one")
    resamples: int = Field(10_000, ge=0, description="bootstrap resamples of documents behind each interval")
    seed: int = Field(42, description="of the bootstrap, folds and draws")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        given = [name for name, field in type(self).model_fields.items() if getattr(self, name) != field.default]
        if stray := [name for name in given if self.metric not in OF_METRIC.get(name, (self.metric,))]:
            raise ConfigError(f"{stray[0]} only counts for metric {' and '.join(OF_METRIC[stray[0]])}; leave it out")
        if not self.directions and (unused := [name for name in given if name in OF_STEERING]):
            raise ConfigError(f"{unused[0]} needs directions; name folders of eval.directions or leave it out")
        if self.layer_sets and not all(self.layer_sets):
            raise ConfigError("layer_sets holds a set without layers; strength 0 is scored anyway, leave it out")
        if (self.null_language or self.null_dimension) and not self.null_draws:
            raise ConfigError("null_language and null_dimension choose where null draws are made; set null_draws")
        if self.dev and self.null_draws:
            raise ConfigError("null draws test a selection on the input's own scores; leave out dev or null_draws")
        if self.method == "map" and self.scale == "raw":
            raise ConfigError("scale raw is of a vector; leave it out with method: map")
        self.grid()
        return self

    def vector_scale(self) -> Scale | None:
        """The scale of a vector's strength; a map has none."""
        return self.scale if self.method == "vector" else None

    def grid(self) -> list[float]:
        """The strengths to score at, rising, 0 among them. Raises ConfigError for one that the method does not take."""
        chosen = self.strengths or DEFAULT_STRENGTHS.get((self.method, self.vector_scale()))
        if chosen is None:
            raise ConfigError("scale raw has no default strengths; give strengths")
        low, high = (0.0, 1.0) if self.method == "map" else (-LARGEST, LARGEST)
        if not all(low <= strength <= high for strength in chosen):
            raise ConfigError(f"strengths of a {self.method} go from {low:g} to {high:g}; correct strengths")
        return sorted({0.0, *chosen})

    def in_null(self, language: str, dimension: str) -> bool:
        """Whether null draws are made for a cell."""
        return bool(self.null_draws) and all(
            asked is None or value in listed(asked)
            for asked, value in ((self.null_language, language), (self.null_dimension, dimension))
        )


def listed(value: list[str] | str) -> list[str]:
    """One value or several, as several."""
    return [value] if isinstance(value, str) else value
