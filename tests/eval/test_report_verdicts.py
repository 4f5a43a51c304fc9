"""The worst disagreements: which verdicts they are, where their texts come from, how they are written on the page and in the CSV."""

import csv
from pathlib import Path

import pytest

from core.records import JudgeRecord, Prediction, write_records, write_rows
from core.run import Run
from eval.agree import AgreeConfig
from eval.agree import main as agree
from eval.report import ReportConfig, main
from eval.reporting.page import render, summary_of, written
from eval.reporting.runs import read_run
from eval.reporting.verdicts import Gathered, Verdict, choose, far_off, gather, texts
from tests.eval.report_for_tests import HOSTILE, JOINT, Page, Shown, prediction, record


def verdicts() -> list[Verdict]:
    """JOINT's ten rows, one without gold, one without gold and score."""
    found = [prediction(n, gold, score) for n, (gold, score) in enumerate(JOINT)]
    return [Verdict(row, None) for row in [*found, prediction(10, None, 3), prediction(11, None, None)]]


def test_the_farthest_come_first_then_the_unscored() -> None:
    found = far_off(verdicts())
    # Row 9 is −3, row 2 is +2; rows 3 and 11 are unscored; row 10 has no gold to be far from.
    assert [(one.row.id, one.kind) for one in found] == [
        ("r9", "too low"),
        ("r2", "too high"),
        ("r3", "unscored"),
        ("r11", "unscored"),
    ]


def test_a_mean_of_people_is_gold_too() -> None:
    row = prediction(1, None, 4)
    people = record(1, 3).model_copy(update={"score": None, "human_scores": [1.0, 2.0, 3.0]})
    assert Verdict(row, people).difference == 2.0
    assert Verdict(row, people).kind == "too high"
    assert Verdict(prediction(1, 2.5, 4), people).kind is None  # 1.5, by its own gold


def test_each_judge_language_and_kind_has_its_turn() -> None:
    rows = [prediction(n, 1, 5, judge="a") for n in range(0, 40, 2)]
    rows += [prediction(n, 1, 3, judge="b") for n in range(1, 6, 2)] + [prediction(7, 1, None, judge="b")]
    found = far_off([Verdict(row, None) for row in rows])
    chosen = choose(found, 5)
    # One of each of the three groups, then a second of the two that have one: a's 4s are not all.
    assert [(one.row.judge, one.kind) for one in chosen.shown] == [
        ("a", "too high"),
        ("a", "too high"),
        ("b", "too high"),
        ("b", "too high"),
        ("b", "unscored"),
    ]
    assert chosen.left_out == 24 - 5
    assert choose(found, 0) == ([], 24)
    assert choose(found, 100).left_out == 0


def test_long_texts_bound_the_list_before_its_number_does() -> None:
    rows = [Verdict(prediction(n, 1, 5, text="x" * 10_000), None) for n in range(10)]
    chosen = choose(far_off(rows), 200, most_bytes=35_000)
    assert len(chosen.shown) == 3
    assert chosen.left_out == 7


def test_raw_output_is_shown_where_nothing_could_be_read() -> None:
    scored, unscored = (Verdict(prediction(1, 1, score), record(1, 1)) for score in (5, None))
    assert texts(scored)["raw"] is None
    assert texts(unscored)["raw"] == "Fine."
    assert texts(scored)["instruction"] == "q1"
    assert texts(Verdict(scored.row, None))["response"] is None


@pytest.mark.parametrize(
    ("row", "of", "name", "attributes"),
    [
        (prediction(2, 1, 5), record(2, 1), "response", {"dir": "rtl", "lang": "ur"}),
        (prediction(1, 1, 5), record(1, 1), "instruction", {"dir": "ltr", "lang": "hi"}),
        (prediction(2, 1, 5), record(2, 1), "reference", {"dir": "ltr", "lang": "en"}),
        (prediction(2, 1, 5), record(2, 1, reference_language="ur"), "reference", {"dir": "rtl", "lang": "ur"}),
        (prediction(2, 1, 5), record(2, 1, reference_language=None), "reference", {"dir": "auto"}),
        (prediction(2, 1, 5), record(2, 1), "feedback", {"dir": "auto"}),
        (prediction(2, 1, 5, language="xx"), record(2, 1, language="xx"), "response", {"dir": "auto", "lang": "xx"}),
    ],
)
def test_a_text_runs_in_the_direction_of_its_language(
    row: Prediction, of: JudgeRecord, name: str, attributes: dict[str, str]
) -> None:
    assert written(Verdict(row, of), name) == attributes


def test_page_shows_the_texts_side_by_side_with_their_language(shown: Shown) -> None:
    passages = [tag for _, tag in shown.page.elements if tag.get("class") == "model"]
    assert len(passages) == 3 * 6 + 1  # instruction, rubric, response, reference, both feedbacks; one raw output
    assert all("dir" in tag for tag in passages)
    assert sum(tag.get("lang") == "ur" for tag in passages) == 2  # r2 is Urdu: instruction and response
    assert sum(tag["dir"] == "rtl" for tag in passages) == 2
    entries = [tag for tag in shown.page.tags("details") if tag.get("class") == "verdict"]
    assert [(tag["data-judge"], tag["data-language"], tag["data-kind"]) for tag in entries] == [
        ("joint <b>", "hi", "too low"),
        ("joint <b>", "ur", "too high"),
        ("joint <b>", "hi", "unscored"),
    ]
    assert [tag["value"] for tag in shown.page.tags("option")] == ["", "joint <b>", "", "hi", "ur", "", "too low", "too high", "unscored"]  # fmt: skip


