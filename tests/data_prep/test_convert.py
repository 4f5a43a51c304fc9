"""The command: every kind of wrong input is one line and writes nothing; the policy for a file that exists; holdouts."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from core.config import exit_status, parse_config
from core.errors import ConfigError
from core.records import read_records
from data_prep.convert import main
from data_prep.formats import PARALLEL, RECORDS, SUMMARIES, Format
from data_prep.holdout import hold_out
from data_prep.options import ConvertConfig, ParallelFormat, RecordsFormat, SummariesFormat
from tests.core.records_for_tests import record

RUBRIC = {"criteria": "Is it right?"} | {f"score{n}_description": f"level {n}" for n in range(1, 6)}

Convert = Callable[..., int]


def row(number: int, **changes: Any) -> dict[str, Any]:
    texts = {
        "instruction": f"Question {number}?",
        "response": f"Answer {number}.",
        "reference_answer": f"Right {number}.",
    }
    return {"id": f"r{number}", "item_id": f"i{number}", "language": "hi", **texts, **RUBRIC, "score": 3, **changes}


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def convert(tmp_path: Path) -> Convert:
    """Run the command line on an input, from flags to exit status; the output is out.jsonl."""

    def run(source: object, *flags: str, format: str = "columns") -> int:
        given = ["--input", str(source), "--format", format, "--output", str(tmp_path / "out.jsonl"), *flags]
        return exit_status(lambda: main(parse_config(ConvertConfig, given)))

    return run


@pytest.mark.parametrize(
    ("formats", "names"), [(RECORDS, RecordsFormat), (SUMMARIES, SummariesFormat), (PARALLEL, ParallelFormat)]
)
def test_the_registries_hold_the_formats_that_the_configs_name(formats: dict[str, Format], names: Any) -> None:
    assert set(formats) == set(get_args(names))


def test_records_come_out_as_they_went_in(tmp_path: Path, convert: Convert, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [row(1, note="kept"), row(2, score="4.0"), row(3, score=None)]
    assert convert(write(tmp_path / "in.jsonl", rows)) == 0
    records = read_records(tmp_path / "out.jsonl")
    assert [r.score for r in records] == [3, 4, None]
    assert records[0].extra == {"note": "kept"}
    assert records[0].instruction == "Question 1?"
    assert "3 rows; hi 3; 3 items; scores 3: 1, 4: 1, none: 1" in capsys.readouterr().out
    manifest = json.loads((tmp_path / "out.jsonl.manifest.json").read_text())
    assert manifest["counts"]["rows"] == 3
    assert str(tmp_path.parent) not in json.dumps(manifest)


WRONG = {
    "score of 7": ([row(1), row(2, score=7)], [], "line 2: score: Input should be less than or equal to 5, got 7"),
    "score of 0": ([row(1, score="0")], [], "line 1: score: Input should be greater than or equal to 1"),
    "half a score": ([row(1, score=4.5)], [], "line 1: score 4.5 is not a whole number"),
    "score in words": ([row(1, score="four")], [], "line 1: score 'four' is not a number"),
    "missing field": ([{k: v for k, v in row(1).items() if k != "criteria"}], [], "line 1: criteria: Field required"),
    "duplicate ids": ([row(1), row(2, id="r1"), row(3)], [], "1 ids occur more than once (r1)"),
    "empty file": ([], [], "holds no rows"),
    "other language": ([row(1)], ["--language", "te"], "holds no rows in te"),
    "unknown language": ([row(1)], ["--language", "xx"], "language 'xx' is unknown"),
    "unknown language in a row": ([row(1, language="Hindi")], [], "line 1: language 'Hindi' is unknown"),
    "a list for a language": ([row(1, language=["hi"])], [], "line 1: language ['hi'] is unknown"),
    "no language": ([row(1, language=None)], [], "do not say their language"),
    "unknown column": ([row(1)], ["--columns", "{score: gold}"], "nothing in column 'gold' (mapped to score)"),
    "unknown field": (
        [row(1)],
        ["--columns", "{scor: score}"],
        "columns: field scor is unknown; did you mean score",
    ),
    "unknown constant": (
        [row(1)],
        ["--constants", "{sorce: x}"],
        "constants: field sorce is unknown; did you mean source",
    ),
    "option of another format": ([row(1)], ["--rubric", "general"], "format columns does not use rubric"),
    "half a holdout": ([row(1)], ["--holdout_items", "1"], "holdout_items and holdout_output go together"),
}


@pytest.mark.parametrize("fault", WRONG)
def test_wrong_input_is_one_line_and_writes_nothing(
    tmp_path: Path, convert: Convert, capsys: pytest.CaptureFixture[str], fault: str
) -> None:
    rows, flags, message = WRONG[fault]
    assert convert(write(tmp_path / "in.jsonl", rows), *flags) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


@pytest.mark.parametrize(
    ("source", "format", "message"),
    [
        ("no/such/file.jsonl", "columns", "does not exist"),
        ("no/such.txt", "mjudge", "does not exist"),
        ("no/such/folder", "cia-tsv", "does not exist"),
        ("x.jsonl", "ntrex", "format ntrex is read by python -m data_prep.parallel"),
        ("x.jsonl", "beyond-ngrams", "format beyond-ngrams is read by python -m data_prep.summaries"),
        ("x.jsonl", "hercule", "format: Input should be 'feedback-collection', 'recon'"),
    ],
)
def test_missing_input_or_format(
    convert: Convert, capsys: pytest.CaptureFixture[str], source: str, format: str, message: str
) -> None:
    assert convert(source, "--language", "hi", format=format) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1


def test_existing_file_policy(tmp_path: Path, convert: Convert, capsys: pytest.CaptureFixture[str]) -> None:
    source, output = write(tmp_path / "in.jsonl", [row(1)]), tmp_path / "out.jsonl"
    assert convert(source, "--if_exists", "resume") == 0
    assert convert(source) == 2
    assert "exists; name another, or pass --if_exists" in capsys.readouterr().err
    assert convert(source, "--if_exists", "resume") == 0
    assert "finished before, nothing left to do" in capsys.readouterr().out
    assert convert(source, "--if_exists", "resume", "--constants", "{source: mine}") == 2
    assert "was written with other config (constants)" in capsys.readouterr().err

    write(source, [row(1), row(2)])
    assert convert(source, "--if_exists", "resume") == 2
    assert "was written with other inputs (in.jsonl)" in capsys.readouterr().err
    assert convert(source, "--if_exists", "overwrite") == 0
    assert len(read_records(output)) == 2
    assert convert(output, "--if_exists", "overwrite") == 2
    assert "is the input" in capsys.readouterr().err
    assert len(read_records(output)) == 2


@pytest.mark.parametrize("manifest", [None, '{"command": "data_prep.parallel"}'])
def test_a_file_of_someone_else_is_not_overwritten(
    tmp_path: Path, convert: Convert, capsys: pytest.CaptureFixture[str], manifest: str | None
) -> None:
    (tmp_path / "out.jsonl").write_text("mine\n")
    if manifest is not None:
        (tmp_path / "out.jsonl.manifest.json").write_text(manifest)
    assert convert(write(tmp_path / "in.jsonl", [row(1)]), "--if_exists", "overwrite") == 2
    assert "this command did not write it" in capsys.readouterr().err
    assert (tmp_path / "out.jsonl").read_text() == "mine\n"


def test_a_failed_overwrite_leaves_the_old_file(tmp_path: Path, convert: Convert) -> None:
    source = write(tmp_path / "in.jsonl", [row(1)])
    assert convert(source) == 0
    before = (tmp_path / "out.jsonl").read_bytes()
    write(source, [row(1), row(2, score=9)])
    assert convert(source, "--if_exists", "overwrite") == 2
    assert (tmp_path / "out.jsonl").read_bytes() == before


def test_holdout_keeps_all_rows_of_an_item_on_one_side(tmp_path: Path, convert: Convert) -> None:
    rows = [
        row(n, id=f"r{n}-{code}", item_id=f"i{n % 10}", instruction=f"{code} {n % 10}", language=code)
        for n in range(20)
        for code in ("hi", "en")
    ]
    held_path = tmp_path / "held.jsonl"
    flags = ("--holdout_items", "3", "--holdout_output", str(held_path), "--seed", "0")
    assert convert(write(tmp_path / "in.jsonl", rows), *flags) == 0
    kept, held = read_records(tmp_path / "out.jsonl"), read_records(held_path)
    # 20 numbers x 2 languages = 40 rows of 10 items, 4 rows an item: 3 items are 12 rows.
    assert (len(kept), len(held)) == (28, 12)
    assert not {r.item_id for r in kept} & {r.item_id for r in held}
    assert {r.language for r in held} == {"hi", "en"}


def test_holdout_takes_items_with_one_instruction_as_one() -> None:
    e_acute, e_and_accent = "caf\u00e9", "cafe\u0301"
    rows = [record(id="a", item_id="1", instruction=e_acute), record(id="b", item_id="2", instruction=e_and_accent)]
    rows += [record(id=f"c{n}", item_id=f"c{n}", instruction=f"other {n}") for n in range(3)]
    for seed in range(20):
        kept, held = hold_out(rows, 1, seed)
        assert len({r.id in ("a", "b") for r in held}) == 1
        assert len(held) == (2 if held[0].id in ("a", "b") else 1)
        assert len(kept) + len(held) == 5
        assert hold_out(list(reversed(rows)), 1, seed)[1] == list(reversed(held))


def test_holdout_of_everything_is_refused() -> None:
    with pytest.raises(ConfigError, match="hold 2 items"):
        hold_out([record(id="a", item_id="1", instruction="x"), record(id="b", item_id="2", instruction="y")], 2, 0)
