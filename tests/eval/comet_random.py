"""A COMET checkpoint of random weights that reads real text: what its scores mean is nothing, what its runs cost is real.

Run as: python -m tests.eval.comet_random data/parallel.jsonl runs/random-comet

The tokenizer is learned from the sentences; 4 layers × 128 and 514 positions, laid out as Unbabel's checkpoints are.
"""

import sys
from pathlib import Path

from tokenizers import models

from core.records import read_parallel
from tests.eval import comet_checkpoint


def main() -> None:
    source, folder = map(Path, sys.argv[1:])
    rows = read_parallel(source)
    corpus = [row[code] for row in rows for code in row if code not in ("id", "document_id")]
    words = comet_checkpoint.as_xlm_roberta(models.Unigram(), corpus)
    shape = {"hidden_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 512}
    shape |= {"max_position_embeddings": 514, "vocab_size": len(words)}
    comet_checkpoint.write(folder, shape=shape, words=words, hidden_sizes=[64, 32])


if __name__ == "__main__":
    main()
