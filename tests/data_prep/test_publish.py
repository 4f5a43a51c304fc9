"""Publishing: the plan, the card, and a push to a Hub on loopback that is read back by the users' own means."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from core.config import exit_status, parse_config
from core.records import JudgeRecord, read_records, write_records
from data_prep.publish import PublishConfig, main
from tests.conftest import REPO
from tests.core.records_for_tests import record
from tests.hub_server import HubServer

NAME = "owner/judged"


def records(code: str, count: int) -> list[JudgeRecord]:
    return [
        record(
            id=f"{code}{n}", item_id=f"i{n}", language=code, score=n % 5 + 1, feedback="Fine.", reference_language="en"
        )
        for n in range(count)
    ]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """hi: records of a finished translation; te: records that nothing is known of."""
    monkeypatch.chdir(tmp_path)
    Path("hi").mkdir()
    write_records(records("hi", 4), "hi/records.jsonl")
    counts = {"hi": {"rows": 6, "written": 4, "rejected": 2, "rejected_by_fault": {"script": 2}}}
    manifest = {"command": "data_prep.translate", "status": "done", "config": {"model": "gpt-4o", "language": "hi"}}
    Path("hi/manifest.json").write_text(json.dumps(manifest | {"prompt_version": "t-1", "counts": counts}))
    write_records(records("te", 3), "te.jsonl")
    return tmp_path


BASIC = ["--title", "Judged", "--license", "cc-by-4.0", "--sources", "a source (MIT)", "--output", "out"]


def run(*flags: str) -> int:
    given = ["--input", "hi=hi/records.jsonl", "te:test=te.jsonl", "--repo_id", NAME, *BASIC, *flags]
    return exit_status(lambda: main(parse_config(PublishConfig, given)))


def test_the_plan_lays_the_files_out_and_sends_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    said = capsys.readouterr()
    files = {path.relative_to("out/files").as_posix(): path for path in Path("out/files").rglob("*") if path.is_file()}
    assert set(files) == {"README.md", "hi/train.parquet", "te/test.parquet"}
    assert "3 files" in said.out
    for name, path in files.items():
        assert f"{path.stat().st_size:,}  {name}" in said.out
    assert "nothing was sent" in said.out
    assert "te.jsonl has no manifest" in said.err

    card = files["README.md"].read_text(encoding="utf-8")
    assert card in said.out.replace("\n-----\n", "\n")
    front = yaml.safe_load(card.split("---\n")[1])
    assert (front["license"], front["language"]) == ("cc-by-4.0", ["en", "hi", "te"])
    assert front["configs"] == [
        {"config_name": "hi", "data_files": [{"split": "train", "path": "hi/train.parquet"}]},
        {"config_name": "te", "data_files": [{"split": "test", "path": "te/test.parquet"}]},
    ]
    assert "| hi | train | Hindi | 4 | 4 | 1: 1, 2: 1, 3: 1, 4: 1 |" in card
    made = "data_prep.translate with gpt-4o, prompts t-1 (written 4; rejected 2; rejected by fault: script 2)"
    assert f"- hi, train: {made}." in card
    assert "- te, test: no record of how it was made." in card
    assert "Every translation was checked" in card
    for text in (card, Path("out/manifest.json").read_text()):
        assert str(folder) not in text


def test_the_same_records_give_the_same_bytes(folder: Path) -> None:
    assert run() == 0
    before = {path: path.read_bytes() for path in Path("out/files").rglob("*") if path.is_file()}
    assert run("--if_exists", "overwrite") == 0
    assert {path: path.read_bytes() for path in Path("out/files").rglob("*") if path.is_file()} == before


CHANGES: dict[str, tuple[list[str], str]] = {
    "no licence": (["--license", ""], "license: String should have at least 1 character"),
    "no name": (["--input", "hi/records.jsonl"], "is not CONFIG=FILE or CONFIG:SPLIT=FILE"),
    "twice": (["--input", "hi=te.jsonl", "hi=te.jsonl"], "input names hi/train twice"),
    "wrong language": (["--input", "hi=te.jsonl"], "te.jsonl row 1 is in te, its configuration is hi"),
    "absent": (["--input", "hi=absent.jsonl"], "absent.jsonl cannot be read"),
    "repo without owner": (["--repo_id", "judged"], "repo_id: String should match pattern"),
    "a path in the card": (
        ["--description", "Made in /home/someone/judges."],
        "README.md names a path of this machine",
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_wrong_input_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str], what: str) -> None:
    flags, message = CHANGES[what]
    assert run(*flags) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1


def test_records_of_an_unfinished_or_changed_run_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unfinished = {"command": "data_prep.translate", "status": "failed"}
    Path("hi/manifest.json").write_text(json.dumps(unfinished))
    assert run() == 2
    assert "hi/records.jsonl is of a run that is not finished" in capsys.readouterr().err
    changed: dict[str, Any] = {"command": "data_prep.convert", "outputs": {"hi/records.jsonl": "0" * 64}}
    Path("hi/records.jsonl.manifest.json").write_text(json.dumps(changed))
    assert run() == 2
    assert "was changed since data_prep.convert wrote it" in capsys.readouterr().err


def command(module: str, folder: Path, hub: HubServer, *flags: str) -> subprocess.CompletedProcess[str]:
    settings = {
        "HF_ENDPOINT": hub.endpoint,
        "HF_HOME": str(folder / "hf"),
        "HF_TOKEN": "hf_test",
        "HF_HUB_OFFLINE": "0",
        "HF_HUB_DISABLE_XET": "1",
        "PYTHONPATH": str(REPO),
    }
    words = [sys.executable, "-m", f"data_prep.{module}", *flags]
    return subprocess.run(
        words, cwd=folder, env={**os.environ, **settings}, capture_output=True, text=True, timeout=180
    )


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "format"), [("intel", "feedback-collection"), ("records", "columns")])
def test_a_push_is_read_back_as_the_same_records(folder: Path, shape: str, format: str) -> None:
    original = [r.model_copy(update={"extra": {"note": r.id}} if shape == "records" else {}) for r in records("te", 3)]
    write_records(original, "te.jsonl")
    flags = ["--input", "te=te.jsonl", "--repo_id", NAME, *BASIC, "--shape", shape, "--push", "true", "--tag", "v1"]
    with HubServer() as hub:
        hub.fail(at=8)  # one of the upload's requests, the first time
        first = command("publish", folder, hub, *flags)
        assert first.returncode == 2, first.stderr
        assert len(first.stderr.strip().splitlines()[-1].split("error: ")) == 2
        hub.fail()
        done = command("publish", folder, hub, *flags, "--if_exists", "overwrite")
        assert done.returncode == 0, done.stderr
        assert "3 rows read back" in done.stdout
        repo = hub.repos["dataset", NAME]
        assert repo.private
        assert [commit.message for commit in repo.commits[1:]] == ["Upload 3 records in 1 splits"]
        assert repo.tags == {"v1": repo.commits[-1].sha}
        assert not [name for name, blob in repo.commits[-1].files.items() if str(folder).encode() in blob.data]

        again = command("publish", folder, hub, *flags, "--if_exists", "overwrite")
        assert "all files were there already" in again.stdout
        assert len(repo.commits) == 2

        wanted = ["--input", NAME, "--format", format, "--hub_config", "te", "--revision", "v1", "--language", "te"]
        read = command("convert", folder, hub, *wanted, "--output", "back.jsonl")
        assert read.returncode == 0, read.stderr
    assert read_records(folder / "back.jsonl") == original
