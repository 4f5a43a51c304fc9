"""A trained judge on disk: what train.sft saves at the end, and the checkpoints that it goes on from after a crash.

A checkpoint counts once it is sealed: after all processes wrote their files, these are brought to disk and listed with
their sizes in complete.json. One without a seal, or with a file that is not as listed, was cut off by a crash.
"""

import errno
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from core.config import DISK_FULL
from core.jsonl import write_json
from core.progress import say
from core.prompt_spec import PromptSpec
from core.run import shown_path

SEAL = "complete.json"
_PROBE = 2**20  # bytes


def seal(checkpoint: Path) -> None:
    """Bring a checkpoint to disk and mark it complete. One process calls it, when all have written."""
    sizes = {}
    for path in sorted(path for path in checkpoint.rglob("*") if path.is_file() and path.name != SEAL):
        with open(path, "rb") as handle:
            os.fsync(handle.fileno())
            sizes[path.relative_to(checkpoint).as_posix()] = os.fstat(handle.fileno()).st_size
    write_json(sizes, checkpoint / SEAL)


def is_complete(checkpoint: Path) -> bool:
    """Whether a checkpoint is sealed and holds every file that the seal lists, at its size."""
    try:
        sizes = json.loads((checkpoint / SEAL).read_text(encoding="utf-8"))
        return all((checkpoint / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError):
        return False


def last_checkpoint(output_dir: str | Path) -> str | None:
    """The last complete checkpoint of a run, or None. Those that a crash cut off are removed, each with a line: a later
    save into one would leave its files among new ones.
    """
    complete = []
    for checkpoint in Path(output_dir).glob("checkpoint-*"):
        if is_complete(checkpoint):
            complete.append(checkpoint)
        else:
            say(f"resume: {checkpoint} was not written to its end; removed")
            shutil.rmtree(checkpoint)
    return str(max(complete, key=lambda path: int(path.name.split("-")[-1]))) if complete else None


@contextmanager
def room_to_write(folder: Path) -> Iterator[None]:
    """Whatever a full disk makes of a save inside the block, it is an OSError that says so; what was written of
    ``folder`` goes, so that there is room again for the manifest.
    """
    try:
        yield
    except (OSError, SafetensorError, RuntimeError) as error:  # torch.save and safetensors do not say that it is full
        full = _full(folder.parent, error)
        shutil.rmtree(folder, ignore_errors=True)
        if full is None:
            raise
        raise OSError(full.errno, full.strerror, str(folder)) from None


def save_judge(trainer: Any, spec: PromptSpec, languages: Sequence[str], base_model: str) -> None:
    """Write model or adapter, tokenizer, generation config, trainer state and judge.json. All processes call it."""
    trainer.save_model()
    trainer.save_state()
    if trainer.is_world_process_zero():
        folder = Path(trainer.args.output_dir)
        trainer.model.generation_config.save_pretrained(folder)  # an adapter's save leaves it out
        (folder / "training_args.bin").unlink(missing_ok=True)  # a pickle of what the manifest says in plain text
        spec.save(folder, languages=list(languages), base_model=shown_path(base_model))


def _full(folder: Path, error: Exception) -> OSError | None:
    """The error of a full disk: the one given, or what a small file meets there."""
    if isinstance(error, OSError) and error.errno in DISK_FULL:
        return error
    probe = folder / ".probe"
    try:
        with open(probe, "wb") as handle:
            handle.write(bytes(_PROBE))
            os.fsync(handle.fileno())
    except OSError as found:
        return found if found.errno in DISK_FULL else None
    finally:
        probe.unlink(missing_ok=True)
    named = os.strerror(errno.ENOSPC)
    return OSError(errno.ENOSPC, named) if named in str(error) else None
