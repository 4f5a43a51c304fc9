"""trl's SFTTrainer made to resume exactly: checkpoints whole or not counted, and an order of records that is known anew."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import RandomSampler, Sampler
from transformers.trainer_utils import rotate_checkpoints
from trl import SFTTrainer

from train.checkpoint import SEAL, room_to_write, seal
from train.sampling import LengthGroupedOrder, lengths_of


class ResumableTrainer(SFTTrainer):
    """Goes on from a checkpoint to the weights, bit for bit on CPU, of a training that was never stopped."""

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        checkpoint = Path(self.args.output_dir) / f"checkpoint-{self.state.global_step}"
        if self.args.should_save:
            (checkpoint / SEAL).unlink(missing_ok=True)  # of an earlier save at this step
        limit, self.args.save_total_limit = self.args.save_total_limit, None
        try:
            with room_to_write(checkpoint):
                super()._save_checkpoint(model, trial)
        finally:
            self.args.save_total_limit = limit
        self.accelerator.wait_for_everyone()
        if self.args.should_save:
            with room_to_write(checkpoint):
                seal(checkpoint)
            # Earlier ones go only now that this one is on disk.
            rotate_checkpoints(self.args.output_dir, limit, self.state.best_model_checkpoint)

    def _run_epoch(self, *args: Any, **kwargs: Any) -> None:
        # transformers trains on from a checkpoint that was saved when training had ended, at max_steps or early.
        self.control.should_training_stop = self.state.stateful_callbacks["TrainerControl"]["args"][
            "should_training_stop"
        ]
        if not self.control.should_training_stop:
            super()._run_epoch(*args, **kwargs)

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        dataset = train_dataset or self.train_dataset
        seed = self.args.seed if self.args.data_seed is None else self.args.data_seed
        if self.args.train_sampling_strategy == "group_by_length":
            together = self.args.train_batch_size * self.args.world_size
            return LengthGroupedOrder(lengths_of(dataset), together, seed, self._epoch)
        given = super()._get_train_sampler(dataset)
        return EpochOrder(len(given), seed, self._epoch) if isinstance(given, RandomSampler) else given

    def _epoch(self) -> int:
        return int(self.state.epoch or 0)


class EpochOrder(Sampler[int]):
    """A random order of the records that follows from the seed and the epoch alone, in every process the same.

    The samplers of transformers and accelerate draw it from the state of the random numbers at the start of an epoch, or
    are not told the epoch where two processes resume in its middle.
    """

    def __init__(self, size: int, seed: int, epoch: Callable[[], int]) -> None:
        self.size, self.seed, self.epoch = size, seed, epoch

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(self.seed + self.epoch())
        return iter(torch.randperm(self.size, generator=generator).tolist())
