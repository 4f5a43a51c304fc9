"""Run folders: one output folder a run, with a manifest that says what made it, and one policy for a folder that exists.

The manifest (manifest.json) holds the command, the resolved config, package versions, git commit and whether the tree
was dirty, SHA-256 fingerprints of the inputs, seeds, start and end time, status, and what the command adds with ``note``.
No absolute path is written: inputs are named as the user named them, relative to the working folder.
"""

import hashlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from core.config import IfExists
from core.errors import AlreadyDone, DataError, Interrupted, RunFolderError, UserError
from core.jsonl import write_json
from core.lock import LOCK, FolderLock

MANIFEST = "manifest.json"
_PACKAGES = (
    "torch",
    "transformers",
    "trl",
    "peft",
    "accelerate",
    "deepspeed",
    "mergekit",
    "datasets",
    "numpy",
    "scipy",
)
# Fields that say where and whether to write, not what: a run that differs in them alone is the same run.
_NOT_IDENTITY = (
    *("output", "output_dir", "holdout_output", "if_exists", "resume_from_checkpoint", "logging_dir"),
    *("base_url", "api_key_env", "concurrency", "timeout", "retries", "store", "batch", "batch_dir"),
)


class Run:
    """An output folder being written. ``with Run(...) as run:`` marks it done at the end, failed on an error, interrupted
    where it was told to stop; one that wrong input stopped before anything was written goes.

    Raises RunFolderError where the folder exists (``if_exists`` fail), holds another run (resume) or is being written by
    another process; AlreadyDone where it holds this run, finished. ``resumed`` says that an unfinished folder of the same
    run was there; so is one that differs only in a smaller number of the field ``grows``, finished or not. With ``writes``
    False (every process but the main one; see train.launch) nothing on disk is looked at or changed.
    """

    def __init__(
        self,
        output: str | Path,
        command: str,
        config: Mapping[str, Any] | BaseModel,
        inputs: Sequence[str | Path] = (),
        if_exists: IfExists = "fail",
        seed: int | None = None,
        writes: bool = True,
        grows: str | None = None,
    ) -> None:
        self.path, self._grows = Path(output), grows
        values = config.model_dump(mode="json") if isinstance(config, BaseModel) else dict(config)
        self.inputs = [Path(path) for path in inputs]
        times = {"status": "running", "started": _now(), "ended": None}
        self.manifest = {**times, **describe(command, values, inputs, seed)}
        self.writes = writes
        self.resumed = writes and self._take(if_exists)
        self._write()

    def note(self, **facts: Any) -> None:
        """Add facts to the manifest at once, e.g. counts by language."""
        self.manifest.update(facts)
        self._write()

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if not self.writes:
            return
        if isinstance(error, UserError) and [path.name for path in self._content()] == [MANIFEST]:
            (
                self.path / MANIFEST
            ).unlink()  # wrong input leaves nothing half-written, so that the mended command can run
            self._lock.release()
            with suppress(OSError):  # another run has the folder by now
                self.path.rmdir()
            return
        reason = {} if error is None else {"error": f"{type(error).__name__}: {self._without_places(str(error))}"}
        stopped = isinstance(error, Interrupted | KeyboardInterrupt)
        try:
            self.note(
                status="done" if error is None else "interrupted" if stopped else "failed", ended=_now(), **reason
            )
        except OSError:
            if error is None:
                raise  # else the error to tell is the one under way, often the same full disk
        finally:
            self._lock.release()

    def _without_places(self, text: str) -> str:
        """One line that names the run's folder and inputs as the manifest does."""
        for path in (self.path, *self.inputs):
            if path.is_absolute():
                text = text.replace(str(path), shown_path(path))
        return " ".join(text.split())

    def _write(self) -> None:
        if self.writes:
            write_json(self.manifest, self.path / MANIFEST)

    def _take(self, if_exists: IfExists) -> bool:
        """Lock the folder and apply the policy to it; True where an unfinished run goes on."""
        self._settle(if_exists)  # what is refused is not touched, not even by a lock file
        self._lock = FolderLock(self.path)
        try:
            resumed = self._settle(if_exists)  # as it is now that nobody else changes it
        except (RunFolderError, AlreadyDone):
            self._lock.release()
            raise
        if if_exists == "overwrite":
            for path in self._content():
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        return resumed

    def _content(self) -> list[Path]:
        """What is in the folder, without the lock and what a crash left of a manifest half-written."""
        return [path for path in self.path.iterdir() if not path.name.startswith((LOCK, f".{MANIFEST}."))]

    def _settle(self, if_exists: IfExists) -> bool:
        """Whether an unfinished run goes on. Raises where the policy forbids to write to the path."""
        if not self.path.exists() or (self.path.is_dir() and not self._content()):
            return False
        old = read_manifest(self.path)
        if if_exists == "fail":
            raise RunFolderError(
                f"output {self.path} exists; name another, or pass --if_exists resume (go on) or overwrite (replace it)"
            )
        if old is None:
            raise RunFolderError(f"output {self.path} exists and no run of this project made it; name another folder")
        if if_exists == "overwrite":
            self._check_replaceable(old)
            return False
        grown = self._grown(old)
        self._check_same(grown)
        if old.get("status") == "done" and grown is old:
            raise AlreadyDone(f"{self.path}: finished before, nothing left to do")
        return True

    def _check_replaceable(self, old: dict[str, Any]) -> None:
        """What is overwritten is an earlier run of this command, and none of what this run reads."""
        if old.get("command") != self.manifest["command"]:
            raise RunFolderError(
                f"output {self.path} holds a run of {old.get('command')}, not of {self.manifest['command']}; name another folder"
            )
        output = self.path.resolve()
        for path in self.inputs:
            if path.resolve() == output or output in path.resolve().parents:
                raise RunFolderError(f"output {self.path} holds the input {path}; name another folder")

    def _grown(self, old: dict[str, Any]) -> dict[str, Any]:
        """The old manifest, with this run's number of what it may do more of."""
        before, now = ((one.get("config") or {}).get(self._grows) for one in (old, self.manifest))
        more = isinstance(before, int) and isinstance(now, int) and before < now
        return {**old, "config": {**old["config"], self._grows: now}} if more else old

    def _check_same(self, old: dict[str, Any]) -> None:
        other = difference(old, self.manifest)
        if other is not None:
            raise RunFolderError(
                f"output {self.path} holds a run with other {other}, so it cannot be resumed; "
                "name another folder or pass --if_exists overwrite"
            )


