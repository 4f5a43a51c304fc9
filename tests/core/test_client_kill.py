"""kill -9 and Ctrl-C at random moments: no answer lost, none doubled, little asked again."""

import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import REPO
from tests.core.client_for_tests import stored_rows
from tests.scripted_server import Answers, ScriptedServer

TEXTS, CONCURRENCY = 200, 8
TABLE = {f"text {number};": f"answer {number}" for number in range(TEXTS)}


def start(server: ScriptedServer, store: Path) -> "subprocess.Popen[str]":
    command = [
        sys.executable,
        "-m",
        "tests.core.client_child",
        server.base_url,
        str(store),
        str(TEXTS),
        str(CONCURRENCY),
    ]
    return subprocess.Popen(command, cwd=REPO, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(server: ScriptedServer, asked: int, child: "subprocess.Popen[str]") -> None:
    while len(server.asked) < asked and child.poll() is None:
        time.sleep(0.001)


def whole_rows(store: Path) -> int:
    """Rows that a kill left whole: a cut last line is none."""
    data = b"".join(path.read_bytes() for path in store.glob("*.jsonl"))
    return data.count(b"\n")


def kill_and_go_on(store: Path, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    with ScriptedServer(Answers(TABLE), latency_ms=20) as server:
        for kill in range(1, kills + 1):
            child = start(server, store)
            wait_for(server, len(server.asked) + chance.randint(1, max(2, 2 * TEXTS // (kills + 10))), child)
            time.sleep(chance.uniform(0, 0.04))
            child.kill()
            child.communicate()
            # What had come is on disk: only what was in flight at the kill is missing, and is asked again.
            assert len(server.asked) - whole_rows(store) <= CONCURRENCY * kill
        child = start(server, store)
        assert child.communicate()[1].count("Traceback") == 0
        assert child.returncode == 0
        asked = Counter(server.asked)
    rows = stored_rows(store)
    assert sorted(row["text"] for row in rows) == sorted(TABLE.values())
    assert len({row["key"] for row in rows}) == TEXTS
    assert len(asked) == TEXTS
    assert asked.total() - TEXTS <= CONCURRENCY * kills


@pytest.mark.slow
def test_eight_kills(tmp_path: Path) -> None:
    kill_and_go_on(tmp_path, kills=8, seed=0)


@pytest.mark.soak
def test_thirty_kills(tmp_path: Path) -> None:
    kill_and_go_on(tmp_path, kills=30, seed=1)


@pytest.mark.slow
def test_ctrl_c_is_one_line_and_keeps_what_has_come(tmp_path: Path) -> None:
    with ScriptedServer(Answers(TABLE), latency_ms=50) as server:
        child = start(server, tmp_path)
        wait_for(server, 40, child)
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=20)
        assert child.returncode == 130
        assert errors.splitlines() == ["interrupted; a run folder goes on with --if_exists resume"]
        lines = [line for path in tmp_path.glob("*.jsonl") for line in path.read_text().splitlines()]
        assert len(server.asked) - CONCURRENCY <= len(lines) <= len(server.asked)
        assert all(json.loads(line)["text"] in TABLE.values() for line in lines)
