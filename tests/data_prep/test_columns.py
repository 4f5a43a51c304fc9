"""Any table through a column map."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.errors import DataError
from data_prep.formats.columns import columns
from data_prep.options import ConvertConfig

RUBRIC = {"criteria": "c"} | {f"score{n}_description": f"level {n}" for n in range(1, 6)}


def converted(source: Path, **options: Any) -> list[Any]:
    return list(columns(ConvertConfig(input=str(source), format="columns", output=source.parent / "out", **options)))


def jsonl(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_map_constants_and_what_is_left(tmp_path: Path) -> None:
    row = {"prompt": "p", "answer": "a", "gold": "4", "lang": "te", "reference_answer": "r", "extra": {"x": 1}, "y": 2}
    mapped = {"instruction": "prompt", "response": "answer", "score": "gold", "language": "lang", "id": ["lang", "y"]}
    (found,) = converted(
        jsonl(tmp_path / "a.jsonl", row | RUBRIC),
        columns=mapped,
        constants={"source": "mine", "reference_language": "te"},
    )
    assert (found.instruction, found.response, found.score, found.language) == ("p", "a", 4, "te")
    assert (found.id, found.source, found.reference_language) == ("te-2", "mine", "te")
    assert found.extra == {"x": 1}


def test_a_column_with_a_field_name_goes_to_extra_where_the_field_is_mapped_elsewhere(tmp_path: Path) -> None:
    row = {"instruction": "p", "response": "a", "reference_answer": "en", "reference_answer_te": "te", **RUBRIC}
    (found,) = converted(
        jsonl(tmp_path / "a.jsonl", row), columns={"reference_answer": "reference_answer_te"}, language="te"
    )
    assert (found.reference_answer, found.extra) == ("te", {"reference_answer": "en"})


def test_rows_in_other_languages_are_left_out(tmp_path: Path) -> None:
    rows = [{"instruction": code, "response": "a", "language": code, **RUBRIC} for code in ("hi", "te", "hi", "en")]
    source = jsonl(tmp_path / "a.jsonl", *rows)
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
    (found,) = converted(jsonl(tmp_path / "a.jsonl", row | RUBRIC), language="hi")
    assert (found.system, found.score, found.extra) == (None, None, {"note": None})


def test_summaries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = {
        "id": "s",
        "lang": "ar",
        "inner_index": 18,
        "dimension": "coherence",
        "document": "d",
        "summary": "",
        "scores": [2, 3],
        "n": 2,
    }
    mapped = {"language": "lang", "human_scores": "scores", "document_id": ["lang", "inner_index"]}
    (found,) = converted(jsonl(tmp_path / "a.jsonl", row), to="summaries", columns=mapped)
    assert (found.document_id, found.human_scores, found.human_score, found.summary) == ("ar-18", [2.0, 3.0], 2.5, "")
    assert "left out: n" in capsys.readouterr().out


def test_parallel(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "a.jsonl", *({"id": n, "doc": "d", "en": "One", "hindi": "एक"} for n in (1, 2)))
    first, _ = converted(source, to="parallel", columns={"document_id": "doc", "hi": "hindi"})
    assert first.model_dump() == {"id": "1", "document_id": "d", "hi": "एक", "en": "One"}


@pytest.mark.parametrize(
    "second", [{"id": "2", "en": "Two"}, {"id": "2", "en": "Two", "hi": ""}, {"id": "2", "en": "Two", "hi": None}]
)
def test_parallel_rows_all_have_the_languages_of_the_first(tmp_path: Path, second: dict[str, Any]) -> None:
    source = jsonl(tmp_path / "a.jsonl", {"id": "1", "en": "One", "hi": "एक"}, second)
    with pytest.raises(DataError, match="line 2: no text in hi"):
        converted(source, to="parallel")


def test_an_id_is_not_made_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nothing in column 'inner_index' \\(mapped to document_id\\)"):
        converted(
            jsonl(tmp_path / "a.jsonl", {"lang": "ar", "inner_index": None}),
            to="summaries",
            columns={"document_id": ["lang", "inner_index"]},
        )


def test_case_29_all_rows_of_a_tsv_with_quotes_are_converted(tmp_path: Path) -> None:
    source = tmp_path / "a.tsv"
    source.write_text('id\ten\thindi\n1\ta\t"b\n2\tc\td\n3\te\tf" g\n4\th\ti\n', encoding="utf-8")
    rows = converted(source, to="parallel", columns={"hi": "hindi"})
    assert [row.texts()["hi"] for row in rows] == ['"b', "d", 'f" g', "i"]
