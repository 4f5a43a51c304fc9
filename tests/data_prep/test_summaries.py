"""Summaries: Beyond N-grams as its raters saw it, and any table through a column map."""

from pathlib import Path
from typing import Any

import pytest

from core.config import exit_status, parse_config
from core.errors import DataError
from core.records import SummaryRecord, read_rows
from data_prep.formats import SUMMARIES
from data_prep.options import SummariesConfig
from data_prep.summaries import main
from tests.data_prep.tables_for_tests import write_csv, write_jsonl


def rows_of(source: Path, format: str = "beyond-ngrams", **options: Any) -> list[Any]:
    config = SummariesConfig(input=str(source), format=format, output=source.parent / "out.jsonl", **options)
    return list(SUMMARIES[format].rows(config))


def summary_row(index: int, text: str, gemini: str, gpt: str, columns: tuple[str, str]) -> dict[str, Any]:
    seen = {"gemini_corrupted_summary": f"seen gemini {index}", "gpt_corrupted_summary": f"seen gpt {index}"}
    original = {"orig_gpt_prediction": "", "orig_gemini_prediction": "original"}
    return {
        "inner_index": index,
        columns[0]: gemini,
        columns[1]: gpt,
        "label": f"label {index}",
        "text": text,
        **seen,
        **original,
    }


@pytest.mark.parametrize("folder", ["consistency", "completeness"])
def test_beyond_ngrams(tmp_path: Path, capsys: pytest.CaptureFixture[str], folder: str) -> None:
    document = "palabra " * 400
    names = ("gemini_grade", "gpt_grade") if folder == "consistency" else ("completeness_gemini", "completeness_gpt")
    coherence = [summary_row(7, document, "['3', '-1', '4']", "[4]", ("coherence_gemini", "coherence_gpt"))]
    write_csv(tmp_path / "coherence" / "turkish.csv", coherence)
    write_csv(tmp_path / "coherence" / "turkis.csv", coherence)
    write_csv(tmp_path / folder / "turkish.csv", [summary_row(7, document, "[1, 2]", "[-1]", names)])
    rows: list[SummaryRecord] = rows_of(tmp_path)
    said = capsys.readouterr().out
    assert "turkis.csv is a copy of turkish.csv and was left out" in said
    assert "2 scores of -1 (undecided) were left out" in said
    # Two systems on two dimensions; 3 and 4 without the undecided rater have mean 3.5, an undecided rater alone has none.
    assert {(r.dimension, r.system): (r.human_scores, r.human_score) for r in rows} == {
        ("coherence", "gemini"): ([3, 4], 3.5),
        ("coherence", "gpt"): ([4], 4),
        ("completeness", "gemini"): ([1, 2], 1.5),
        ("completeness", "gpt"): ([], None),
    }
    assert {r.document_id for r in rows} == {"tr-7"}
    assert {r.document for r in rows} == {document[:2500]}
    assert (rows[0].summary, rows[0].reference) == ("seen gemini 7", "label 7")


def test_beyond_ngrams_one_index_with_two_texts_is_two_documents(tmp_path: Path) -> None:
    for folder, names in (
        ("coherence", ("coherence_gemini", "coherence_gpt")),
        ("consistency", ("gemini_grade", "gpt_grade")),
    ):
        write_csv(tmp_path / folder / "spanish.csv", [summary_row(1, f"text of {folder}", "[3]", "[3]", names)])
    rows: list[SummaryRecord] = rows_of(tmp_path, language="es")
    assert {r.dimension: r.document_id for r in rows} == {"coherence": "es-1", "completeness": "es-1b"}