def test_an_empty_response_is_shown_as_empty() -> None:
    one = Verdict(prediction(1, 1, 5), record(1, 1, response=""))
    html = render([], "t", None, Gathered([one], []), 1)
    assert "<h5>Response</h5>" in html
    assert "<em>empty</em>" in html


def test_page_says_how_many_verdicts_it_leaves_out() -> None:
    text = " ".join(Page(render([], "t", None, Gathered(verdicts(), ["a <b>"]), 1)).text.split())
    assert "1 of 4 are listed here, in turn from each judge, language and kind; 3 are left out (max_verdicts" in text
    assert "a <b>" in text


def test_summary_counts_every_verdict_of_a_judge() -> None:
    assert summary_of(verdicts()) == [
        {"judge": "joint", "n": 12, "too high": 1, "too low": 1, "unscored": 2, "shortened": 0}
    ]


def two_runs(root: Path) -> list[Path]:
    write_records([record(n, 1) for n in range(4)], root / "records.jsonl")
    with Run(root / "judge", "eval.judge", {"input": "records.jsonl"}, ["records.jsonl"]) as run:
        write_rows([prediction(n, 1, 5) for n in range(4)], run.path / "predictions.jsonl")
    files = {"predictions": [Path("judge/predictions.jsonl")], "records": [Path("records.jsonl")]}
    agree(AgreeConfig(**files, output=root / "agree", resamples=9))
    return [root / "agree", root / "judge"]


def test_a_verdict_of_two_runs_is_listed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runs = [read_run(folder) for folder in two_runs(tmp_path)]
    assert len(gather(runs).verdicts) == len(gather(runs[:1]).verdicts) == len(gather(runs[1:]).verdicts) == 4
    assert gather(runs).notes == []


def test_files_that_are_gone_or_another_are_said_and_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runs = [read_run(folder) for folder in two_runs(tmp_path)]
    write_records([record(n, 1, response="another") for n in range(4)], tmp_path / "records.jsonl")
    found = gather(runs[1:])
    assert found.notes == ["judge: the texts of 4 of 4 verdicts were not found; pass --records"]
    assert all(one.record is None for one in found.verdicts)
    given = gather(runs[1:], [record(n, 1) for n in range(4)])
    assert [one.record.response for one in given.verdicts if one.record] == [record(n, 1).response for n in range(4)]
    (tmp_path / "judge" / "predictions.jsonl").unlink()
    gone = gather(runs[:1])
    assert gone.verdicts == []
    assert "judge/predictions.jsonl are not listed; the file is gone, or another by now" in gone.notes[0]


def test_a_run_against_annotators_is_far_from_people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gold 1, people 4: a judge that says 4 is far from gold and equal to people."""
    monkeypatch.chdir(tmp_path)
    people = [record(n, 1, human_scores=[3.0 + n % 2, 5.0 - n % 2]) for n in range(4)]
    write_records(people, "records.jsonl")
    write_rows([prediction(n, 1, 4) for n in range(4)], "p.jsonl")
    files = {"predictions": [Path("p.jsonl")], "records": [Path("records.jsonl")], "resamples": 9}
    agree(AgreeConfig(**files, output=Path("gold")))
    agree(AgreeConfig(**files, output=Path("people"), against="annotators"))
    far = [[one.difference for one in gather([read_run(name)]).verdicts] for name in ("gold", "people")]
    assert far == [[3.0] * 4, [0.0] * 4]


def test_texts_of_another_test_set_with_the_same_ids_are_not_taken(tmp_path: Path) -> None:
    with Run(tmp_path / "judge", "eval.judge", {}) as run:
        write_rows([prediction(1, 1, 5)], run.path / "predictions.jsonl")
    found = gather([read_run(tmp_path / "judge")], [record(1, 1, item_id="other")])
    assert found.verdicts[0].record is None
    assert len(found.notes) == 1


def test_csv_holds_every_row_and_no_formula(tmp_path: Path) -> None:
    long = "ا" * 10_000
    with Run(tmp_path / "judge", "eval.judge", {}) as run:
        rows = [
            prediction(0, 1, 5, text="=HYPERLINK(1)"),
            prediction(1, 1, 4, text=long),
            prediction(2, 1, 3, text=HOSTILE),
        ]
        write_rows(rows, run.path / "predictions.jsonl")
    main(ReportConfig(runs=[tmp_path / "judge"], output=tmp_path / "out", max_verdicts=1))
    with open(tmp_path / "out" / "disagreements.csv", encoding="utf-8", newline="") as handle:
        found = list(csv.DictReader(handle))
    assert [row["feedback"] for row in found] == ["'=HYPERLINK(1)", long, HOSTILE]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert page.count('class="verdict"') == 1
    assert "2 are left out" in page
