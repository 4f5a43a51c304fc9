"""Run folders: what the manifest holds, and the policy for a folder that exists."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from core.errors import AlreadyDone, DataError, RunFolderError
from core.run import Run, read_manifest


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "in.jsonl"
    path.write_text('{"id": 1}\n', encoding="utf-8")
    return path


def start(data: Path, **changes: Any) -> Run:
    settings: dict[str, Any] = {
        "command": "eval.judge",
        "config": {"batch_size": 2, "input": str(data)},
        "inputs": [data],
    }
    return Run("runs/a", **{**settings, **changes})


def test_the_manifest_says_what_made_it_and_holds_no_machine_path(data: Path) -> None:
    with start(data, seed=7) as run:
        assert read_manifest("runs/a")["status"] == "running"  # type: ignore[index]
        run.note(counts={"hi": 3})
    manifest = read_manifest("runs/a")
    assert manifest is not None
    assert (manifest["status"], manifest["seed"], manifest["counts"]) == ("done", 7, {"hi": 3})
    assert manifest["inputs"] == {"in.jsonl": hashlib.sha256(data.read_bytes()).hexdigest()}
    assert manifest["config"] == {"batch_size": 2, "input": "in.jsonl"}
    assert manifest["started"] <= manifest["ended"]
    assert "torch" in manifest["packages"]
    assert str(data.parent) not in Path("runs/a/manifest.json").read_text(encoding="utf-8")


def test_an_error_leaves_status_failed_with_the_reason(data: Path) -> None:
    with pytest.raises(ZeroDivisionError), start(data):
        raise ZeroDivisionError("by zero")
    manifest = read_manifest("runs/a")
    assert manifest is not None
    assert (manifest["status"], manifest["error"]) == ("failed", "ZeroDivisionError: by zero")


def test_an_error_in_the_manifest_names_no_place_of_this_machine(data: Path, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="full"), Run(tmp_path / "b", "eval.judge", {}, [data]) as run:
        raise OSError(28, "full", f"{run.path}/x")
    assert read_manifest(tmp_path / "b")["error"] == "OSError: [Errno 28] full: 'b/x'"  # type: ignore[index]


def test_wrong_input_leaves_nothing_half_written_unless_work_was_done(data: Path) -> None:
    with pytest.raises(DataError), start(data):
        raise DataError("none fits")
    assert not Path("runs/a").exists()
    run = start(data)
    (run.path / "predictions.jsonl").touch()
    run.__exit__(DataError, DataError("row 5"), None)
    assert read_manifest("runs/a")["status"] == "failed"  # type: ignore[index]


def test_fail_is_the_default_and_overwrite_replaces(data: Path) -> None:
    with start(data) as run:
        (run.path / "old.txt").touch()
    with pytest.raises(RunFolderError, match="output runs/a exists"):
        start(data)
    with start(data, if_exists="overwrite") as run:
        assert not (run.path / "old.txt").exists()


def test_a_folder_of_the_users_is_never_overwritten(data: Path) -> None:
    Path("runs/a").mkdir(parents=True)
    (Path("runs/a") / "thesis.tex").touch()
    for policy in ("fail", "resume", "overwrite"):
        with pytest.raises(RunFolderError):
            start(data, if_exists=policy)
    assert (Path("runs/a") / "thesis.tex").exists()


def test_overwriting_takes_neither_another_commands_run_nor_an_input(data: Path) -> None:
    with start(data) as run:
        (run.path / "predictions.jsonl").write_text("kept")
    with pytest.raises(RunFolderError, match=r"holds a run of eval\.judge, not of eval\.report"):
        start(data, command="eval.report", if_exists="overwrite")
    with pytest.raises(RunFolderError, match=r"output runs/a holds the input runs/a/predictions\.jsonl"):
        start(data, inputs=["runs/a/predictions.jsonl"], if_exists="overwrite")
    assert (Path("runs/a") / "predictions.jsonl").read_text() == "kept"


def test_an_output_that_cannot_be_made_is_said(data: Path) -> None:
    with pytest.raises(DataError, match=r"output folder in\.jsonl/a cannot be made"):
        Run("in.jsonl/a", "eval.judge", {})


def test_resume_starts_goes_on_is_done_or_is_refused(data: Path) -> None:
    first = start(data, if_exists="resume")
    assert not first.resumed
    first.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert read_manifest("runs/a")["status"] == "interrupted"  # type: ignore[index]
    with start(data, if_exists="resume") as run:
        assert run.resumed
    with pytest.raises(AlreadyDone, match="nothing left to do"):
        start(data, if_exists="resume")
    with pytest.raises(RunFolderError, match=r"other config \(batch_size\)"):
        start(data, if_exists="resume", config={"batch_size": 3, "input": str(data)})
    data.write_text('{"id": 2}\n', encoding="utf-8")
    with pytest.raises(RunFolderError, match=r"other inputs \(in.jsonl\)"):
        start(data, if_exists="resume")


def test_a_missing_input_makes_no_folder(data: Path) -> None:
    with pytest.raises(DataError, match=r"input absent\.jsonl does not exist"):
        start(data, inputs=["absent.jsonl"])
    assert not Path("runs").exists()


def test_other_processes_touch_nothing(data: Path) -> None:
    with start(data, writes=False) as run:
        run.note(counts=1)
    assert not Path("runs").exists()


def test_a_run_may_be_given_more_of_what_it_grows_by_and_not_less(data: Path) -> None:
    def grown(rounds: int) -> Run:
        return start(data, config={"rounds": rounds, "batch_size": 2}, if_exists="resume", grows="rounds")

    with grown(3):
        pass
    with grown(5) as more:  # finished, but not all of this one
        assert more.resumed
    assert read_manifest("runs/a")["config"] == {"rounds": 5, "batch_size": 2}  # type: ignore[index]
    with pytest.raises(AlreadyDone):
        grown(5)
    with pytest.raises(RunFolderError, match=r"other config \(rounds\)"):
        grown(4)
    with pytest.raises(RunFolderError, match=r"other config \(batch_size, rounds\)"):
        start(data, config={"rounds": 9, "batch_size": 3}, if_exists="resume")
