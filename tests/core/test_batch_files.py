"""Batch files: what is written, how results are joined, and what is asked again (case 34)."""

import json
from pathlib import Path
from typing import Any

import pytest

import core.batch_files
from core.batch_files import RequestFile, read_result
from core.client import Client
from core.errors import AnswersMissing, ConfigError, DataError, RunFolderError
from tests.core.client_for_tests import ask_all, options, request, stored_rows


def batch_options(folder: Path, **changes: Any) -> Any:
    return options(folder / "store", batch="files", batch_dir=folder / "batches", **changes)


def run_command(folder: Path, texts: list[str]) -> dict[str, str | None]:
    """What a command does: ask for all texts, then finish."""
    with Client(batch_options(folder)) as client:
        answers = ask_all(client, texts)
        client.finish()
    return {text: answer.text for text, answer in answers.items()}


def key(text: str) -> str:
    return request(text).key("scripted")


def result(text: str, answer: str | None = None, error: str | None = None, status: int = 200) -> dict[str, Any]:
    body: dict[str, Any] = {"choices": [{"message": {"content": answer}, "finish_reason": "stop"}]}
    if error is not None:
        body = {"error": {"message": error}}
    return {"custom_id": key(text), "response": {"status_code": status, "body": body}, "error": None}


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def test_requests_are_openai_batch_lines(tmp_path: Path) -> None:
    with pytest.raises(AnswersMissing, match=r"2 requests wait in .*translate.hi.001.requests.jsonl; .*vllm run-batch"):
        run_command(tmp_path, ["a", "b", "a"])
    path = tmp_path / "batches" / "translate.hi.001.requests.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    body = {"model": "scripted", "messages": [{"role": "user", "content": "Translate: a"}]}
    assert rows[0] == {"custom_id": key("a"), "method": "POST", "url": "/v1/chat/completions", "body": body}
    assert [row["custom_id"] for row in rows] == [key("a"), key("b")]


def test_case_34_results_in_any_order_and_a_failure_in_the_error_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts, folder = ["a", "b", "c"], tmp_path / "batches"
    with pytest.raises(AnswersMissing, match="3 requests wait"):
        run_command(tmp_path, texts)
    write(folder / "any_name.jsonl", [result("c", "answer c"), result("a", "answer a")])
    write(folder / "errors.jsonl", [result("b", error="the model fell over", status=500)])
    with pytest.raises(AnswersMissing, match=r"1 requests wait in .*hi.002.requests.jsonl"):
        run_command(tmp_path, texts)
    said = capsys.readouterr()
    assert "2 new answers, 1 failed" in said.out
    assert "b failed in the batch: the model fell over; it is asked for again" in said.err
    assert {row["key"]: row["text"] for row in stored_rows(tmp_path / "store")} == {
        key("a"): "answer a",
        key("c"): "answer c",
    }
    # While b waits in its second file it is not queued a third time.
    with pytest.raises(AnswersMissing, match=r"1 requests wait in .*hi.002.requests.jsonl"):
        run_command(tmp_path, texts)
    assert len(list(folder.glob("*.requests.jsonl"))) == 2
    write(folder / "second.jsonl", [result("b", "answer b")])
    assert run_command(tmp_path, texts) == {"a": "answer a", "b": "answer b", "c": "answer c"}


def test_every_request_failed_and_there_is_no_output_file(tmp_path: Path) -> None:
    with pytest.raises(AnswersMissing):
        run_command(tmp_path, ["a", "b"])
    write(
        tmp_path / "batches" / "errors.jsonl",
        [
            result("a", error="no", status=429),
            {"custom_id": key("b"), "response": None, "error": {"code": "batch_expired"}},
        ],
    )
    with pytest.raises(AnswersMissing, match=r"2 requests wait in .*002"):
        run_command(tmp_path, ["a", "b"])
    assert stored_rows(tmp_path / "store") == []


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"response": None, "error": {"code": "batch_expired", "message": "ran out of time"}}, "ran out of time"),
        ({"response": None, "error": {"code": "batch_expired"}}, "batch_expired"),
        ({"response": [1], "error": None}, "status None"),
        ({"response": {"status_code": 400, "body": None}, "error": "vLLM says no"}, "vLLM says no"),
        ({"response": {"status_code": 400}, "error": {"error": {"message": "too long"}}}, "too long"),
        ({"response": {"status_code": 429, "body": {"error": {"message": "slow\ndown"}}}, "error": None}, "slow down"),
        ({"response": {"status_code": 500, "body": "oops"}}, "status 500"),
        ({"response": {"status_code": 200, "body": {"choices": []}}}, "no chat completion: \"{'choices': []}\""),
    ],
)
def test_failures_are_read_as_openai_and_vllm_write_them(row: dict[str, Any], reason: str) -> None:
    file = RequestFile(Path("f"), "translate", "hi", "m")
    answer = read_result({"custom_id": "k", **row}, file)
    assert (answer.text, answer.error) == (None, reason)


