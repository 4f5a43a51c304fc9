"""Kill −9 while judging, at random moments, again and again: the run goes on, no row is lost and none is doubled."""

import os
import random
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch

from core.config import exit_status
from core.errors import AlreadyDone
from core.records import Prediction, read_rows, write_records
from eval.judge import JudgeConfig, main
from tests.eval.judging_server import JudgingServer
from tests.eval.pico_judge import RECORDS, record

ROWS_A_KILL, CONCURRENCY = 32, 4


def config(folder: Path, **fields: Any) -> JudgeConfig:
    values = {"input": folder / "records.jsonl", "output": folder / "judged", "if_exists": "resume"}
    return JudgeConfig(**values, **fields)


def in_process(folder: Path, judge: Path, kills: int) -> JudgeConfig:
    copies = range(kills * ROWS_A_KILL // len(RECORDS))
    records = [one.model_copy(update={"id": f"{one.id}{n}"}) for n in copies for one in RECORDS]
    write_records(records, folder / "records.jsonl")
    return config(folder, model_name_or_path=str(judge), device="cpu", max_new_tokens=24, batch_size=3)


def served(folder: Path, server: JudgingServer, kills: int) -> JudgeConfig:
    records = [record(f"r{n}", f"good answer {n}", 5) for n in range(kills * ROWS_A_KILL)]
    write_records(records, folder / "records.jsonl")
    where = {"base_url": server.base_url, "store": folder / "answers", "with_reference": False}
    return config(folder, model_name_or_path="scripted", concurrency=CONCURRENCY, **where)


def kill_and_go_on(asked: JudgeConfig, kills: int) -> list[Prediction]:
    """The predictions, when the run was killed so often at random moments, each after it wrote a row, and then let be."""
    chance, rows = random.Random(kills), 0
    for _ in range(kills):
        child = os.fork()
        if child == 0:
            torch.set_num_threads(1)  # the parent's threads are not there
            os._exit(exit_status(lambda: main(asked)))
        while count_rows(asked.output) <= rows and os.waitpid(child, os.WNOHANG) == (0, 0):
            time.sleep(0.01)
        time.sleep(chance.random() / 20)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        now = count_rows(asked.output)
        assert now > rows  # nothing that was there is lost
        rows = now
    assert rows < kills * ROWS_A_KILL  # the kills came in time
    main(asked)
    with pytest.raises(AlreadyDone):
        main(asked)
    return read_rows(asked.output / "predictions.jsonl", Prediction)


def count_rows(folder: Path) -> int:
    return sum(file.read_bytes().count(b"\n") for file in folder.glob("predictions*.jsonl"))


@pytest.mark.parametrize("kills", [pytest.param(8, marks=pytest.mark.slow), pytest.param(30, marks=pytest.mark.soak)])
def test_killed_runs_in_process_go_on(judge_folder: Path, tmp_path: Path, kills: int) -> None:
    asked = in_process(tmp_path, judge_folder, kills)
    killed = kill_and_go_on(asked, kills)
    whole = asked.model_copy(update={"output": tmp_path / "whole"})
    main(whole)
    # Equal to the last bit of each expected score: the batches are those of a run that nobody killed.
    assert killed == read_rows(tmp_path / "whole" / "predictions.jsonl", Prediction)


@pytest.mark.parametrize("kills", [pytest.param(8, marks=pytest.mark.slow), pytest.param(30, marks=pytest.mark.soak)])
def test_killed_runs_on_a_server_go_on(tmp_path: Path, kills: int) -> None:
    with JudgingServer(latency_ms=40) as server:
        asked = served(tmp_path, server, kills)
        predictions = kill_and_go_on(asked, kills)
        times = Counter(server.asked)
    assert [(row.id, row.score) for row in predictions] == [(f"r{n}", 5) for n in range(kills * ROWS_A_KILL)]
    assert len(times) == len(predictions)
    assert times.total() - len(times) <= CONCURRENCY * kills  # only what was in flight is asked again
