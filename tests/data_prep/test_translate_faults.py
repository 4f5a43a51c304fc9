"""Translation that is stopped: by kill -9 at random moments, a dead server, a revoked key, a full disk. It goes on from there."""

import random
import resource
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from core.jsonl import read_jsonl
from core.records import read_records, write_records
from tests.conftest import REPO
from tests.data_prep.made_up_texts import hindi_text, records
from tests.data_prep.translation_for_tests import source_of
from tests.scripted_server import Answers, ScriptedServer

CONCURRENCY = 4
ROWS, TEXTS = 200, 240  # five responses to an instruction


def answers() -> Answers:
    return Answers(lambda body: hindi_text(source_of(body)))


def command(folder: Path, server: ScriptedServer, *flags: str) -> list[str]:
    values = {
        "input": folder / "records.jsonl",
        "language": "hi",
        "base_url": server.base_url,
        "model": "scripted",
        "concurrency": CONCURRENCY,
        "output": folder / "out",
        "store": folder / "store",
        "retries": 1,
        "if_exists": "resume",
    }
    words = [str(word) for name, value in values.items() for word in (f"--{name}", value)]
    return [sys.executable, "-m", "data_prep.translate", *words, *flags]


def run(words: list[str], **options: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(words, cwd=REPO, capture_output=True, text=True, **options)


def stored_keys(folder: Path) -> list[str]:
    return [row["key"] for path in sorted((folder / "store").glob("*.jsonl")) for _, row in read_jsonl(path)]


def check_whole(folder: Path) -> None:
    """Every record is there once, in its order, with its own translation; every answer is stored once."""
    english, written = read_records(folder / "records.jsonl"), read_records(folder / "out" / "records.jsonl")
    assert [(one.id, one.instruction, one.response) for one in written] == [
        (one.id, hindi_text(one.instruction), hindi_text(one.response)) for one in english
    ]
    assert len(stored_keys(folder)) == len(set(stored_keys(folder))) == TEXTS


def killed_and_gone_on(folder: Path, kills: int) -> None:
    write_records(records(ROWS, words=20), folder / "records.jsonl")
    moments = random.Random(kills)
    with ScriptedServer(answers(), latency_ms=60) as server:
        for _ in range(kills):
            process = subprocess.Popen(command(folder, server), cwd=REPO, stderr=subprocess.DEVNULL)
            start = len(server.bodies)
            while process.poll() is None and len(server.bodies) == start:
                time.sleep(0.01)
            time.sleep(moments.random() * 0.8 * TEXTS / kills / CONCURRENCY * 0.06)
            process.kill()
            process.wait()
        done = run(command(folder, server))
        assert (done.returncode, done.stderr.count("Traceback")) == (0, 0)
        asked = Counter(server.asked)
        assert run(command(folder, server)).stdout.endswith("finished before, nothing left to do\n")
        assert len(server.bodies) == asked.total()
    assert len(asked) == TEXTS
    assert asked.total() - TEXTS <= kills * CONCURRENCY
    check_whole(folder)


@pytest.mark.slow
def test_killed_eight_times(tmp_path: Path) -> None:
    killed_and_gone_on(tmp_path, 8)


@pytest.mark.soak
def test_killed_thirty_times(tmp_path: Path) -> None:
    killed_and_gone_on(tmp_path, 30)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "says"),
    [({"dead_after": 100}, "requests in a row failed"), ({"unauthorized_after": 100}, "check the key")],
)
def test_a_server_that_dies_or_refuses_the_key_is_one_line(tmp_path: Path, fault: dict[str, int], says: str) -> None:
    write_records(records(ROWS, words=20), tmp_path / "records.jsonl")
    with ScriptedServer(answers(), **fault) as server:  # type: ignore[arg-type]
        stopped = run(command(tmp_path, server))
    assert stopped.returncode == 2
    assert "Traceback" not in stopped.stderr
    assert stopped.stderr.splitlines()[-1].startswith("error: server ")
    assert says in stopped.stderr.splitlines()[-1]
    assert 90 <= len(stored_keys(tmp_path)) <= 100
    assert not (tmp_path / "out").exists()
    with ScriptedServer(answers()) as server:
        assert run(command(tmp_path, server)).returncode == 0
        assert len(server.bodies) <= TEXTS - 90
    check_whole(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "says"), [(60_000, "error: answers "), (200_000, "error: no space left to write")])
def test_a_full_disk_is_one_line(tmp_path: Path, limit: int, says: str) -> None:
    """No file may grow over the limit: the store's at 60 kB; at 200 kB the answers fit, the rows for the Hub do not."""
    write_records(records(ROWS, words=20), tmp_path / "records.jsonl")

    def lower() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    with ScriptedServer(answers()) as server:
        stopped = run(command(tmp_path, server), preexec_fn=lower)
        assert stopped.returncode in (1, 2)
        assert "Traceback" not in stopped.stderr
        assert stopped.stderr.splitlines()[-1].startswith(says)
        stored = len(stored_keys(tmp_path))
        assert not list((tmp_path / "out").glob("*.jsonl"))
        assert run(command(tmp_path, server)).returncode == 0
        assert len(server.bodies) <= TEXTS + (TEXTS - stored)
    check_whole(tmp_path)
