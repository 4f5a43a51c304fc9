"""Batches of records of like length, so that little of a batch is padding, in an order that a resumed run finds again.

transformers' own length-grouped order goes from long records to short ones, a whole optimizer step of one length (and
length goes with score), and draws from the random state of the process. Here like lengths meet only in the batches that
the processes take at the same moment, the batches of a step are of all lengths, and the order follows from seed and epoch.
"""

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow.compute as pc
from datasets import Dataset
from torch.utils.data import Sampler

# So many batches are drawn at random and sorted together: over 98 % of the tokens are then useful, and the records
# of a batch still differ from epoch to epoch.
WINDOW = 64


class LengthGroupedOrder(Sampler[int]):
    """Indices of all records, each once an epoch; every ``group`` of them in a row is of like length.

    ``group`` is the batch of all processes together (per-device batch × processes): each takes its share in turn.
    ``epoch`` is asked at the start of each pass. The group with the longest record comes first, so that a batch too
    big for memory fails at once; an incomplete group comes last.
    """

    def __init__(self, lengths: np.ndarray, group: int, seed: int, epoch: Callable[[], int]) -> None:
        self.lengths, self.group, self.seed, self.epoch = lengths, group, seed, epoch

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[int]:
        random = np.random.default_rng((self.seed, self.epoch()))
        drawn = random.permutation(len(self.lengths))
        window = self.group * WINDOW
        for start in range(0, len(drawn), window):
            part = drawn[start : start + window]
            drawn[start : start + window] = part[np.argsort(-self.lengths[part], kind="stable")]
        whole = len(drawn) // self.group
        groups = random.permutation(drawn[: whole * self.group].reshape(whole, self.group))
        if whole:
            longest = int(self.lengths[groups].max(axis=1).argmax())
            groups[[0, longest]] = groups[[longest, 0]]
        yield from groups.ravel().tolist()
        yield from drawn[whole * self.group :].tolist()


def lengths_of(dataset: Dataset) -> np.ndarray:
    """Tokens of each row, from the column input_ids."""
    return pc.list_value_length(dataset.with_format("arrow")[:]["input_ids"]).to_numpy()
