"""A model folder is built out of sight and shown whole: nothing loads from the output before everything is in it."""

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from core.errors import RunFolderError
from core.run import MANIFEST

PARTIAL = ".partial"
LAST = "config.json"  # without it no folder loads as a model


def keep_inputs(output: Path, inputs: Iterable[Path]) -> None:
    """Refuse an output folder that is, or holds, one of the inputs: replacing it would delete them. Raises RunFolderError."""
    for folder in inputs:
        if folder.resolve().is_relative_to(output.resolve()):
            raise RunFolderError(f"output {output} is or holds the input {folder}; name another folder")


@contextmanager
def staged(output: Path) -> Iterator[Path]:
    """An empty folder inside ``output``; when the block ends without an error its files move into ``output``, config last.

    What an interrupted run left in ``output`` is removed first, so that no stale weights stand beside new ones.
    """
    for leftover in output.iterdir():
        if leftover.name != MANIFEST:
            shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
    partial = output / PARTIAL
    partial.mkdir()
    try:
        yield partial
        for entry in sorted(partial.iterdir(), key=lambda path: path.name == LAST):
            os.replace(entry, output / entry.name)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
