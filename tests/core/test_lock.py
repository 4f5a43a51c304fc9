"""One writer a folder: of runs that start at once one goes on, and a killed one leaves nothing that blocks the next."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from core.errors import RunFolderError
from core.lock import LOCK, FolderLock
from core.run import Run, read_manifest

# Says "won" and works until it is killed or told to end, or says why it was refused.
RUN = """
import sys
from core.errors import RunFolderError
from core.run import Run
try:
    with Run("out", "eval.judge", {"a": 1}, if_exists=sys.argv[1]) as run:
        print("won", flush=True)
        sys.stdin.readline()
except RunFolderError as error:
    print(error, flush=True)
"""


def start(folder: Path, if_exists: str) -> "subprocess.Popen[str]":
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    words = [sys.executable, "-c", RUN, if_exists]
    return subprocess.Popen(words, cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize("if_exists", ["fail", "resume", "overwrite"])
def test_of_runs_that_start_at_once_exactly_one_wins(if_exists: str, tmp_path: Path) -> None:
    if if_exists != "fail":  # what a crash left
        Run(tmp_path / "out", "eval.judge", {"a": 1})._lock.release()
        (tmp_path / "out" / "partial.txt").touch()
    runs = [start(tmp_path, if_exists) for _ in range(4)]
    said = [line(run) for run in runs]
    winner = runs[said.index("won")]
    assert said.count("won") == 1
    assert all("is being written by another process" in text or "exists" in text for text in said if text != "won")
    assert (tmp_path / "out" / LOCK).is_file()
    winner.communicate("\n", timeout=60)
    for run in runs:
        run.communicate(timeout=60)
    manifest = read_manifest(tmp_path / "out")
    assert manifest is not None
    assert manifest["status"] == "done"
    kept = {"manifest.json", "partial.txt"} if if_exists == "resume" else {"manifest.json"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == kept


def test_a_killed_run_is_refused_while_it_lives_and_resumed_after(tmp_path: Path) -> None:
    first = start(tmp_path, "fail")
    assert line(first) == "won"
    with pytest.raises(RunFolderError, match="is being written by another process; let it end"):
        Run(tmp_path / "out", "eval.judge", {"a": 1}, if_exists="resume")
    with pytest.raises(RunFolderError, match="is being written by another process"):
        Run(tmp_path / "out", "eval.judge", {"a": 1}, if_exists="overwrite")
    first.send_signal(signal.SIGKILL)
    first.communicate(timeout=60)
    assert (tmp_path / "out" / LOCK).is_file()
    with Run(tmp_path / "out", "eval.judge", {"a": 1}, if_exists="resume") as run:
        assert run.resumed
    assert not (tmp_path / "out" / LOCK).exists()


def test_what_a_kill_before_the_first_manifest_leaves_blocks_nothing(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / LOCK).touch()
    (tmp_path / "out" / ".manifest.json.x1y2").write_text("{")
    with Run(tmp_path / "out", "eval.judge", {}) as run:
        assert not run.resumed


def test_a_forked_child_does_not_keep_a_folder_that_was_given_back(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    child = os.fork()
    if child == 0:
        time.sleep(30)
        os._exit(0)
    try:
        lock.release()
        FolderLock(tmp_path).release()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
