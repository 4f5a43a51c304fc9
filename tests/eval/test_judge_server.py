"""eval.judge with --base_url: the command's files, resume, batch files, and what does not go together."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.config import exit_status
from core.errors import AlreadyDone, AnswersMissing, ConfigError, DataError, RunFolderError, ServerError
from core.jsonl import read_jsonl, write_jsonl
from core.records import JudgeRecord, Prediction, read_rows, write_records
from core.run import read_manifest
from eval.judge import JudgeConfig, main
from tests.eval.judging_server import JudgingServer, Verdicts
from tests.eval.pico_judge import RECORDS, SPEC, record

GOLD = [one.score for one in RECORDS]


def config(
    server: JudgingServer | None, tmp_path: Path, records: list[JudgeRecord] = RECORDS, **changes: Any
) -> JudgeConfig:
    write_records(records, tmp_path / "records.jsonl")
    values = {"model_name_or_path": "judges/scripted", "base_url": server and server.base_url, "retries": 1}
    values |= {"input": tmp_path / "records.jsonl", "output": tmp_path / "judged", "with_reference": False}
    return JudgeConfig(**{**values, "store": tmp_path / "answers", "timeout": 5.0, **changes})


def predictions(folder: Path) -> list[Prediction]:
    return read_rows(folder / "predictions.jsonl", Prediction)


def test_predictions_and_manifest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with JudgingServer() as server:
        main(config(server, tmp_path))
    rows = predictions(tmp_path / "judged")
    assert [(row.id, row.judge, row.score) for row in rows] == [(one.id, "scripted", one.score) for one in RECORDS]
    said = capsys.readouterr().out.splitlines()
    assert said[0].endswith("nothing is shortened, the server's own limit decides")
    assert said[-1].endswith("4 rows, 0 unscored, 0 prompts shortened")
    manifest = read_manifest(tmp_path / "judged") or {}
    assert (manifest["status"], manifest["config"]["backend"]) == ("done", "server")
    assert manifest["requests"]["asked"] == 4
    assert manifest["counts"]["by_language"]["hi"]["rows"] == 2


def test_batches_of_ones_own_making_are_said_to_be_not_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """configs/eval/judge.yaml sets both, and serves judging in process and on a server alike."""
    with JudgingServer() as server:
        main(config(server, tmp_path, batch_size=16, token_budget=100))
    assert capsys.readouterr().out.startswith("batch_size, token_budget: not used, for a server makes its own batches")


def test_a_model_folder_that_is_served_is_prompted_as_its_judge_json_says(judge_folder: Path, tmp_path: Path) -> None:
    long = record("long", "good answer. " * 600, 5)
    with JudgingServer() as server:
        asked = config(server, tmp_path, [*RECORDS, long], model_name_or_path=str(judge_folder), with_reference=None)
        main(asked)
    assert [row.score for row in predictions(tmp_path / "judged")] == [*GOLD, 5]
    assert [row.shortened for row in predictions(tmp_path / "judged")] == [False] * 4 + [True]
    assert (read_manifest(tmp_path / "judged") or {})["prompt"] == SPEC._asdict()


def test_a_server_that_drops_in_the_middle_is_one_line_and_the_run_goes_on_at_another(tmp_path: Path) -> None:
    records = [record(f"r{number}", f"good answer {number}", 5) for number in range(30)]
    with JudgingServer(dead_after=12) as server:
        with pytest.raises(ServerError, match="what was answered is kept"):
            main(config(server, tmp_path, records, concurrency=4, retries=0))
        assert (read_manifest(tmp_path / "judged") or {})["status"] == "failed"
        had = {row["id"] for _, row in read_jsonl(tmp_path / "judged" / "predictions.jsonl")}
    assert 0 < len(had) <= 12
    with JudgingServer() as server:  # at another address
        again = config(server, tmp_path, records, if_exists="resume")
        main(again)
        assert 30 - 12 <= len(server.bodies) <= 30 - len(had)
        assert [row.id for row in predictions(tmp_path / "judged")] == [one.id for one in records]
        with pytest.raises(AlreadyDone):
            main(again)


def test_rows_that_are_there_are_not_asked_for_even_without_the_store(tmp_path: Path) -> None:
    with JudgingServer(failing_texts={"juste juste"}) as server:
        with pytest.raises(ServerError, match="1 of 4 requests failed"):
            main(config(server, tmp_path))
        server.failing_texts.clear()
        asked = len(server.bodies)
        main(config(server, tmp_path, if_exists="resume", store=tmp_path / "another"))
        assert len(server.bodies) == asked + 1
    assert [row.score for row in predictions(tmp_path / "judged")] == GOLD


def test_a_refused_row_that_is_all_that_is_left_is_unscored(tmp_path: Path) -> None:
    with JudgingServer(failing_texts={"juste juste"}) as server:
        with pytest.raises(ServerError, match="1 of 4 requests failed"):
            main(config(server, tmp_path))
        server.failing_texts.clear()
        server.refused_texts["juste juste"] = "maximum context length is 12 tokens"
        main(config(server, tmp_path, if_exists="resume"))
    assert [row.failure for row in predictions(tmp_path / "judged")] == [None, "too long", None, None]


def test_wrong_parameters_leave_no_folder_so_that_the_mended_command_runs(tmp_path: Path) -> None:
    with JudgingServer(refuses={"max_tokens": "use max_completion_tokens, not max_tokens"}) as server:
        assert exit_status(lambda: main(config(server, tmp_path))) == 2
        assert not (tmp_path / "judged").exists()
        main(config(server, tmp_path, parameters={"max_tokens": None, "max_completion_tokens": 64}))
    assert [row.score for row in predictions(tmp_path / "judged")] == GOLD


def test_batch_files(tmp_path: Path) -> None:
    def asked(**changes: Any) -> JudgeConfig:
        address = "https://api.openai.com/v1"  # nobody is asked
        return config(None, tmp_path, base_url=address, batch="files", batch_dir=tmp_path / "batch", **changes)

    with pytest.raises(AnswersMissing, match=r"4 requests wait"):
        main(asked())
    assert not (tmp_path / "judged").exists()
    answers, results = Verdicts(), []
    for path in sorted((tmp_path / "batch").glob("*.requests.jsonl")):
        for _, row in read_jsonl(path):
            body = answers.completion(row["body"])
            results.append({"custom_id": row["custom_id"], "response": {"status_code": 200, "body": body}})
    write_jsonl(results[:0:-1], tmp_path / "batch" / "results.jsonl")  # all but the first, in another order
    with pytest.raises(AnswersMissing, match="1 requests wait"):
        main(asked())
    assert len(list(read_jsonl(tmp_path / "judged" / "predictions.jsonl"))) == 3
    write_jsonl(results, tmp_path / "batch" / "results.jsonl")
    main(asked(if_exists="resume"))
    rows = predictions(tmp_path / "judged")
    assert [row.score for row in rows] == GOLD
    assert rows[1].expected_score == pytest.approx(4 - 1 / 3)


def test_a_run_in_process_is_not_resumed_on_a_server(judge_folder: Path, tmp_path: Path) -> None:
    with JudgingServer() as server:
        main(config(None, tmp_path, model_name_or_path=str(judge_folder), max_new_tokens=24))
        manifest = json.loads((tmp_path / "judged" / "manifest.json").read_text())
        (tmp_path / "judged" / "manifest.json").write_text(json.dumps({**manifest, "status": "interrupted"}))
        served = config(server, tmp_path, model_name_or_path=str(judge_folder), max_new_tokens=24, if_exists="resume")
        with pytest.raises(RunFolderError, match=r"other config \(backend\)"):
            main(served)
        assert server.bodies == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"directions": Path("x"), "strength": 0.1}, "directions, strength only counts for a judge in process"),
        ({"dtype": "float32"}, "dtype only counts for a judge in process"),
        ({"base_url": None, "tokenizer": "x"}, "tokenizer only counts for a judge on a server"),
        ({"output": Path("runs"), "store": Path("runs/answers")}, "name a folder beside it"),
        ({"top_logprobs": 21}, "less than or equal to 20"),
    ],
)
def test_fields_that_do_not_go_together(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises((ConfigError, ValueError), match=words):
        config(JudgingServer(), tmp_path, **changes)


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"base_url": "localhost:8000"}, ConfigError, "is no address of a server"),
        ({"base_url": "https://api.openai.com/v1", "api_key_env": "NO_SUCH_KEY"}, ConfigError, "NO_SUCH_KEY"),
        ({"max_length": 1024}, ConfigError, "counted with the judge's tokenizer"),
        ({"with_reference": True}, DataError, "record a has no reference_answer"),
        ({"template": "herkule"}, ConfigError, "template 'herkule' is unknown"),
    ],
)
def test_wrong_input_is_one_line_and_leaves_nothing(
    tmp_path: Path, changes: dict[str, Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        main(config(None, tmp_path, **{"base_url": "http://localhost:9/v1", **changes}))
    assert not (tmp_path / "judged").exists()
