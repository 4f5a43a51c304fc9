"""What goes back into records: corrections, scores and translations, with who, before and after; the input stays."""

import json
from pathlib import Path

import pytest

from core.records import JudgeRecord, read_records, write_records
from tests.data_prep.review_for_tests import Cells, draw, english, fill, jsonl, review, translated


def test_corrections_go_back_and_the_input_stays(tmp_path: Path) -> None:
    folder = draw(tmp_path, "translation", "--reviewers", "asha", "ravi", "--per_language", 4)
    before = (tmp_path / "he.jsonl").read_bytes()

    def answer(n: int, line: Cells) -> Cells:
        texts = ["- מתוקן", "", "", line["instruction"]]  # the last one is the shown text itself: no correction
        return {"instruction_valid": "invalid" if n < 2 else "valid", "corrected_instruction": texts[n]}

    sheet = fill(folder / "sheets" / "he" / "asha.csv", tmp_path / "f" / "1.csv", answer)
    assert review("--action", "read", "--sample", folder, "--sheets", sheet, "--output", tmp_path / "read") == 0
    applied = [
        "--judgements",
        tmp_path / "read" / "judgements.jsonl",
        "--input",
        tmp_path / "he.jsonl",
        "--output",
        tmp_path / "new",
    ]
    assert review("--action", "apply", *applied) == 0
    assert (tmp_path / "he.jsonl").read_bytes() == before
    old, new = read_records(tmp_path / "he.jsonl"), read_records(tmp_path / "new" / "records.jsonl")
    changed = [(was, now) for was, now in zip(old, new, strict=True) if was != now]
    [(was, now)] = changed
    change = {"who": "asha", "field": "instruction", "before": was.instruction, "after": "- מתוקן"}
    assert (now.instruction, now.response, now.extra) == ("- מתוקן", was.response, {"review": [change]})
    counts = json.loads((tmp_path / "new" / "manifest.json").read_text())["counts"]
    assert counts == {"records": 6, "judged": 4, "changed": 1, "invalid_not_corrected": 1}


def test_two_corrections_of_one_text_need_a_choice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = draw(tmp_path, "translation", "--reviewers", "asha", "ravi", "--per_language", 2)
    for name in ("asha", "ravi"):
        texts = [{}, {"corrected_response": f"{name} 1"}]
        fill(folder / "sheets" / "he" / f"{name}.csv", tmp_path / "f" / f"{name}.csv", lambda n, _, t=texts: t[n])
    assert (
        review("--action", "read", "--sample", folder, "--sheets", tmp_path / "f", "--output", tmp_path / "read") == 0
    )
    [conflict] = jsonl(tmp_path / "read" / "conflicts.jsonl")
    assert (conflict["field"], conflict["written"]) == ("response", {"asha": "asha 1", "ravi": "ravi 1"})
    given = [
        "--judgements",
        tmp_path / "read" / "judgements.jsonl",
        "--input",
        tmp_path / "he.jsonl",
        "--output",
        tmp_path / "new",
    ]
    assert review("--action", "apply", *given) == 2
    assert not (tmp_path / "new").exists()
    error = capsys.readouterr().err
    assert "1 texts were written differently" in error
    assert conflict["record_id"] in error
    assert review("--action", "apply", *given, "--prefer", "sana") == 2
    assert review("--action", "apply", *given, "--prefer", "ravi") == 0
    assert [row.response for row in read_records(tmp_path / "new" / "records.jsonl") if row.extra] == ["ravi 1"]


def test_scores_of_three_annotators_become_gold(tmp_path: Path) -> None:
    folder = draw(tmp_path, "score", "--reviewers", "asha", "ravi", "sana", "--per_language", 5)
    assert "would get 5" in (folder / "sheets" / "he" / "asha.csv").read_text(encoding="utf-8")
    given = {
        "asha": ["1", "2.0", "३", "4,0", " ٥ "],
        "ravi": ["1", "2", "3", "4", "5"],
        "sana": ["5", "4", "3", "2", ""],
    }
    for name, scores in given.items():
        answered = [{"score": score} for score in scores]
        fill(folder / "sheets" / "he" / f"{name}.csv", tmp_path / "f" / f"{name}.csv", lambda n, _, a=answered: a[n])
    assert (
        review("--action", "read", "--sample", folder, "--sheets", tmp_path / "f", "--output", tmp_path / "read") == 0
    )
    agreement = json.loads((tmp_path / "read" / "metrics.json").read_text())["by_language"]["he"]["agreement"]["score"]
    assert agreement["pearson"]["asha ~ ravi"]["value"] == pytest.approx(1)
    assert agreement["pearson"]["asha ~ sana"]["value"] == pytest.approx(-1)
    assert agreement["pearson_mean"] == {"mean": pytest.approx(-1 / 3), "n_defined": 3, "n_groups": 3}
    assert (agreement["alpha_interval"]["n"], agreement["one_against_the_others"]["mean"]["n"]) == (5, 5)
    applied = [
        "--judgements",
        tmp_path / "read" / "judgements.jsonl",
        "--input",
        tmp_path / "he.jsonl",
        "--output",
        tmp_path / "new",
    ]
    assert review("--action", "apply", *applied) == 0
    rows = {row["id"]: row["record"]["id"] for row in jsonl(folder / "sample.jsonl")}
    new = {row.id: row for row in read_records(tmp_path / "new" / "records.jsonl")}
    second, last = new[rows["he_002"]], new[rows["he_005"]]
    assert (second.human_scores, second.gold, second.score) == ([2, 2, 4], pytest.approx(8 / 3), None)
    assert last.human_scores == [5, 5]
    counts = json.loads((tmp_path / "new" / "manifest.json").read_text())["counts"]
    assert counts == {"records": 6, "judged": 5, "changed": 5, "scored_by_fewer": 1}
    assert last.extra["review"][0]["who"] == ["asha", "ravi"]
    assert sum(row.human_scores is None and row.score is not None for row in new.values()) == 1


