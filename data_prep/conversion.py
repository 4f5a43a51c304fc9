"""One conversion from its config to its file: what data_prep.convert, summaries and parallel have in common."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from core.errors import ConfigError
from core.progress import say
from core.records import write_rows
from data_prep.counts import Counts
from data_prep.formats import Format
from data_prep.holdout import hold_out
from data_prep.options import SourceConfig
from data_prep.output_file import OutputFile
from data_prep.rows import AnyRow
from data_prep.tables import is_hub_id

_HEEDED_BY_ALL = {"input", "format", "output", "if_exists", "language", "holdout_items", "holdout_output", "seed"}


def convert(config: SourceConfig, formats: Mapping[str, Format], command: str) -> None:
    """Convert, check and write; nothing is written where a row is wrong."""
    chosen = formats[config.format]
    _check_options(config, chosen)
    output = OutputFile(config, command, _inputs(config))
    counts = Counts()
    rows: Iterable[AnyRow] = counts.check(chosen.rows(config), config)
    held: list[AnyRow] = []
    if config.holdout_output is not None:
        rows, held = hold_out(list(rows), config.holdout_items, config.seed)
        write_rows(held, config.holdout_output)
    written = write_rows(rows, config.output)
    output.finish(counts.as_dict() | {"held_out": len(held)})
    say(f"{config.output}: {written} rows; {counts}")
    if held:
        say(f"{config.holdout_output}: {len(held)} rows held out")


def _check_options(config: SourceConfig, chosen: Format) -> None:
    """Raises ConfigError for an option that the format does not heed, and for half a holdout."""
    for name in config.model_fields_set - chosen.options - _HEEDED_BY_ALL:
        raise ConfigError(f"format {config.format} does not use {name}; leave it out")
    if bool(config.holdout_items) != (config.holdout_output is not None) or config.holdout_output == config.output:
        raise ConfigError("holdout_items and holdout_output go together, and the two outputs are two files")
    config.languages()


def _inputs(config: SourceConfig) -> list[Path]:
    """The files and folders that are read, but for a data set on the Hub."""
    documents = getattr(config, "documents", None)
    return [*([] if is_hub_id(config.input) else [Path(config.input)]), *([documents] if documents else [])]
