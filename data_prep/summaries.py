"""Reads summaries, with people's scores where there are any: Beyond N-grams, or any table through a column map.

Run as: python -m data_prep.summaries --config configs/data_prep/beyond-ngrams.yaml --output data/summaries.jsonl
or:     python -m data_prep.summaries --input mine.csv --format columns --language hi \\
            --constants '{dimension: coherence}' --output data/mine.jsonl
"""

from core.config import run_command
from data_prep.conversion import convert
from data_prep.formats import SUMMARIES
from data_prep.options import SummariesConfig


def main(config: SummariesConfig) -> None:
    """Write summaries.jsonl."""
    convert(config, SUMMARIES, "data_prep.summaries")


if __name__ == "__main__":
    run_command(main, SummariesConfig)
