"""How far the experts of a merge agree: angles between what they learned, signs that cancel, and how much each learned.

Run as:
    python -m merge.experts --config configs/merge/experts.yaml --output_dir runs/experts

Reads weights in pieces, so that six 8B models fit in memory; an adapter is folded on the way. Writes experts.json (every
layer and the whole) and experts.svg; eval.report shows both in its page.
"""

import itertools
import math
import shutil
from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from core.config import CommandConfig, IfExists, run_command, validate
from core.jsonl import atomic, write_json
from core.progress import Progress, say
from core.run import Run, shown_path
from eval.reporting.expert_charts import experts_chart, standalone
from merge.device import Device
from merge.preflight import Source, check_alike, check_tensors
from merge.recipe import BASE, MergeConfig
from merge.run import fold_adapters, read_sources, revisions
from merge.staging import keep_inputs
from merge.task_vectors import Sums, sums_by_layer

RESULT = "experts.json"
CHART = "experts.svg"
_FOLDED = ".folded-"


def _model(value: Any) -> Any:
    return value.get("model") if isinstance(value, dict) else value


class ExpertsConfig(CommandConfig):
    """Config of merge.experts."""

    experts: dict[str, Annotated[str, BeforeValidator(_model)]] = Field(
        description="language: folder, Hub id or adapter folder", min_length=2
    )
    base_model: str = Field(description="the very checkpoint the experts were tuned from")
    density: float = Field(1.0, gt=0, le=1, description="share of each task vector left for signs, as TIES trims it")
    device: Device = Field("cpu", description="where adapters are folded: cpu, cuda or auto")
    output_dir: Path = Field(description="folder for experts.json and experts.svg")
    if_exists: IfExists = Field("fail", description="what to do where output_dir exists")


def main(config: ExpertsConfig) -> None:
    """Check the experts as a merge does, and write what they changed. Raises ConfigError, ModelError, RunFolderError."""
    recipe = as_recipe(config)
    sources = read_sources(recipe)
    check_alike(recipe, sources)
    inputs = [folder for source in sources.values() for folder in {source.folder, source.weights}]
    keep_inputs(config.output_dir, inputs)
    pinned = revisions(sources)
    with Run(config.output_dir, "merge.experts", config, inputs, config.if_exists) as run:
        for stale in run.path.glob(f"{_FOLDED}*"):  # of a run that was killed
            shutil.rmtree(stale)
        with TemporaryDirectory(dir=run.path, prefix=_FOLDED) as spare:
            result = analyse(recipe, fold_adapters(recipe, sources, Path(spare)))
        write_json(result, run.path / RESULT)
        with atomic(run.path / CHART) as handle:
            handle.write(standalone(experts_chart(result["layers"], "experts")))
        run.note(revisions=pinned)
    say(summary(result))


def as_recipe(config: ExpertsConfig) -> MergeConfig:
    """The merge whose experts are looked at: its checks are the same, but their templates may differ."""
    values = {
        **config.model_dump(include={"experts", "base_model", "density", "device"}),
        "merge_method": "ties",
        "tokenizer_from": next(iter(config.experts)),
        "output_dir": str(config.output_dir),
    }
    return validate(MergeConfig, values, "merge.experts")


def analyse(recipe: MergeConfig, sources: Mapping[str, Source]) -> dict[str, Any]:
    """What experts.json holds: the figures of every layer and of the whole model. Raises ModelError."""
    check_tensors(sources)
    experts = {name: sources[name].headers for name in recipe.experts}
    values = sum(math.prod(header.shape) for header in sources[BASE].headers.values()) * len(sources)
    with Progress(values, "values") as progress:
        layers = sums_by_layer(sources[BASE].headers, experts, recipe.density or 1.0, progress.update)
    names = list(experts)
    whole = reduce(Sums.plus, layers.values())
    return {
        "base_model": shown_path(recipe.base_model or ""),
        "experts": {name: shown_path(expert.model) for name, expert in recipe.experts.items()},
        "density": recipe.density,
        "all": figures("all", whole, names),
        "layers": [figures(layer, sums, names) for layer, sums in layers.items()],
        "notes": [
            f"{name} changes nothing in {', '.join(same)}"
            for at, name in enumerate(names)
            if (same := [layer for layer, sums in layers.items() if not sums.dots[at, at]])
        ],
    }


def figures(layer: str, sums: Sums, names: list[str]) -> dict[str, Any]:
    """One layer's figures. ``norm`` is ‖expert − base‖ and ``relative_norm`` that over ‖base‖, by expert; ``conflict`` is the
    share of the values touched by at least two experts where both signs occur. What has no value is null.
    """
    norms = sums.dots.diagonal().sqrt().tolist()
    base = math.sqrt(sums.base)
    return {
        "layer": layer,
        "parameters": sums.parameters,
        "base_norm": base,
        "norm": dict(zip(names, norms, strict=True)),
        "relative_norm": {name: _over(norm, base) for name, norm in zip(names, norms, strict=True)},
        "pairs": [
            {
                "experts": [names[a], names[b]],
                "cosine": _over(float(sums.dots[a, b]), norms[a] * norms[b]),
                "opposed": _over(float(sums.opposed[a, b]), float(sums.shared[a, b])),
            }
            for a, b in itertools.combinations(range(len(names)), 2)
        ],
        "touched": sums.touched / sums.parameters,
        "conflict": _over(sums.conflicts, sums.touched),
        "conflict_by_chance": _over(sums.chance, sums.touched),
    }


def summary(result: Mapping[str, Any]) -> str:
    """The figures of the whole model in one line."""
    whole = result["all"]
    cosines = sorted((pair["cosine"], *pair["experts"]) for pair in whole["pairs"] if pair["cosine"] is not None)
    if not cosines or whole["conflict"] is None:
        return f"{len(result['experts'])} experts: fewer than two of them changed anything"
    low, high = cosines[0], cosines[-1]
    return (
        f"{len(result['experts'])} experts: cosines from {low[0]:.3f} ({low[1]}, {low[2]}) to {high[0]:.3f} ({high[1]}, "
        f"{high[2]}); signs conflict in {whole['conflict']:.0%} of what two or more changed, "
        f"{whole['conflict_by_chance']:.0%} if signs were independent"
    )


def _over(part: float, whole: float) -> float | None:
    return part / whole if whole else None


if __name__ == "__main__":
    run_command(main, ExpertsConfig)
