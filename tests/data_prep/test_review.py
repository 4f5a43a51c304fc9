"""The command from records to figures: what the sheets show, and what filled ones say."""

import json
from collections import Counter
from pathlib import Path

import pytest

from core.config import parse_config
from core.records import write_records
from data_prep.convert import main as convert
from data_prep.options import ConvertConfig
from tests.data_prep.review_for_tests import Cells, draw, fill, jsonl, lines_of, review, translated


def test_a_translation_sheet_shows_source_and_translation_and_hides_ids(tmp_path: Path) -> None:
    folder = draw(tmp_path, "translation", "--reviewers", "asha", "רוני")
    assert sorted(path.name for path in (folder / "sheets" / "he").iterdir()) == [
        "asha.csv",
        "asha.html",
        "רוני.csv",
        "רוני.html",
    ]
    sheet = (folder / "sheets" / "he" / "asha.csv").read_text(encoding="utf-8-sig")
    lines = lines_of(folder / "sheets" / "he" / "asha.csv")
    assert "a good translation keeps their errors" in sheet
    assert "__s" not in sheet  # the record's id tells the score
    assert sorted(line["instruction"] for line in lines) == [f"'-נא {n}" for n in range(6)]
    for line in lines:
        n = line["instruction"][-1]
        assert (line["source_instruction"], line["source_response"]) == (f"'=Name {n} colours.", f"'- blue {n}\n- red")
        assert (line["instruction_valid"], line["corrected_response"], line["comment"]) == ("", "", "")
    assert [line["row"] for line in lines] == [f"he_00{n}" for n in range(1, 7)]
    assert {(line["language"], line["reviewer"]) for line in lines} == {("he", "asha")}


def test_the_same_draw_makes_the_same_sample_whoever_reviews(tmp_path: Path) -> None:
    first = draw(tmp_path, "translation", "--reviewers", "asha", "--per_language", 3)
    again = tmp_path / "again"
    given = ["--input", tmp_path / "he.jsonl", "--source", tmp_path / "en.jsonl", "--output", again]
    assert review("--action", "draw", "--kind", "translation", *given, "--reviewers", "ravi", "--per_language", 3) == 0
    assert (first / "sample.jsonl").read_bytes() == (again / "sample.jsonl").read_bytes()
    names = {json.loads((folder / "sample.json").read_text())["sample"] for folder in (first, again)}
    assert len(names) == 1


def test_the_source_is_taken_from_extra_where_none_is_named(tmp_path: Path) -> None:
    rows = [
        row.model_copy(update={"extra": {"instruction_en": "Name.", "response_en": "Blue."}}) for row in translated()
    ]
    write_records(rows, tmp_path / "he.jsonl")
    given = [
        "--kind",
        "translation",
        "--input",
        tmp_path / "he.jsonl",
        "--reviewers",
        "asha",
        "--output",
        tmp_path / "o",
    ]
    assert review("--action", "draw", *given) == 0
    assert {line["source_response"] for line in lines_of(tmp_path / "o" / "sheets" / "he" / "asha.csv")} == {"Blue."}


def test_marked_ids_and_translated_references_are_joined(tmp_path: Path) -> None:
    rows = [
        row.model_copy(update={"id": f"{row.id}__he", "reference_language": "he", "reference_answer": "כחול."})
        for row in translated()
    ]
    folder = draw(tmp_path, "translation", "--reviewers", "asha", rows=rows)
    for line in lines_of(folder / "sheets" / "he" / "asha.csv"):
        assert line["source_instruction"][-10:] == f"{line['instruction'][-1]} colours."
        assert (line["source_reference_answer"], line["reference_answer"]) == ("Blue, red and green.", "כחול.")
        assert line["reference_answer_valid"] == line["corrected_reference_answer"] == ""