def test_human_translations_become_records(tmp_path: Path) -> None:
    folder = draw(tmp_path, "translate", "--reviewers", "dana", "--per_language", 3)

    def answer(n: int, _: Cells) -> Cells:
        return {"translated_instruction": f"שאלה {n}", "translated_response": "תשובה" if n else " "}

    fill(folder / "sheets" / "he" / "dana.csv", tmp_path / "f" / "1.csv", answer)
    assert (
        review("--action", "read", "--sample", folder, "--sheets", tmp_path / "f", "--output", tmp_path / "read") == 0
    )
    applied = [
        "--judgements",
        tmp_path / "read" / "judgements.jsonl",
        "--input",
        tmp_path / "en.jsonl",
        "--output",
        tmp_path / "new",
    ]
    assert review("--action", "apply", *applied) == 0
    new = read_records(tmp_path / "new" / "records.jsonl")
    sources = {row.id: row for row in english()}
    assert [(row.language, row.response) for row in new] == [("he", "תשובה")] * 2
    for row in new:
        assert row.criteria == sources[row.id].criteria
        assert [change["before"] for change in row.extra["review"]] == [
            sources[row.id].instruction,
            sources[row.id].response,
        ]


def test_languages_with_the_same_ids_stay_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_records(translated("ur"), tmp_path / "ur.jsonl")
    folder = tmp_path / "drawn"
    given = ["--kind", "score", "--input", tmp_path / "he.jsonl", tmp_path / "ur.jsonl", "--per_language", 2]
    (tmp_path / "review.yaml").write_text("reviewers: {he: [asha], ur: [sana, asha]}", encoding="utf-8")
    write_records(translated("he"), tmp_path / "he.jsonl")
    config = ["--config", tmp_path / "review.yaml"]
    assert review(*config, "--action", "draw", *given, "--output", folder) == 0
    files = sorted(path.relative_to(folder / "sheets").as_posix() for path in folder.rglob("*.csv"))
    assert files == ["he/asha.csv", "ur/asha.csv", "ur/sana.csv"]
    for code, score in (("he", "1"), ("ur", "5")):
        fill(folder / "sheets" / code / "asha.csv", tmp_path / "f" / f"{code}.csv", lambda n, _, s=score: {"score": s})
    assert (
        review("--action", "read", "--sample", folder, "--sheets", tmp_path / "f", "--output", tmp_path / "read") == 0
    )
    metrics = json.loads((tmp_path / "read" / "metrics.json").read_text())
    assert metrics["by_language"]["ur"]["by_reviewer"]["asha"]["by_score"]["5"] == 2
    assert metrics["sheets_missing"] == ["ur/sana"]
    applied = [
        "--action",
        "apply",
        "--judgements",
        tmp_path / "read" / "judgements.jsonl",
        "--output",
        tmp_path / "new",
    ]
    both = [tmp_path / "he.jsonl", tmp_path / "ur.jsonl"]
    assert review(*applied, "--input", *both) == 2
    assert "ids occur more than once" in capsys.readouterr().err
    assert review(*applied, "--input", both[1], "--language", "he") == 2
    assert "holds no he record that was judged" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
    assert review(*applied, "--input", both[1]) == 0
    scored = [row.human_scores for row in read_records(tmp_path / "new" / "records.jsonl") if row.human_scores]
    assert scored == [[5], [5]]


def test_records_changed_since_the_draw_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = draw(tmp_path, "score", "--reviewers", "asha")
    fill(folder / "sheets" / "he" / "asha.csv", tmp_path / "f" / "1.csv", lambda n, _: {"score": "3"})
    assert (
        review("--action", "read", "--sample", folder, "--sheets", tmp_path / "f", "--output", tmp_path / "read") == 0
    )
    given = ["--action", "apply", "--judgements", tmp_path / "read" / "judgements.jsonl", "--output", tmp_path / "new"]

    def refused(rows: list[JudgeRecord], message: str) -> None:
        write_records(rows, tmp_path / "other.jsonl")
        assert review(*given, "--input", tmp_path / "other.jsonl") == 2
        assert message in capsys.readouterr().err

    refused([row.model_copy(update={"response": "אחר"}) for row in translated()], "is not the one scored")
    refused(translated()[1:], "1 judged records are not in it")
    refused(english(), "it holds no he record that was judged")
