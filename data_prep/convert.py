"""Converts a data set into the rows that the other commands read: records, summaries or parallel sentences.

Run as: python -m data_prep.convert --config configs/data_prep/intel.yaml --language hi --output data/intel/hi/train.jsonl
or:     python -m data_prep.convert --input mine.csv --format columns --language hi --output data/mine.jsonl
"""

from collections.abc import Iterable

from core.config import run_command
from core.errors import ConfigError
from core.progress import say
from core.records import write_rows
from data_prep.counts import Counts
from data_prep.formats import FORMATS
from data_prep.holdout import hold_out
from data_prep.options import ConvertConfig
from data_prep.output_file import finish, start
from data_prep.rows import AnyRow

_HEEDED_BY_ALL = {"input", "format", "output", "if_exists", "language", "holdout_items", "holdout_output", "seed"}


def main(config: ConvertConfig) -> None:
    """Convert, check and write; nothing is written where a row is wrong."""
    _check_options(config)
    manifest = start(config)
    counts = Counts()
    rows: Iterable[AnyRow] = counts.check(FORMATS[config.format].rows(config), config)
    held: list[AnyRow] = []
    if config.holdout_output is not None:
        rows, held = hold_out(list(rows), config.holdout_items, config.seed)
        write_rows(held, config.holdout_output)
    written = write_rows(rows, config.output)
    finish(config, manifest, counts.as_dict() | {"held_out": len(held)})
    say(f"{config.output}: {written} rows; {counts}")
    if held:
        say(f"{config.holdout_output}: {len(held)} rows held out")


def _check_options(config: ConvertConfig) -> None:
    """Raises ConfigError for an option that the format does not heed, and for half a holdout."""
    for name in config.model_fields_set - FORMATS[config.format].options - _HEEDED_BY_ALL:
        raise ConfigError(f"format {config.format} does not use {name}; leave it out")
    if bool(config.holdout_items) != (config.holdout_output is not None) or config.holdout_output == config.output:
        raise ConfigError("holdout_items and holdout_output go together, and the two outputs are two files")
    config.languages()


if __name__ == "__main__":
    run_command(main, ConvertConfig)