def test_validity_by_reviewer_field_and_language(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = draw(tmp_path, "translation", "--reviewers", "asha", "ravi", "sana")
    sheets = folder / "sheets" / "he"

    def asha(n: int, _: Cells) -> Cells:
        return {
            "instruction_valid": "valid" if n < 5 else "not valid",
            "response_valid": "Yes " if n else "",
            "comment": "x",
        }

    def ravi(n: int, _: Cells) -> Cells:
        return {"instruction_valid": "१" if n < 4 else "\u200f0", "response_valid": "valid"}

    filled = [
        fill(sheets / "asha.csv", tmp_path / "f" / "1.csv", asha),
        fill(sheets / "ravi.csv", tmp_path / "f" / "2.csv", ravi),
    ]
    assert review("--action", "read", "--sample", folder, "--sheets", *filled, "--output", tmp_path / "read") == 0
    text = (tmp_path / "read" / "metrics.json").read_text()
    metrics = json.loads(text, parse_constant=pytest.fail)
    hebrew = metrics["by_language"]["he"]
    asha_valid, ravi_valid = (hebrew["by_reviewer"][name]["valid"] for name in ("asha", "ravi"))
    # 5 of 6 valid: Wilson with z = 1.96 gives (5/6 + .3201 ± 1.96·√(.02315 + .02668))/1.6402 → [.4365, .9699].
    assert asha_valid["instruction"] == {
        "value": pytest.approx(5 / 6), "low": pytest.approx(0.4365, abs=2e-4), "high": pytest.approx(0.9699, abs=2e-4), "n": 6, "n_unscored": 0,
    }  # fmt: skip
    assert (asha_valid["response"]["value"], asha_valid["response"]["n"], asha_valid["response"]["n_unscored"]) == (
        1,
        5,
        1,
    )
    assert ravi_valid["instruction"]["value"] == pytest.approx(4 / 6)
    # Row 4 is valid for asha alone, no majority; row 0's response is judged by ravi alone.
    assert hebrew["valid"]["instruction"]["value"] == pytest.approx(4 / 6)
    assert (hebrew["valid"]["response"]["n"], hebrew["valid"]["record"]["value"]) == (6, pytest.approx(4 / 6))
    assert hebrew["agreement"]["instruction"]["exact"]["value"] == pytest.approx(5 / 6)
    # Values 1: 9, 0: 3, n = 12; one unit of two differs: alpha = 1 − 11 · 2 / (2 · 9 · 3) = 16/27.
    assert hebrew["agreement"]["instruction"]["alpha_nominal"]["value"] == pytest.approx(16 / 27)
    assert hebrew["agreement"]["response"]["alpha_nominal"]["reason"] == "one label"
    assert (hebrew["unfilled"], hebrew["questions"], metrics["sheets_missing"]) == (1, 24, ["he/sana"])
    said = capsys.readouterr().out
    assert "instruction valid 0.667" in said
    assert "no sheet yet: he/sana" in said


@pytest.mark.real
def test_a_sample_of_spanish_recon_is_in_proportion(tmp_path: Path, shared_data: Path) -> None:
    records = tmp_path / "es.jsonl"
    flags = ["--format", "columns", "--columns", "{language: lang}", "--language", "es", "--output", str(records)]
    convert(parse_config(ConvertConfig, ["--input", str(shared_data / "recon_es.jsonl"), *flags]))
    given = ["--kind", "translation", "--input", records, "--reviewers", "asha", "ravi", "--output", tmp_path / "out"]
    assert review("--action", "draw", *given) == 0
    sources = Counter(row["record"]["source"] for row in jsonl(tmp_path / "out" / "sample.jsonl"))
    # Of 296 rows: BigGenBench 144 (48.6), LIMA 88 (29.7), UltraEval 27 (9.1), MTB 22 (7.4), WizardLM 11 (3.7), FBI 4 (1.4).
    assert sources == {"BigGenBench": 49, "LIMA": 30, "UltraEval": 9, "MTB": 7, "WizardLM": 4, "FBI": 1}
