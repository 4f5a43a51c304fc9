"""Rows in and out: what is kept, what is refused, and how the refusal reads."""

import json
from pathlib import Path

import pytest

from core.errors import DataError
from core.records import SummaryRecord, read_parallel, read_records, write_records
from tests.core.records_for_tests import record


def test_records_come_back_as_written_and_unknown_columns_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    rows = [record(), record(id="q2", item_id="q2", score=None, human_scores=[2.0, 3.0], colour="blue")]
    assert write_records(rows, path) == 2
    back = read_records(path)
    assert back == rows
    assert back[1].extra == {"colour": "blue"}
    assert (back[0].gold, back[1].gold) == (4.0, 2.5)


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("score", 7, "score: Input should be less than or equal to 5, got 7"),
        ("score", 0, "score: Input should be greater than or equal to 1, got 0"),
        ("score", "4", "score: Input should be a valid integer, got '4'"),
        ("score", True, "score: Input should be a valid integer, got True"),
        ("instruction", None, "instruction: Input should be a valid string, got None"),
        ("human_scores", [9.0, -4.0], "human_scores.0: Input should be less than or equal to 5, got 9.0"),
        ("criteria", "", "criteria: String should have at least 1 character, got ''"),
    ],
)
def test_a_bad_value_is_named_with_its_line(tmp_path: Path, field: str, value: object, says: str) -> None:
    path = tmp_path / "records.jsonl"
    rows = [record().model_dump(), {**record(id="b").model_dump(), field: value}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with pytest.raises(DataError, match=r"records.jsonl line 2: ") as caught:
        read_records(path)
    assert says in str(caught.value)


def test_a_missing_field_a_double_id_an_empty_file_and_no_file(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    row = record().model_dump()
    del row["response"]
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 1: response: Field required"):
        read_records(path)
    write_records([record(), record()], path)
    with pytest.raises(DataError, match=r"1 ids occur more than once \(q1-hi-s4\)"):
        read_records(path)
    path.write_text("", encoding="utf-8")
    with pytest.raises(DataError, match="holds no rows"):
        read_records(path)
    with pytest.raises(DataError, match="No such file"):
        read_records(tmp_path / "absent.jsonl")


def test_a_summary_with_raters_has_their_mean() -> None:
    row = {"id": "s", "language": "tr", "dimension": "coherence", "document_id": "d", "document": "D", "summary": "S"}
    assert SummaryRecord(**row, human_scores=[2.0, 3.0]).human_score == 2.5
    assert SummaryRecord(**row).human_score is None
    with pytest.raises(ValueError, match="less than or equal to 1000000000"):
        SummaryRecord(**row, human_scores=[1e308])


def test_parallel_rows_need_text_in_every_asked_column(tmp_path: Path) -> None:
    path = tmp_path / "parallel.jsonl"
    path.write_text('{"id": "1", "document_id": null, "en": "a", "hi": "क"}\n{"id": "2", "en": "b", "hi": " "}\n')
    assert len(read_parallel(path, ["en"])) == 2
    with pytest.raises(DataError, match="line 2: no text in column 'hi'"):
        read_parallel(path, ["en", "hi"])
