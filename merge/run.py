"""Merge trained judges into one checkpoint; mergekit does the arithmetic, everything around it is checked.

Run as:
    python -m merge.run --config configs/merge/ties.yaml --output_dir runs/ties
"""

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml
from mergekit.io.tasks import LoaderCache
from mergekit.merge import run_merge
from mergekit.options import MergeOptions

from core import prompt_spec
from core.chat import stop_token_id
from core.config import run_command
from core.errors import ModelError
from core.progress import say
from core.run import Run, shown_path
from merge.check import check_written
from merge.fold import fold
from merge.preflight import Source, check_alike, check_tensors, read_source
from merge.recipe import BASE, MergeConfig, check_method, mergekit_config
from merge.side_files import TOKENIZER_FILES, copy_side_files, write_generation_config
from merge.staging import keep_inputs, staged
from merge.unchanged import unchanged_filters
from train.check import check_weights, describe
from train.load import load_tokenizer

ECHO = "merge.yaml"


def main(config: MergeConfig) -> None:
    """Check, fold what is an adapter, merge, check again. Raises ConfigError, ModelError and RunFolderError."""
    check_method(config)
    sources = read_sources(config)
    check_alike(config, sources)
    inputs = [folder for source in sources.values() for folder in {source.folder, source.weights}]
    keep_inputs(Path(config.output_dir), inputs)
    run = Run(
        config.output_dir,
        command="merge.run",
        config=config,
        inputs=inputs,
        if_exists=config.if_exists,
        seed=config.seed,
    )
    seconds: dict[str, float] = {}
    with run, staged(run.path) as folder, TemporaryDirectory(dir=run.path, prefix=".folded-") as spare:
        with _timed("fold", seconds):
            sources = fold_adapters(config, sources, Path(spare))
        with _timed("check", seconds):
            check_inputs(sources)
        with _timed("merge", seconds):
            merge(config, sources, folder)
        with _timed("check", seconds):
            finish(config, sources, folder)
            checked = check_written(folder, sources[config.donor], config.dtype)
        run.note(seconds=seconds)
    say(describe(config.output_dir, checked))


def read_sources(config: MergeConfig) -> dict[str, Source]:
    """Every expert by name, and the base where the recipe names one. Raises ModelError."""
    models = {name: expert.model for name, expert in config.experts.items()}
    if config.base_model is not None:
        models[BASE] = config.base_model
    return {name: read_source(name, model) for name, model in models.items()}


def fold_adapters(config: MergeConfig, sources: Mapping[str, Source], spare: Path) -> dict[str, Source]:
    """The sources with each adapter replaced by its full weights, written below ``spare``."""
    folded = dict(sources)
    for name, source in sources.items():
        if source.is_adapter:
            say(f"folding the adapter of {name}")
            fold(source.folder, spare / name, config.device)
            folded[name] = read_source(name, str(spare / name))
    return folded


def check_inputs(sources: Mapping[str, Source]) -> None:
    """Once more after folding, and every value: NaN in an input is NaN in the merge. Raises ModelError that names both."""
    check_tensors(sources)
    for name, source in sources.items():
        try:
            check_weights(source.folder)
        except ModelError as error:
            raise ModelError(f"{name}: {error}") from None


def merge(config: MergeConfig, sources: Mapping[str, Source], folder: Path) -> None:
    """Write the merged weights into ``folder``. No tokenizer source, no card: mergekit's own are not offline and not whole."""
    say(f"merging {len(config.experts)} experts by {config.merge_method}")
    options = MergeOptions(
        device=config.device,
        random_seed=config.seed,
        copy_tokenizer=False,
        write_model_card=False,
        quiet=not sys.stderr.isatty(),
    )
    folders = {name: source.folder for name, source in sources.items()}
    unchanged = (
        unchanged_filters([source.headers for source in sources.values()]) if config.merge_method == "ties" else []
    )
    try:
        run_merge(mergekit_config(config, folders, unchanged), str(folder), options)
    finally:
        # mergekit keeps every input open by its path, and would take old weights for new ones of the same name.
        LoaderCache().loaders.clear()


def finish(config: MergeConfig, sources: Mapping[str, Source], folder: Path) -> None:
    """Everything beside the weights: the chosen expert's config and side files, all stop tokens, the recipe."""
    donor = sources[config.donor]
    # mergekit takes the config of whichever model comes first in a set.
    donor.config.dtype = config.dtype
    donor.config.save_pretrained(folder)
    copy_side_files(donor.folder, folder, (*TOKENIZER_FILES, prompt_spec.FILE))
    experts = [sources[name].folder for name in config.experts]
    write_generation_config(folder, donor.folder, experts, stop_token_id(load_tokenizer(folder)))
    (folder / ECHO).write_text(recipe_text(config), encoding="utf-8")


def recipe_text(config: MergeConfig) -> str:
    """The recipe as YAML, without the fields of this run and without absolute paths."""
    values = config.model_dump(mode="json", exclude_none=True, exclude={"output_dir", "if_exists", "device"})
    for expert in values["experts"].values():
        expert["model"] = shown_path(expert["model"])
    if BASE in values:
        values[BASE] = shown_path(values[BASE])
    return yaml.safe_dump(values, sort_keys=False, allow_unicode=True)


@contextmanager
def _timed(what: str, seconds: dict[str, float]) -> Iterator[None]:
    start = time.monotonic()
    yield
    seconds[what] = round(seconds.get(what, 0) + time.monotonic() - start, 3)


if __name__ == "__main__":
    run_command(main, MergeConfig)
