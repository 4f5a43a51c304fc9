"""Reads parallel sentences: FLORES+, NTREX, text files of one sentence a line, or any table with one column a language.

Run as: python -m data_prep.parallel --config configs/data_prep/ntrex.yaml --output data/parallel.jsonl
or:     python -m data_prep.parallel --input mine.tsv --format columns --header en hi --output data/mine.jsonl
"""

from pathlib import Path

from core.config import run_command
from core.progress import say
from data_prep.conversion import convert
from data_prep.formats import PARALLEL
from data_prep.formats.text_files import ntrex_documents
from data_prep.options import ParallelConfig


def main(config: ParallelConfig) -> None:
    """Write parallel.jsonl."""
    if config.format == "ntrex" and config.documents is None:
        config = config.model_copy(update={"documents": _ntrex_documents(Path(config.input))})
    convert(config, PARALLEL, "data_prep.parallel")


def _ntrex_documents(folder: Path) -> Path | None:
    documents = ntrex_documents(folder)
    if documents is None:
        say(f"no DOCUMENT_IDS.tsv in or above {folder}: each line counts as a document of its own")
    return documents


if __name__ == "__main__":
    run_command(main, ParallelConfig)