def read_manifest(folder: str | Path) -> dict[str, Any] | None:
    """The manifest of a run folder, or None where there is none that can be read."""
    manifest = read_manifest_file(Path(folder) / MANIFEST)
    return manifest if manifest is not None and "status" in manifest else None


def read_manifest_file(path: Path) -> dict[str, Any] | None:
    """The manifest in a file, or None where it is none that can be read."""
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return manifest if isinstance(manifest, dict) and "command" in manifest else None


def describe(command: str, config: Mapping[str, Any], inputs: Sequence[str | Path], seed: int | None) -> dict[str, Any]:
    """What every manifest says of what made its files. Raises DataError for an input that does not exist."""
    return {
        "command": command,
        "seed": seed,
        "config": {name: _shown(value) for name, value in config.items()},
        "inputs": {shown_path(path): fingerprint(path) for path in inputs},
        "packages": package_versions(),
        "git": git_state(),
    }


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str | None:
    """In what two manifests are of different runs, e.g. ``config (batch_size)``; None for the same run."""
    for what in ("command", "inputs", "config"):
        before, now = old.get(what), new[what]
        if what == "config":
            before, now = _identity(before or {}), _identity(now)
        if before != now:
            return f"{what}{_changed(before, now)}"
    return None


def fingerprint(path: str | Path) -> str:
    """SHA-256 of a file, or of a folder's file names and sizes and small files' contents (weights are not read through)."""
    path = Path(path)
    if path.is_file():
        return _file_hash(path)
    if not path.is_dir():
        raise DataError(f"input {path} does not exist; name an existing file or folder")
    total = hashlib.sha256()
    for file in sorted(p for p in path.rglob("*") if p.is_file() and p.name not in (MANIFEST, LOCK)):
        size = file.stat().st_size
        content = _file_hash(file) if size < 2**20 else ""
        total.update(f"{file.relative_to(path)} {size} {content}\n".encode())
    return total.hexdigest()


def package_versions() -> dict[str, str]:
    """Versions of the packages that decide results, those that are installed."""
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def git_state() -> dict[str, Any] | None:
    """Commit of this source tree and whether it was dirty; None outside a git checkout."""
    source = Path(__file__).parent.parent

    def git(*words: str) -> str | None:
        try:
            done = subprocess.run(["git", "-C", str(source), *words], capture_output=True, text=True, timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    commit = git("rev-parse", "HEAD")
    return {"commit": commit, "dirty": bool(git("status", "--porcelain"))} if commit else None


def shown_path(path: str | Path) -> str:
    """A path as it may stand in a file: relative to the working folder, or the name alone where it lies elsewhere."""
    path = Path(path)
    if not path.is_absolute():
        return path.as_posix()
    relative = os.path.relpath(path)
    return path.name if relative.startswith("..") else Path(relative).as_posix()


def _shown(value: Any) -> Any:
    if isinstance(value, str | Path) and os.path.isabs(value):
        return shown_path(value)
    if isinstance(value, list | tuple):
        return [_shown(item) for item in value]
    if isinstance(value, dict):
        return {name: _shown(item) for name, item in value.items()}
    return value


def _identity(config: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name not in _NOT_IDENTITY}


def _changed(before: Any, now: Any) -> str:
    if not isinstance(before, dict) or not isinstance(now, dict):
        return ""
    names = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    return f" ({', '.join(names[:5])})"


def _file_hash(path: Path) -> str:
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
