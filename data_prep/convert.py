"""Converts a set of judged responses into records.

Run as: python -m data_prep.convert --config configs/data_prep/intel.yaml --language hi --output data/intel/hi/train.jsonl
or:     python -m data_prep.convert --input mine.csv --format columns --language hi --output data/mine.jsonl

Summaries are read by data_prep.summaries, parallel sentences by data_prep.parallel.
"""

from core.config import run_command
from data_prep.conversion import convert
from data_prep.formats import RECORDS
from data_prep.options import ConvertConfig


def main(config: ConvertConfig) -> None:
    """Write records.jsonl."""
    convert(config, RECORDS, "data_prep.convert")


if __name__ == "__main__":
    run_command(main, ConvertConfig)
