"""Prompts are read from tables with the parts they bring; what is broken is named with its place."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.errors import ConfigError, DataError
from data_prep.recon_stages.prompts import RUBRIC, kept_parts, read_prompts

RUBRIC_TEXTS = {name: f"the {name}'s text" for name in RUBRIC}


def read(folder: Path, *rows: dict[str, Any], columns: dict[str, str] | None = None) -> list[Any]:
    path = folder / "p.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return read_prompts([path], columns or {})


@pytest.mark.parametrize("cell", [json.dumps(RUBRIC_TEXTS), repr(RUBRIC_TEXTS), RUBRIC_TEXTS])
def test_a_rubric_cell_is_json_or_a_python_dict_or_a_mapping(tmp_path: Path, cell: Any) -> None:
    (prompt,) = read(tmp_path, {"input": "i", "specific": cell}, columns={"instruction": "input", "rubric": "specific"})
    assert prompt.rubric == RUBRIC_TEXTS


def test_parts_are_taken_as_they_are_and_empty_cells_are_missing_parts(tmp_path: Path) -> None:
    first, second = read(
        tmp_path,
        {"id": 7, "instruction": " i\n", "score_1_response": " r ", "score_1_feedback": " ", "note": "n", "gap": ""},
        {"instruction": "j", "criteria": "c", "score2_description": "", "capability": None, "reference_answer": "ref"},
    )
    assert (first.id, first.instruction, first.extra) == ("7", " i\n", {"note": "n"})
    assert (first.responses, first.feedback, first.rubric) == ({1: " r "}, {}, {})
    assert (second.rubric, second.capability, second.reference_answer) == ({"criteria": "c"}, None, "ref")
    assert len(second.id) == 16
    assert kept_parts([first, second]) == {"capability": 0, "rubric": 0, "reference": 1, "response": 1, "feedback": 0}


def test_tsv_and_csv_are_read_with_quotes_as_told(tmp_path: Path) -> None:
    (tmp_path / "p.tsv").write_text('id\tinput\na\t"two\nlines"\n', encoding="utf-8")
    (prompt,) = read_prompts([tmp_path / "p.tsv"], {"instruction": "input"}, "csv")
    assert prompt.instruction == "two\nlines"


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"id": "a"}, r"line 1: no instruction; map it"),
        ({"instruction": " "}, r"line 1: no instruction"),
        ({"instruction": ["a"]}, r"line 1: instruction holds list, not text"),
        ({"instruction": "i", "rubric": "{'criteria': "}, r"line 1: rubric is neither JSON nor a Python dict"),
        ({"instruction": "i", "rubric": "[1]"}, r"line 1: rubric is not a mapping"),
        ({"instruction": "i", "rubric": {"criteria": 3}}, r"line 1: rubric is not a mapping"),
    ],
)
def test_broken_rows_are_named(tmp_path: Path, row: dict[str, Any], reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        read(tmp_path, row)


def test_ids_occur_once_and_instructions_that_repeat_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    read(tmp_path, {"id": "a", "instruction": "é"}, {"id": "b", "instruction": "é"})
    assert "1 of 2 prompts repeat the instruction of another" in capsys.readouterr().err
    with pytest.raises(DataError, match="1 ids occur more than once"):
        read(tmp_path, {"id": "a", "instruction": "i"}, {"id": "a", "instruction": "j"})


def test_columns_that_do_not_exist_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean instruction"):
        read(tmp_path, {"instruction": "i"}, columns={"instructon": "input"})
    with pytest.raises(DataError, match=r"no column 'input' \(mapped to instruction\); the row has text"):
        read(tmp_path, {"text": "i"}, columns={"instruction": "input"})