def test_beyond_ngrams_wrong_input(tmp_path: Path) -> None:
    source = tmp_path / "coherence" / "spanish.csv"
    names = ("coherence_gemini", "coherence_gpt")
    write_csv(source, [summary_row(1, "text", "[5]", "[3]", names)])
    with pytest.raises(DataError, match="line 2: coherence_gemini holds 5; the scale is 1 to 4"):
        rows_of(source)
    write_csv(source, [summary_row(1, "text", "[4]", "[3]", ("a", "b"))])
    with pytest.raises(DataError, match="no column coherence_gemini"):
        rows_of(source)
    with pytest.raises(DataError, match="holds no CSV named after a language"):
        rows_of(write_csv(tmp_path / "other" / "data.csv", [{"a": 1}]).parent)


def test_a_table_through_a_map(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
    (found,) = rows_of(write_jsonl(tmp_path / "a.jsonl", row), "columns", columns=mapped)
    assert (found.document_id, found.human_scores, found.human_score, found.summary) == ("ar-18", [2.0, 3.0], 2.5, "")
    assert "left out: n" in capsys.readouterr().out


def test_an_id_is_not_made_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nothing in column 'inner_index' \\(mapped to document_id\\)"):
        rows_of(
            write_jsonl(tmp_path / "a.jsonl", {"lang": "ar", "inner_index": None}),
            format="columns",
            columns={"document_id": ["lang", "inner_index"]},
        )


def test_a_table_of_summaries_alone(tmp_path: Path) -> None:
    texts = [("The sea rose.", "short"), ("The sea rose.", "Long, long."), ("A second text.", "third")]
    source = write_csv(tmp_path / "a.csv", [{"text": document, "mine": summary} for document, summary in texts])
    output = tmp_path / "out.jsonl"
    given = ["--input", str(source), "--format", "columns", "--language", "hi", "--output", str(output)]
    given += ["--columns", "{document: text, summary: mine}", "--constants", "{dimension: coherence}"]
    assert exit_status(lambda: main(parse_config(SummariesConfig, given))) == 0
    rows = read_rows(output, SummaryRecord)
    assert [(r.document, r.summary) for r in rows] == texts
    assert {(r.language, r.dimension, r.human_score) for r in rows} == {("hi", "coherence", None)}
    # The first two rows are of one text, so of one document; ids count the rows of a document and dimension.
    assert [r.document_id == rows[0].document_id for r in rows] == [True, True, False]
    assert [r.id.removeprefix(f"{r.document_id}__") for r in rows] == ["coherence__1", "coherence__2", "coherence__1"]


@pytest.mark.parametrize(
    ("format", "flags", "message"),
    [
        ("columns", [], "line 1: dimension: Field required"),
        (
            "columns",
            ["--constants", "{dimensions: x}"],
            "constants: field dimensions is unknown; did you mean dimension",
        ),
        ("columns", ["--rubric", "general"], "flag --rubric is unknown"),
        ("ntrex", [], "format ntrex is read by python -m data_prep.parallel"),
        ("mjudge", [], "format mjudge is read by python -m data_prep.convert"),
        ("beyond-ngrams", ["--split", "test"], "format beyond-ngrams does not use split"),
    ],
)
def test_wrong_input_is_one_line_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], format: str, flags: list[str], message: str
) -> None:
    source = write_jsonl(tmp_path / "a.jsonl", {"language": "hi", "document": "d", "summary": "s"})
    given = ["--input", str(source), "--format", format, "--output", str(tmp_path / "out.jsonl"), *flags]
    assert exit_status(lambda: main(parse_config(SummariesConfig, given))) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


def test_a_document_id_that_stands_for_two_documents_is_refused(tmp_path: Path) -> None:
    shared = {"language": "es", "dimension": "coherence", "document_id": "es-1", "summary": "s"}
    rows = [{"id": text, "document": text, **shared} for text in ("uno", "dos")]
    source = write_jsonl(tmp_path / "in.jsonl", *rows)
    with pytest.raises(DataError, match="document_id es-1 \\(es\\) stands for two documents"):
        main(SummariesConfig(input=str(source), format="columns", output=tmp_path / "out.jsonl"))
