"""Environments of real programs that do not fit into ours, made once and kept in the user's cache, keyed by their requirements."""

import hashlib
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from filelock import FileLock
from platformdirs import user_cache_path

READY = ".ready"
INSTALLS_WITHIN_SECONDS = 900


def environment(name: str, requirements: Sequence[str], unwanted: Sequence[str] = ()) -> Path:
    """The Python of an environment with these requirements, without the ``unwanted`` packages that they pull in.

    The test is skipped, with the reason, where it cannot be installed here.
    """
    key = hashlib.sha256("\n".join([sys.version, *requirements, "without", *unwanted]).encode()).hexdigest()[:16]
    folder = user_cache_path("cross-lingual-judges", ensure_exists=True) / f"{name}-{key}"
    python = folder / "bin" / "python"
    with FileLock(folder.with_suffix(".lock")):
        if not (folder / READY).exists():
            _make(folder, python, requirements, unwanted)
    return python


def _make(folder: Path, python: Path, requirements: Sequence[str], unwanted: Sequence[str]) -> None:
    pip = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    steps = [[sys.executable, "-m", "venv", "--clear", str(folder)], [*pip, "install", "--no-cache-dir", *requirements]]
    if unwanted:
        steps.append([*pip, "uninstall", "--yes", *unwanted])
    for step in steps:
        try:
            done = subprocess.run(step, capture_output=True, text=True, timeout=INSTALLS_WITHIN_SECONDS)
        except subprocess.TimeoutExpired:
            pytest.skip(f"{' '.join(requirements)} cannot be installed within {INSTALLS_WITHIN_SECONDS} s")
        if done.returncode:
            reason = next(reversed(done.stderr.strip().splitlines()), f"exit status {done.returncode}")
            pytest.skip(f"{' '.join(requirements)} cannot be installed here ({reason[:300]})")
    (folder / READY).touch()
