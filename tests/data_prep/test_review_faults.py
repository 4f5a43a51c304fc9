"""Every mistake in a review is one line that says what, where and how to mend it, and leaves no output behind."""

from collections.abc import Callable
from pathlib import Path

import pytest

from core.records import write_records
from tests.data_prep.review_for_tests import Cells, draw, english, fill, review, translated

Answer = Callable[[int, Cells], Cells]


def at(number: int, **cells: str) -> Answer:
    """These cells in one line, a valid score in the others."""
    return lambda n, _: {"score": "3", **(cells if n == number else {})}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (at(2, score="6"), "row 4 (he_003), column score: '6' is not on the scale; write 1, 2, 3, 4 or 5"),
        (at(2, score="3.5"), "'3.5' is not on the scale"),
        (at(2, score="०"), "'०' is not on the scale"),
        (at(0, score="four"), "row 2 (he_001), column score: 'four' is not on the scale"),
        (at(1, row="he_042"), "row 3: 'he_042' is no row of the sample"),
        (at(1, row=""), "row 3: '' is no row of the sample"),
        (at(1, row="he_001"), "row 3: he_001 of asha stands in"),
        (at(1, sample="sample_0123"), "row 3: the sheet is of another sample (sample_0123)"),
        (at(1, sample=""), "the sheet is of another sample (none named)"),
        (at(1, reviewer="mallory"), "row 3: reviewer 'mallory' is none of asha, ravi, who review he"),
    ],
)
def test_a_wrong_cell_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], answer: Answer, message: str
) -> None:
    folder = draw(tmp_path, "score", "--reviewers", "asha", "ravi")
    sheet = fill(folder / "sheets" / "he" / "asha.csv", tmp_path / "f" / "asha.csv", answer)
    capsys.readouterr()
    assert review("--action", "read", "--sample", folder, "--sheets", sheet, "--output", tmp_path / "read") == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "read").exists()


def test_one_reviewers_row_in_two_sheets_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = draw(tmp_path, "score", "--reviewers", "asha", "ravi")
    sheets = [fill(folder / "sheets" / "he" / "asha.csv", tmp_path / "f" / f"{n}.csv", at(0)) for n in range(2)]
    assert review("--action", "read", "--sample", folder, "--sheets", *sheets, "--output", tmp_path / "read") == 2
    assert "1.csv row 2: he_001 of asha stands in" in capsys.readouterr().err


def test_a_reviewer_who_came_later_is_named(tmp_path: Path) -> None:
    folder = draw(tmp_path, "score", "--reviewers", "asha")
    sheet = fill(
        folder / "sheets" / "he" / "asha.csv",
        tmp_path / "f" / "1.csv",
        lambda n, _: {"reviewer": " Ravi", "score": "1"},
    )
    given = ["--action", "read", "--sample", folder, "--sheets", sheet, "--output", tmp_path / "read"]
    assert review(*given) == 2
    assert review(*given, "--reviewers", "ravi") == 0


