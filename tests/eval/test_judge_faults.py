"""Kill −9 while judging, at random moments, again and again: the run goes on, no row is lost and none is doubled."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from core.errors import AlreadyDone
from core.records import Prediction, read_rows, write_records
from eval.judge import JudgeConfig, main
from tests.conftest import REPO
from tests.eval.pico_judge import RECORDS

KILLS = 8


@pytest.mark.soak
def test_killed_runs_go_on(judge_folder: Path, tmp_path: Path) -> None:
    records = [one.model_copy(update={"id": f"{one.id}{n}"}) for n in range(100) for one in RECORDS]
    write_records(records, tmp_path / "records.jsonl")
    flags = {
        "model_name_or_path": str(judge_folder),
        "input": str(tmp_path / "records.jsonl"),
        "output": str(tmp_path / "judged"),
        "if_exists": "resume",
        "max_new_tokens": "24",
        "batch_size": "1",
    }
    command = [sys.executable, "-m", "eval.judge", *(word for name in flags for word in (f"--{name}", flags[name]))]
    moments, rows = random.Random(0), 0
    for _ in range(KILLS):
        process = subprocess.Popen(
            command, cwd=REPO, stderr=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"}
        )
        wait_for_rows(tmp_path / "judged", rows + 1, process)
        time.sleep(moments.random() / 2)
        process.send_signal(signal.SIGKILL)
        process.wait()
        now = count_rows(tmp_path / "judged")
        assert now >= rows
        rows = now
    config = JudgeConfig(**{**flags, "max_new_tokens": 24, "batch_size": 1})  # type: ignore[arg-type]
    main(config)
    assert [row.id for row in read_rows(tmp_path / "judged" / "predictions.jsonl", Prediction)] == [
        r.id for r in records
    ]
    with pytest.raises(AlreadyDone):
        main(config)


def count_rows(folder: Path) -> int:
    return sum(file.read_bytes().count(b"\n") for file in folder.glob("predictions*.jsonl"))


def wait_for_rows(folder: Path, least: int, process: subprocess.Popen[bytes]) -> None:
    """Until there are as many rows, or the process has ended."""
    while process.poll() is None and count_rows(folder) < least:
        time.sleep(0.02)
