"""Batches that the server works through itself: started once, waited for over kills, their faults in one line."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.client import Client
from core.errors import AnswersMissing, ServerError
from tests.core.client_for_tests import ask_all, options, stored_rows
from tests.scripted_batches import Batches
from tests.scripted_server import Answers, ScriptedServer

TABLE = {f"text {number};": f"answer {number}" for number in range(20)}


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.batch_jobs.FIRST_POLL", 0.02)


def run_command(folder: Path, server: ScriptedServer) -> dict[str, str | None]:
    with Client(batch_options(folder, server)) as client:
        answers = ask_all(client, list(TABLE))
        client.finish()
    return {text: answer.text for text, answer in answers.items()}


def batch_options(folder: Path, server: ScriptedServer) -> Any:
    return options(folder / "store", server.base_url, batch="submit", batch_dir=folder / "batches")


def test_submit_wait_and_use_on_the_next_run(tmp_path: Path) -> None:
    with ScriptedServer(Answers(TABLE), batches=Batches(polls=3)) as server:
        with pytest.raises(AnswersMissing, match="batches of 1 files have ended; run this command again"):
            run_command(tmp_path, server)
        assert run_command(tmp_path, server) == TABLE
        assert len(server.batches.made) == 1
        assert server.asked == []
        assert server.batches.made["batch_0"]["completion_window"] == "24h"


def test_failures_in_the_error_file_are_submitted_again_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failing = ["text 3;", "text 7;"]
    with ScriptedServer(Answers(TABLE), batches=Batches(fail=failing)) as server:
        with pytest.raises(AnswersMissing):
            run_command(tmp_path, server)
        server.batches.fail = ()
        with pytest.raises(AnswersMissing):
            run_command(tmp_path, server)
        assert "text 3; failed in the batch: scripted failure" in capsys.readouterr().err
        assert run_command(tmp_path, server) == TABLE
        sizes = [
            len(server.batches.files[batch["input_file_id"]].splitlines()) for batch in server.batches.made.values()
        ]
    assert sizes == [20, 2]


def test_completed_without_an_output_file_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ScriptedServer(Answers(TABLE), batches=Batches(fail=list(TABLE))) as server:
        for _ in range(2):
            with pytest.raises(AnswersMissing):
                run_command(tmp_path, server)
    assert "0 new answers, 20 failed" in capsys.readouterr().out
    assert stored_rows(tmp_path / "store") == []


@pytest.mark.parametrize(
    ("status", "says"),
    [
        ("failed", "ended as failed: line 1 is not valid"),
        ("expired", "what it had answered is kept"),
        ("cancelled", "as cancelled"),
    ],
)
def test_a_batch_that_does_not_complete_is_one_line_and_starts_anew(tmp_path: Path, status: str, says: str) -> None:
    with ScriptedServer(Answers(TABLE), batches=Batches(status=status, fail=["text 3;"])) as server:
        with pytest.raises(ServerError, match=f"batch batch_0 of .*{says}"):
            run_command(tmp_path, server)
        server.batches.status, server.batches.fail = "completed", ()
        with pytest.raises(AnswersMissing):
            run_command(tmp_path, server)
        assert run_command(tmp_path, server) == TABLE
    again = server.batches.files[server.batches.made["batch_1"]["input_file_id"]].splitlines()
    assert len(again) == (20 if status == "failed" else 1)


def test_a_run_killed_while_it_waited_waits_on(tmp_path: Path) -> None:
    with ScriptedServer(Answers(TABLE), batches=Batches(polls=2)) as server:
        with pytest.raises(AnswersMissing):
            run_command(tmp_path, server)
        forget_the_results(tmp_path, batch_id="batch_0")
        assert run_command(tmp_path, server) == TABLE
        assert len(server.batches.made) == 1


def test_a_run_killed_before_it_wrote_the_id_finds_its_batch(tmp_path: Path) -> None:
    with ScriptedServer(Answers(TABLE)) as server:
        with pytest.raises(AnswersMissing):
            run_command(tmp_path, server)
        forget_the_results(tmp_path, batch_id=None)
        assert run_command(tmp_path, server) == TABLE
        assert len(server.batches.made) == 1


def forget_the_results(folder: Path, batch_id: str | None) -> None:
    """As a kill before the end would have left the folder."""
    record = next((folder / "batches").glob("*.batch.json"))
    record.write_text(json.dumps({"batch_id": batch_id}))
    for path in (folder / "batches").glob("*.output.jsonl"):
        path.unlink()


def test_a_server_without_batches_is_one_line(tmp_path: Path) -> None:
    with ScriptedServer(Answers(TABLE)) as server:
        server.batches.answer = lambda *_: (404, {}, b'{"error": {"message": "Not found"}}')  # type: ignore[method-assign]
        with pytest.raises(ServerError, match=r"Not found; check base_url .* and that the server takes batches"):
            run_command(tmp_path, server)
