"""Any table of records through a column map."""

from pathlib import Path
from typing import Any

import pytest

from data_prep.formats.columns import record_columns
from data_prep.options import ConvertConfig
from tests.data_prep.tables_for_tests import write_jsonl

RUBRIC = {"criteria": "c"} | {f"score{n}_description": f"level {n}" for n in range(1, 6)}


def converted(source: Path, **options: Any) -> list[Any]:
    return list(
        record_columns(ConvertConfig(input=str(source), format="columns", output=source.parent / "out", **options))
    )


def test_a_map_constants_and_what_is_left(tmp_path: Path) -> None:
    row = {"prompt": "p", "answer": "a", "gold": "4", "lang": "te", "reference_answer": "r", "extra": {"x": 1}, "y": 2}
    mapped = {"instruction": "prompt", "response": "answer", "score": "gold", "language": "lang", "id": ["lang", "y"]}
    (found,) = converted(
        write_jsonl(tmp_path / "a.jsonl", row | RUBRIC),
        columns=mapped,
        constants={"source": "mine", "reference_language": "te"},
    )
    assert (found.instruction, found.response, found.score, found.language) == ("p", "a", 4, "te")
    assert (found.id, found.source, found.reference_language) == ("te-2", "mine", "te")
    assert found.extra == {"x": 1}


def test_a_column_with_a_field_name_goes_to_extra_where_the_field_is_mapped_elsewhere(tmp_path: Path) -> None:
    row = {"instruction": "p", "response": "a", "reference_answer": "en", "reference_answer_te": "te", **RUBRIC}
    (found,) = converted(
        write_jsonl(tmp_path / "a.jsonl", row), columns={"reference_answer": "reference_answer_te"}, language="te"
    )
    assert (found.reference_answer, found.extra) == ("te", {"reference_answer": "en"})


def test_rows_in_other_languages_are_left_out(tmp_path: Path) -> None:
    rows = [{"instruction": code, "response": "a", "language": code, **RUBRIC} for code in ("hi", "te", "hi", "en")]
    source = write_jsonl(tmp_path / "a.jsonl", *rows)
    assert [r.language for r in converted(source, language=["hi", "en"])] == ["hi", "hi", "en"]


def test_csv_cells_become_what_the_fields_hold(tmp_path: Path) -> None:
    header = ["id", "item_id", "language", "instruction", "response", *RUBRIC, "score", "human_scores", "system"]
    cells = ["1", "7", "hi", "p", "", *RUBRIC.values(), "4.0", '"[4, 3]"', ""]
    source = tmp_path / "a.csv"
    source.write_text(f"{','.join(header)}\n{','.join(cells)}\n", encoding="utf-8")
    (found,) = converted(source)
    assert (found.id, found.item_id, found.score, found.human_scores) == ("1", "7", 4, [4.0, 3.0])
    assert (found.response, found.system) == ("", None)


def test_nan_is_an_empty_cell(tmp_path: Path) -> None:
    row = {"instruction": "p", "response": "a", "system": float("nan"), "score": float("nan"), "note": float("nan")}
    (found,) = converted(write_jsonl(tmp_path / "a.jsonl", row | RUBRIC), language="hi")
    assert (found.system, found.score, found.extra) == (None, None, {"note": None})


@pytest.mark.parametrize(
    ("cell", "extra"), [('{"x": 1}', {"x": 1}), ("a note", {"extra": "a note"}), ("7", {"extra": 7}), (None, {})]
)
def test_extra_as_published_json_text_or_as_any_other_column(tmp_path: Path, cell: str | None, extra: Any) -> None:
    row = {"instruction": "p", "response": "a", "extra": cell, **RUBRIC}
    (found,) = converted(write_jsonl(tmp_path / "a.jsonl", row), language="hi")
    assert found.extra == extra
