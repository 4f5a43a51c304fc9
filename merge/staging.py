"""A model folder is built out of sight and shown whole: nothing loads from the output before everything is in it."""

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from core.errors import RunFolderError
from core.lock import LOCK
from core.run import MANIFEST
from train.checkpoint import room_to_write

PARTIAL = ".partial"
LAST = "config.json"  # without it no folder loads as a model


def keep_inputs(output: Path, inputs: Iterable[Path]) -> None:
    """Refuse an output folder that is or holds an input, for replacing it would delete that, or that is in one, for it would
    be taken for part of it. Raises RunFolderError.
    """
    for folder in inputs:
        if folder.resolve().is_relative_to(output.resolve()):
            raise RunFolderError(f"output {output} is or holds the input {folder}; name another folder")
        if output.resolve().is_relative_to(folder.resolve()):
            raise RunFolderError(f"output {output} is inside the input {folder}; name another folder")


@contextmanager
def staged(output: Path) -> Iterator[Path]:
    """An empty folder inside ``output``; when the block ends without an error its files move into ``output``, config last.

    What an interrupted run left in ``output`` is removed first, so that no stale weights stand beside new ones. A full disk
    is an OSError that says so, whatever the writer made of it.
    """
    for leftover in output.iterdir():
        if leftover.name not in (MANIFEST, LOCK):
            shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
    partial = output / PARTIAL
    partial.mkdir()
    try:
        with room_to_write(partial):
            yield partial
        for entry in sorted(partial.iterdir(), key=lambda path: path.name == LAST):
            os.replace(entry, output / entry.name)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
