"""One small file a format: what comes out, row by row."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from core.errors import ConfigError, DataError
from core.prompt import build_messages
from core.records import JudgeRecord, SummaryRecord
from data_prep.formats import FORMATS
from data_prep.options import ConvertConfig
from tests.core.records_for_tests import record

RUBRIC = {"criteria": "Is it right?"} | {f"score{n}_description": f"level {n}" for n in range(1, 6)}


def rows_of(source: Path, format: str, **options: Any) -> list[Any]:
    config = ConvertConfig(input=str(source), format=format, output=source.parent / "out.jsonl", **options)
    return list(FORMATS[format].rows(config))


def feedback_row(prompt: int, score: int, **changes: Any) -> dict[str, Any]:
    texts = {"instruction": f"निर्देश {prompt}", "response": f"उत्तर {score}", "reference_answer": f"Reference {prompt}"}
    fields = {**texts, **RUBRIC, "feedback": f"So the overall score is {score}.", "score": str(score)}
    built = {"input": "x", "output": "y", "messages": [], "instruction": ""}
    return {f"orig_{name}": value for name, value in fields.items()} | built | changes


def write_csv(path: Path, rows: list[dict[str, Any]], delimiter: str = ",") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize("layout", ["lines", "array", "parquet"])
def test_feedback_collection(tmp_path: Path, layout: str) -> None:
    rows = [feedback_row(prompt, score, topic="colour") for prompt in (1, 2) for score in (1, 5)]
    source = tmp_path / ("a.parquet" if layout == "parquet" else "a.json")
    if layout == "parquet":
        import pyarrow.parquet  # type: ignore[import-untyped]

        pyarrow.parquet.write_table(pyarrow.Table.from_pylist([{**row, "messages": "m"} for row in rows]), source)
    else:
        text = json.dumps(rows) if layout == "array" else "\n".join(json.dumps(row) for row in rows) + "\n"
        source.write_text(text)
    records: list[JudgeRecord] = rows_of(source, "feedback-collection", language="hi", constants={"source": "intel"})
    assert [r.score for r in records] == [1, 5, 1, 5]
    assert records[0].instruction == "निर्देश 1"
    assert (records[0].language, records[0].reference_language, records[0].source) == ("hi", "en", "intel")
    assert records[0].extra == {"topic": "colour"}
    assert [r.item_id == records[0].item_id for r in records] == [True, True, False, False]
    assert records[1].id == f"{records[0].item_id}__hi__2"
    assert len({r.id for r in records}) == 4


def test_feedback_collection_needs_its_columns_and_a_language(tmp_path: Path) -> None:
    source = tmp_path / "a.jsonl"
    source.write_text(json.dumps({k: v for k, v in feedback_row(1, 1).items() if k != "orig_criteria"}))
    with pytest.raises(DataError, match="line 1: no column orig_criteria; the row has orig_instruction"):
        rows_of(source, "feedback-collection", language="hi")
    source.write_text(json.dumps(feedback_row(1, 1)))
    with pytest.raises(ConfigError, match="do not say their language"):
        rows_of(source, "feedback-collection")


def test_recon_from_messages_and_from_columns_give_one_item(tmp_path: Path) -> None:
    wanted = record(instruction="निर्देश 1", response="उत्तर 2", reference_answer="Reference 1", **RUBRIC)
    turns = [*build_messages(wanted, "hercule"), {"role": "assistant", "content": "x [RESULT] 2"}]
    from_messages = {"messages": turns, "orig_score": 2, "orig_feedback": "f", "capability": "planning"}
    source = tmp_path / "a.jsonl"
    source.write_text("\n".join(json.dumps(row) for row in (from_messages, feedback_row(1, 2))) + "\n")
    first, second = rows_of(source, "recon", language="hi")
    for name in ("item_id", "instruction", "response", "reference_answer", "criteria", "score5_description", "score"):
        assert getattr(first, name) == getattr(second, name)
    assert (first.feedback, first.capability, first.extra) == ("f", "planning", {})


@pytest.mark.parametrize("messages", ["text", [], ["text"], [{"role": "user"}], [{"role": "user", "content": "x"}] * 2])
def test_recon_refuses_messages_without_one_prompt(tmp_path: Path, messages: Any) -> None:
    source = tmp_path / "a.jsonl"
    source.write_text(json.dumps({"messages": messages, "orig_score": 1}) + "\n")
    with pytest.raises(DataError, match="one, the judge prompt, is expected"):
        rows_of(source, "recon", language="hi")


def test_mjudge(tmp_path: Path) -> None:
    wanted = record(criteria="Is it right?")
    prompt = build_messages(wanted, "hercule")[0]["content"].replace("Is it right?", "[Is it right?]")
    source = tmp_path / "a.jsonl"
    source.write_text(json.dumps({"inputs": prompt, "gold": 4}) + "\n")
    (found,) = rows_of(source, "mjudge", language="es")
    assert (found.criteria, found.score, found.feedback, found.language) == ("Is it right?", 4, None, "es")
    source.write_text(json.dumps({"prompt": prompt, "gold": 4}) + "\n")
    with pytest.raises(DataError, match="no text in column inputs"):
        rows_of(source, "mjudge", language="es")


def cia_row(specific: str) -> dict[str, str]:
    head = {"source": "LIMA", "id": "LIMA_1", "capability": "", "task": "t", "instance_idx": "", "system_prompt": ""}
    general = json.dumps({**RUBRIC, "criteria": "Is it good?"})
    body = {
        "input": "Say\t“x”",
        "reference_answer": "line one\nline two",
        "specific_rubric": specific,
        "general_rubric": general,
    }
    scored = {f"score_{n}_{what}": f"{what} {n}" for n in range(1, 6) for what in ("response", "feedback")}
    return {**head, **body, **scored, "score_4_response": ""}


@pytest.mark.parametrize("specific", [json.dumps(RUBRIC), repr(RUBRIC)])
def test_cia_tsv_reads_both_rubric_encodings(tmp_path: Path, capsys: pytest.CaptureFixture[str], specific: str) -> None:
    source = write_csv(tmp_path / "a.tsv", [cia_row(specific)], delimiter="\t")
    records: list[JudgeRecord] = rows_of(source, "cia-tsv", language="en")
    assert [r.id for r in records] == ["LIMA_1__s1", "LIMA_1__s2", "LIMA_1__s3", "LIMA_1__s5"]
    assert "1 responses are empty and were left out (LIMA_1__s4)" in capsys.readouterr().err
    last = records[-1]
    assert (last.item_id, last.score, last.response, last.feedback) == ("LIMA_1", 5, "response 5", "feedback 5")
    assert (last.instruction, last.reference_answer) == ("Say\t“x”", "line one\nline two")
    assert (last.criteria, last.capability, last.source) == ("Is it right?", None, "LIMA")
    assert last.extra["general_rubric"]["criteria"] == "Is it good?"
    (general, *_) = rows_of(source, "cia-tsv", language="en", rubric="general")
    assert (general.criteria, general.extra["specific_rubric"]["criteria"]) == ("Is it good?", "Is it right?")


def test_cia_tsv_refuses_a_broken_rubric(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 2: specific_rubric is neither JSON nor a Python dict"):
        rows_of(write_csv(tmp_path / "a.tsv", [cia_row("{'criteria")], "\t"), "cia-tsv", language="en")
    with pytest.raises(DataError, match="specific_rubric lacks one of criteria"):
        rows_of(write_csv(tmp_path / "a.tsv", [cia_row('{"criteria": "c"}')], "\t"), "cia-tsv", language="en")


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
    rows: list[SummaryRecord] = rows_of(tmp_path, "beyond-ngrams")
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
    rows: list[SummaryRecord] = rows_of(tmp_path, "beyond-ngrams", language="es")
    assert {r.dimension: r.document_id for r in rows} == {"coherence": "es-1", "completeness": "es-1b"}


def test_beyond_ngrams_wrong_input(tmp_path: Path) -> None:
    source = tmp_path / "coherence" / "spanish.csv"
    names = ("coherence_gemini", "coherence_gpt")
    write_csv(source, [summary_row(1, "text", "[5]", "[3]", names)])
    with pytest.raises(DataError, match="line 2: coherence_gemini holds 5; the scale is 1 to 4"):
        rows_of(source, "beyond-ngrams")
    write_csv(source, [summary_row(1, "text", "[4]", "[3]", ("a", "b"))])
    with pytest.raises(DataError, match="no column coherence_gemini"):
        rows_of(source, "beyond-ngrams")
    with pytest.raises(DataError, match="holds no CSV named after a language"):
        rows_of(write_csv(tmp_path / "other" / "data.csv", [{"a": 1}]).parent, "beyond-ngrams")


def parallel_folder(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_bytes(text.encode())
    return folder


def test_parallel_text_named_as_ntrex_and_flores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parallel_folder(
        tmp_path,
        **{
            "newstest2019-src__eng__txt": "One\r\nTwo\r\n",
            "newstest2019-ref__spa__txt": "Uno\r\nDos\r\n",
            "newstest2019-ref-2__spa__txt": "Uno\r\nPar\r\n",
            "hin_Deva__dev": "एक\nदो",
            "LICENSE__md": "all\nkinds\nof\nlines",
            "documents__tsv": "a\nb\n",
        },
    )
    rows = rows_of(tmp_path, "parallel-text", documents=tmp_path / "documents.tsv")
    assert [row.model_dump() for row in rows] == [
        {"id": "line-00001", "document_id": "a", "hi": "एक", "es": "Uno", "en": "One"},
        {"id": "line-00002", "document_id": "b", "hi": "दो", "es": "Dos", "en": "Two"},
    ]
    assert "second reference" in capsys.readouterr().out
    assert list(rows_of(tmp_path, "parallel-text", language=["en", "hi"])[0].texts()) == ["en", "hi"]


def test_parallel_text_with_files_named(tmp_path: Path) -> None:
    parallel_folder(tmp_path, a__txt="One\n", b__txt="एक\n")
    (row,) = rows_of(tmp_path, "parallel-text", files={"en": "a.txt", "hi": "b.txt"})
    assert row.texts() == {"en": "One", "hi": "एक"}
    with pytest.raises(ConfigError, match="language 'xx' is unknown"):
        rows_of(tmp_path, "parallel-text", files={"en": "a.txt", "xx": "b.txt"})


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"x__en": "a\nb\n", "x__hi": "c\n"}, r"differ in their number of lines \(en 2, hi 1\)"),
        ({"x__en": "a\n \nb\n", "x__hi": "c\nd\ne\n"}, "x.en line 2 is blank"),
        ({"x__en": "a\n", "x__hi": ""}, "x.hi is empty"),
        ({"x__en": "a\n"}, "needs two or more"),
        ({"x__en": "a\n", "y__en": "b\n", "x__hi": "c\n"}, "both hold en; choose with files"),
    ],
)
def test_parallel_text_wrong_input(tmp_path: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises((DataError, ConfigError), match=message):
        rows_of(parallel_folder(tmp_path, **files), "parallel-text")


def test_parallel_text_asked_for_a_language_it_lacks(tmp_path: Path) -> None:
    parallel_folder(tmp_path, x__en="a\n", x__hi="b\n")
    with pytest.raises(DataError, match="holds no file for te"):
        rows_of(tmp_path, "parallel-text", language=["en", "te"])
