"""One small file a format of records: what comes out, row by row."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.errors import ConfigError, DataError
from core.prompt import build_messages
from core.records import JudgeRecord
from data_prep.formats import RECORDS
from data_prep.options import ConvertConfig
from tests.core.records_for_tests import record
from tests.data_prep.tables_for_tests import write_csv

RUBRIC = {"criteria": "Is it right?"} | {f"score{n}_description": f"level {n}" for n in range(1, 6)}


def rows_of(source: Path, format: str, **options: Any) -> list[Any]:
    config = ConvertConfig(input=str(source), format=format, output=source.parent / "out.jsonl", **options)
    return list(RECORDS[format].rows(config))


def feedback_row(prompt: int, score: int, **changes: Any) -> dict[str, Any]:
    texts = {"instruction": f"निर्देश {prompt}", "response": f"उत्तर {score}", "reference_answer": f"Reference {prompt}"}
    fields = {**texts, **RUBRIC, "feedback": f"So the overall score is {score}.", "score": str(score)}
    built = {"input": "x", "output": "y", "messages": [], "instruction": ""}
    return {f"orig_{name}": value for name, value in fields.items()} | built | changes


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
