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

from core.chat import stop_token_id
from core.config import run_command
from core.errors import ConfigError
from core.progress import say
from core.run import Run, shown_path
from merge.check import check_inputs, check_written
from merge.fold import fold
from merge.preflight import Source, check_alike, read_source, warn_of_dtypes
from merge.recipe import BASE, MergeConfig, check_method, mergekit_config, recipe_values
from merge.shards import shard_bytes
from merge.side_files import TOKENIZER_FILES, copy_side_files, write_generation_config, write_judge_json
from merge.source import hub_commit
from merge.staging import keep_inputs, staged
from merge.unchanged import unchanged_filters
from train.check import describe
from train.checkpoint import room_to_write
from train.load import load_tokenizer

ECHO = "merge.yaml"


def main(config: MergeConfig) -> None:
    """Check, fold what is an adapter, merge, check again. Raises ConfigError, ModelError and RunFolderError."""
    check_method(config)
    seconds: dict[str, float] = {}
    with _timed("check", seconds):
        sources = read_sources(config)
        check_alike(config, sources)
        warn_of_dtypes(sources, config.dtype)
    inputs = [folder for source in sources.values() for folder in {source.folder, source.weights}]
    keep_inputs(Path(config.output_dir), inputs)
    pinned = revisions(sources)
    run = Run(config.output_dir, "merge.run", config, inputs, config.if_exists, config.seed)
    with run, staged(run.path) as folder, TemporaryDirectory(dir=run.path, prefix=".folded-") as spare:
        with _timed("fold", seconds):
            sources = fold_adapters(config, sources, Path(spare))
        with _timed("check", seconds):
            # A sum hides no NaN or infinity, not even one times 0: the output tells, and the inputs are read if it does.
            check_inputs(sources, values=config.merge_method != "linear")
        with _timed("merge", seconds):
            merge(config, sources, folder)
        with _timed("check", seconds):
            tokenizer = load_tokenizer(sources[config.donor].folder)
            finish(config, sources, folder, stop_token_id(tokenizer), pinned)
            checked = check_written(config, sources, folder, tokenizer)
        run.note(seconds=seconds, revisions=pinned, trial_stopped=checked.stopped_by_itself)
    say(describe(config.output_dir, checked))


def read_sources(config: MergeConfig) -> dict[str, Source]:
    """Every expert by name, and the base where the recipe names one. Raises ModelError."""
    models = {name: expert.model for name, expert in config.experts.items()}
    if config.base_model is not None:
        models[BASE] = config.base_model
    return {name: read_source(name, model) for name, model in models.items()}


def revisions(sources: Mapping[str, Source]) -> dict[str, str]:
    """``owner/name@commit`` of every input that came from the Hub."""
    return {name: commit for name, source in sources.items() if (commit := hub_commit(source.folder))}


def fold_adapters(config: MergeConfig, sources: Mapping[str, Source], spare: Path) -> dict[str, Source]:
    """The sources with each adapter replaced by its full weights, written below ``spare``."""
    folded = dict(sources)
    for name, source in sources.items():
        if source.is_adapter:
            say(f"folding the adapter of {name}")
            with room_to_write(spare / name):
                fold(source.folder, spare / name, config.device)
            folded[name] = read_source(name, str(spare / name))
    return folded


def merge(config: MergeConfig, sources: Mapping[str, Source], folder: Path) -> None:
    """Write the merged weights into ``folder``. No tokenizer source, no card: mergekit's own are not offline and not whole."""
    say(f"merging {len(config.experts)} experts by {config.merge_method}")
    options = MergeOptions(
        device=config.device,
        random_seed=config.seed,
        out_shard_size=shard_bytes(config.max_shard_size),
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
    except ValueError as error:  # such as DELLA's epsilon against its density, known to its own code alone
        raise ConfigError(f"{config.merge_method}: {' '.join(str(error).split())}; correct the recipe") from None
    finally:
        # mergekit keeps every input open by its path, and would take old weights for new ones of the same name.
        LoaderCache().loaders.clear()


def finish(
    config: MergeConfig,
    sources: Mapping[str, Source],
    folder: Path,
    stop_token: int,
    pinned: Mapping[str, str] | None = None,
) -> None:
    """Everything beside the weights: the chosen expert's config and side files, all stop tokens, the recipe.

    ``stop_token`` is its tokenizer's end of turn, ``pinned`` what ``revisions`` says of the inputs.
    """
    donor = sources[config.donor]
    experts = {name: sources[name].folder for name in config.experts}
    # mergekit takes the config of whichever model comes first in a set.
    donor.config.dtype = config.written_dtype
    donor.config.save_pretrained(folder)
    copy_side_files(donor.folder, folder, TOKENIZER_FILES)
    write_judge_json(folder, donor.folder, experts)
    write_generation_config(folder, donor.folder, list(experts.values()), stop_token)
    (folder / ECHO).write_text(recipe_text(config, pinned), encoding="utf-8")


def recipe_text(config: MergeConfig, pinned: Mapping[str, str] | None = None) -> str:
    """The recipe as YAML, without the fields of this run and without absolute paths; ``pinned`` has Hub ids with commit."""
    values = recipe_values(config)
    shown = {name: shown_path(expert.model) for name, expert in config.experts.items()} | dict(pinned or {})
    for name, expert in values["experts"].items():
        expert["model"] = shown[name]
    if config.base_model is not None:
        values[BASE] = shown.get(BASE, shown_path(config.base_model))
    return yaml.safe_dump(values, sort_keys=False, allow_unicode=True)


@contextmanager
def _timed(what: str, seconds: dict[str, float]) -> Iterator[None]:
    start = time.monotonic()
    yield
    seconds[what] = round(seconds.get(what, 0) + time.monotonic() - start, 3)


if __name__ == "__main__":
    run_command(main, MergeConfig)