def test_unknown_and_duplicate_rows_are_counted_and_a_success_outweighs_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(AnswersMissing):
        run_command(tmp_path, ["a"])
    write(
        tmp_path / "batches" / "translate.hi.001.requests.jsonl.output.jsonl",
        [
            result("z", "stranger"),
            result("a", error="first try", status=500),
            result("a", "answer a"),
            result("a", "another"),
        ],
    )
    assert run_command(tmp_path, ["a"]) == {"a": "answer a"}
    said = capsys.readouterr().out
    assert "1 new answers, 0 failed, 1 given twice (the first counts), 1 unknown custom_ids (ignored)" in said
    run_command(tmp_path, ["a"])
    assert len(stored_rows(tmp_path / "store")) == 1


def test_a_request_missing_from_an_answered_file_is_queued_again(tmp_path: Path) -> None:
    with pytest.raises(AnswersMissing):
        run_command(tmp_path, ["a", "b"])
    write(tmp_path / "batches" / "out.jsonl", [result("a", "answer a")])
    with pytest.raises(AnswersMissing, match=r"1 requests wait in .*002"):
        run_command(tmp_path, ["a", "b"])


def test_a_cut_result_file_gives_what_is_whole(tmp_path: Path) -> None:
    with pytest.raises(AnswersMissing):
        run_command(tmp_path, ["a", "b"])
    lines = [json.dumps(result(text, f"answer {text}")) for text in ("b", "a")]
    (tmp_path / "batches" / "out.jsonl").write_text(f"{lines[0]}\n{lines[1][:30]}")
    with pytest.raises(AnswersMissing, match="1 requests wait"):
        run_command(tmp_path, ["a", "b"])
    assert [row["text"] for row in stored_rows(tmp_path / "store")] == ["answer b"]


@pytest.mark.parametrize(("limit", "value"), [("MOST_REQUESTS", 2), ("MOST_BYTES", 500)])
def test_files_are_split_at_the_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int) -> None:
    monkeypatch.setattr(core.batch_files, limit, value)
    with pytest.raises(AnswersMissing, match=r"5 requests wait in .*001.requests.jsonl and 2 more files"):
        run_command(tmp_path, list("abcde"))
    paths = sorted((tmp_path / "batches").glob("*.requests.jsonl"))
    # A line here is 220 bytes long, so that two fit into 500.
    assert [len(path.read_text().splitlines()) for path in paths] == [2, 2, 1]
    assert all(path.stat().st_size <= 500 for path in paths)


def test_an_error_before_the_end_leaves_no_half_file(tmp_path: Path) -> None:
    with Client(batch_options(tmp_path)) as client:
        ask_all(client, ["a"])  # and no finish
    assert [path.name for path in (tmp_path / "batches").iterdir() if path.name != ".lock"] == []


def test_a_folder_in_use_and_a_folder_not_named_are_one_line(tmp_path: Path) -> None:
    with Client(batch_options(tmp_path)), pytest.raises(RunFolderError, match="being written by another process"):
        Client(batch_options(tmp_path))
    with pytest.raises(ConfigError, match="batch_dir is not set"):
        Client(options(tmp_path, batch="files"))


@pytest.mark.parametrize("name", ["mine.requests.jsonl", "translate.hi.001.requests.jsonl"])
def test_a_foreign_file_is_one_line(tmp_path: Path, name: str) -> None:
    (tmp_path / "batches").mkdir()
    (tmp_path / "batches" / name).write_text('{"id": 1}\n')
    with pytest.raises(DataError, match=f"{name} is no batch file that this project wrote"):
        Client(batch_options(tmp_path))