def test_answers_of_a_translation_sheet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = draw(tmp_path, "translation", "--reviewers", "asha")
    given = ["--action", "read", "--sample", folder, "--sheets", tmp_path / "f", "--output", tmp_path / "read"]
    for answer, message in [
        ({"response_valid": "maybe"}, "column response_valid: 'maybe' is no answer; write valid or invalid"),
        ({"corrected_response": "x" * 32767}, "column corrected_response: the text was cut at 32767 characters"),
    ]:
        fill(folder / "sheets" / "he" / "asha.csv", tmp_path / "f" / "1.csv", lambda _, __, answer=answer: answer)
        assert review(*given) == 2
        assert message in capsys.readouterr().err
    sheet = (tmp_path / "f" / "1.csv").read_text(encoding="utf-8")
    (tmp_path / "f" / "1.csv").write_text(sheet.replace("response_valid", "valid?"), encoding="utf-8")
    assert review(*given) == 2
    assert "column response_valid: the sheet lacks this column" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--kind", "score"], "action draw needs reviewers; pass --reviewers"),
        (["--reviewers", "a"], "action draw needs kind"),
        (["--kind", "score", "--reviewers", "a", "--prefer", "a"], "action draw does not use prefer; leave it out"),
        (["--kind", "score", "--reviewers", "a", "A"], "one name occurs twice in a, A"),
        (["--kind", "score", "--reviewers", "../a"], "'../a' names no file"),
        (["--kind", "score", "--reviewers", ""], "'' names no file"),
        (["--kind", "score", "--reviewers", "a", "--language", "ur"], "input holds no rows in ur; it holds he"),
        (["--kind", "translate", "--reviewers", "a"], "needs the languages to translate into"),
        (["--kind", "translate", "--reviewers", "a", "--language", "he"], "its records are in he already"),
        (["--kind", "translation", "--reviewers", "a"], "carries no English source in extra.instruction_en"),
        (["--kind", "score", "--reviewers", "a", "--instructions", "no.txt"], "instructions no.txt cannot be read"),
        (["--kind", "score", "--reviewers", "a", "--strata", "size"], "strata"),
    ],
)
def test_a_wrong_draw_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], message: str
) -> None:
    write_records(translated(), tmp_path / "he.jsonl")
    assert (
        review(
            "--action",
            "draw",
            "--input",
            tmp_path / "he.jsonl",
            "--per_language",
            6,
            "--output",
            tmp_path / "out",
            *flags,
        )
        == 2
    )
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_sources_that_do_not_fit_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_records(translated(), tmp_path / "he.jsonl")
    given = ["--action", "draw", "--kind", "translation", "--reviewers", "a", "--input", tmp_path / "he.jsonl"]
    write_records(english()[1:], tmp_path / "en.jsonl")
    assert review(*given, "--source", tmp_path / "en.jsonl", "--output", tmp_path / "out") == 2
    assert "1 rows have no counterpart in source (q0__s1)" in capsys.readouterr().err
    assert review(*given, "--source", tmp_path / "he.jsonl", "--output", tmp_path / "out") == 2
    assert "is in he too" in capsys.readouterr().err


def test_an_edited_or_absent_sample_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = draw(tmp_path, "score", "--reviewers", "asha")
    given = ["--action", "read", "--sheets", folder / "sheets", "--output", tmp_path / "read"]
    assert review(*given, "--sample", tmp_path) == 2
    assert "holds no sample.json" in capsys.readouterr().err
    rows = folder / "sample.jsonl"
    rows.write_text(rows.read_text(encoding="utf-8").replace("כחול 1", "כחול 9"), encoding="utf-8")
    assert review(*given, "--sample", folder) == 2
    assert "was edited since it was drawn" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert (
        review("--action", "read", "--sample", folder, "--sheets", tmp_path / "empty", "--output", tmp_path / "x") == 2
    )


def test_a_folder_that_exists_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = draw(tmp_path, "score", "--reviewers", "asha")
    given = ["--action", "draw", "--kind", "score", "--input", tmp_path / "he.jsonl", "--reviewers", "asha"]
    assert review(*given, "--output", folder) == 2
    assert "exists; name another" in capsys.readouterr().err
    assert review(*given, "--output", folder, "--if_exists", "resume") == 0
    assert "finished before" in capsys.readouterr().out


@pytest.mark.parametrize(("column", "text"), [("instruction", "-נא 0 טוב"), ("source_response", "- blue 3\n- red")])
def test_a_text_that_was_not_sent_out_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], column: str, text: str
) -> None:
    """A correction in the wrong place would be lost, and rows sorted column by column would swap their answers."""
    folder = draw(tmp_path, "translation", "--reviewers", "asha")
    sheet = fill(
        folder / "sheets" / "he" / "asha.csv", tmp_path / "f" / "1.csv", lambda n, _: {column: text} if n == 2 else {}
    )
    assert review("--action", "read", "--sample", folder, "--sheets", sheet, "--output", tmp_path / "read") == 2
    assert f"row 4 (he_003), column {column}: the text is not the one that was sent out" in capsys.readouterr().err


def test_marks_and_blanks_that_a_spreadsheet_changes_are_let_pass(tmp_path: Path) -> None:
    folder = draw(tmp_path, "translation", "--reviewers", "asha")
    sheet = fill(
        folder / "sheets" / "he" / "asha.csv",
        tmp_path / "f" / "1.csv",
        lambda n, line: {
            "instruction": f" {line['instruction']}…\n",
            "source_instruction": "",
            "instruction_valid": "yes",
            "response_valid": "yes",
        },
    )
    assert review("--action", "read", "--sample", folder, "--sheets", sheet, "--output", tmp_path / "read") == 0
