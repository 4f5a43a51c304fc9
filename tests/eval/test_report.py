"""eval.report: what the page shows, that model text stays data, and that nothing outside the page is needed."""

import csv
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from core.errors import DataError
from core.records import JudgeRecord, Prediction, ScoreRow, SummaryRecord, write_records, write_rows
from core.run import Run
from eval.agree import AgreeConfig
from eval.agree import main as agree
from eval.charts import strength_chart
from eval.report import ReportConfig, main
from eval.report_page import far_off, number, on_line, percent, render, signed
from eval.report_runs import read_run
from eval.summary_metrics import cells

HOSTILE = "<script>alert(1)</script> {{7*7}} & \"quoted\" 'too'"
VOID = {"meta", "br", "hr", "img", "link", "input", "path", "circle", "use"}


class Page(HTMLParser):
    """A parsed page: its elements with their attributes, and the text of its body. Fails on unbalanced tags."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.text += data

    def tags(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]


def prediction(
    number: int, gold: float | None, score: int | None, judge: str = "joint", text: str = "Fine."
) -> Prediction:
    return Prediction(
        id=f"r{number}",
        item_id=f"p{number}",
        language="hi" if number % 2 else "ur",
        system="gpt",
        judge=judge,
        template="default",
        gold=gold,
        score=score,
        expected_score=None,
        score_mass=None,
        failure=None if score else "no [RESULT] marker",
        feedback=text,
        raw=f"{text} [RESULT] {score}" if score else text,
        prompt_tokens=10,
        shortened=False,
    )


def record(number: int, gold: int) -> JudgeRecord:
    rubric = {f"score{score}_description": str(score) for score in range(1, 6)}
    return JudgeRecord(
        id=f"r{number}",
        item_id=f"p{number}",
        language="hi" if number % 2 else "ur",
        instruction=f"q{number}",
        response="x" * (gold * 7 + number),
        criteria="c",
        reference_answer="reference",
        reference_language="en",
        score=gold,
        source="test",
        **rubric,
    )


def summary(number: int, human: float | None) -> SummaryRecord:
    return SummaryRecord(
        id=f"s{number}",
        language="hi" if number < 6 else "ja",
        dimension="coherence",
        system="ab"[number % 2],
        document_id=f"d{number}",
        document="text",
        reference="a b c",
        summary="a b c d"[: number + 1],
        human_score=human,
    )


def score_row(number: int, strength: float, score: float) -> ScoreRow:
    return ScoreRow(
        id=f"s{number}",
        document_id=f"d{number}",
        language="hi",
        dimension="coherence",
        metric="gptscore",
        model="models/pico",
        pivot="en",
        method="vector",
        scale="relative",
        layers=[0, 1],
        strength=strength,
        draw=None,
        score=score,
    )


def steered(human: bool = True) -> dict[str, Any]:
    """A cell of six summaries. At strength 1 all scores fall by 9, far more than 3 standard deviations (1.9): broken."""
    records = [summary(n, float(n % 4) if human else None) for n in range(6)]
    shift = {-1.0: 0.1, 0.0: 0.0, 1.0: -9.0}
    rows = [score_row(n, strength, n + by + (n * strength % 3) / 9) for strength, by in shift.items() for n in range(6)]
    return cells(records, rows, resamples=20, seed=0)[0]


JOINT = [(1, 1), (2, 2), (3, 5), (4, None), (5, 5), (1, 1), (2, 3), (3, 3), (4, 4), (5, 2)]
TIES = [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (1, 1), (2, 2), (3, 3), (4, 4), (5, 4)]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Real runs: judge <joint> on ten rows, its agreement beside that of ties, and a steering run of two cells."""
    root = tmp_path_factory.mktemp("runs")
    joint = [prediction(n, gold, score, "joint <b>", HOSTILE) for n, (gold, score) in enumerate(JOINT)]
    ties = [prediction(n, gold, score, "ties") for n, (gold, score) in enumerate(TIES)]
    write_records([record(n, gold) for n, (gold, _) in enumerate(TIES)], root / "records.jsonl")
    write_rows(ties, root / "ties.jsonl")
    with Run(
        root / "judge", "eval.judge", {"model_name_or_path": "org/joint", "seed": 1}, [root / "ties.jsonl"]
    ) as run:
        write_rows(joint, run.path / "predictions.jsonl")
    files = [root / "judge" / "predictions.jsonl", root / "ties.jsonl"]
    agree(AgreeConfig(predictions=files, records=[root / "records.jsonl"], output=root / "agree", resamples=99))
    with Run(root / "summaries", "eval.summaries", {"model_name_or_path": "models/pico"}) as run:
        metrics = {"cells": [steered(), steered(human=False)], "notes": ["a <note>"]}
        (run.path / "metrics.json").write_text(json.dumps(metrics))
    return [root / "agree", root / "summaries", root / "judge"]


@pytest.fixture(scope="module")
def html(folders: list[Path]) -> str:
    return render([read_run(folder) for folder in folders], "Title <i>", "The <machinery>, not a result", 200)


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def rows(html: str, start: str) -> list[list[str]]:
    """The cells of the first table at or after a piece of HTML, as text with single spaces."""
    table = re.search(r"<table.*?</table>", html[html.index(start) :], re.DOTALL)
    assert table
    found = re.findall(r"<tr.*?</tr>", table.group(), re.DOTALL)
    return [[_text(cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)] for row in found]


def _text(html: str) -> str:
    return " ".join(re.sub(r"<.*?>", "", html).split())


def test_page_needs_nothing_from_outside(page: Page, html: str) -> None:
    links = [
        value for _, attributes in page.elements for name, value in attributes.items() if name.endswith(("src", "href"))
    ]
    assert links
    assert all(link.startswith("#") for link in links)
    assert {"script", "link", "img", "iframe", "object"}.isdisjoint(tag for tag, _ in page.elements)
    assert "@import" not in html
    assert "://" not in html
    assert all(target.startswith("#") for target in re.findall(r"url\((.*?)\)", html))


def test_ids_are_unique_and_links_lead_somewhere(page: Page) -> None:
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = [
        value[1:] for _, attributes in page.elements for name, value in attributes.items() if name.endswith("href")
    ]
    assert set(targets) <= set(ids)


def test_model_and_user_text_is_data(page: Page) -> None:
    assert page.text.count(HOSTILE) == 6  # three listed verdicts, feedback and raw
    assert "Title <i>" in page.text
    assert "The <machinery>, not a result" in page.text
    assert "joint <b>" in page.text
    assert "a <note>" in page.text
    assert all("class" in attributes for attributes in page.tags("i"))  # the page's own, none from the title


def test_model_text_runs_in_its_own_direction(page: Page) -> None:
    shown = [attributes for _, attributes in page.elements if attributes.get("class") == "model"]
    assert len(shown) == 6
    assert all(attributes["dir"] == "auto" for attributes in shown)


def test_headline_has_figures_with_intervals_and_marked_baselines(html: str) -> None:
    table = rows(html, 'id="run-1"')
    assert table[0] == ["Judge", "n", "Unscored", "Kappa", "0 .5 1", "Pearson", "Spearman", "Kendall", "Exact"]
    by_name = {row[0]: row[1:] for row in table[1:]}
    assert list(by_name) == ["joint &lt;b&gt;", "ties", "length baseline", "majority baseline"]
    # JOINT: 6 of 10 exact, its unscored row counting as wrong; TIES: 9 of 10.
    assert by_name["joint &lt;b&gt;"][:2] == ["10", "1 (10 %)"]
    assert by_name["joint &lt;b&gt;"][-1].startswith("0.60 [")
    assert by_name["ties"][-1].startswith("0.90 [")
    assert by_name["majority baseline"][2] == "–"


def test_null_figures_say_why(page: Page) -> None:
    reasons = {attributes["title"] for attributes in page.tags("abbr")}
    assert "this baseline stands beside exact accuracy only" in reasons
    assert "no human scores" in reasons
    assert not re.search(r"\b(nan|None|inf)\b", page.text)


def test_groups_count_rows_of_each_language(html: str) -> None:
    table = rows(html, "By language")
    assert table[0] == ["Judge", "hi n 5", "ur n 5"]
    assert table[1][1].endswith("1 unscored")  # row 3, an odd one


def test_length_control_stands_beside_its_null(html: str) -> None:
    table = rows(html, "With length held fixed")
    assert [row[0] for row in table[1:]] == ["joint &lt;b&gt;", "ties", "length baseline"]
    assert all("null" in cell for cell in table[2][3:] if cell != "–")


def test_provenance_names_model_seed_and_inputs(page: Page, folders: list[Path]) -> None:
    manifest = json.loads((folders[2] / "manifest.json").read_text())
    assert "org/joint" in page.text
    assert "uncommitted changes" in page.text
    assert all(hashed in page.text for hashed in manifest["inputs"].values())


def test_comparisons_print_the_smallest_possible_p(html: str) -> None:
    table = rows(html, "Judges compared")
    assert table[0][4:6] == ["p", "Smallest possible p"]
    assert table[1][:3] == ["joint &lt;b&gt;", "ties", "kappa"]
    assert table[1][5] == "0.01"  # 1 / (99 + 1)


def test_confusion_matrix_and_differences(html: str) -> None:
    matrix = rows(html, '<table class="confusion"')
    assert matrix[0] == ["Gold", "1", "2", "3", "4", "5", "Unscored"]
    # JOINT by gold: 1→1,1; 2→2,3; 3→5,3; 4→none,4; 5→5,2.
    assert [row[1:] for row in matrix[1:]] == [
        ["2", "0", "0", "0", "0", "0"],
        ["0", "1", "1", "0", "0", "0"],
        ["0", "0", "1", "0", "1", "0"],
        ["0", "0", "0", "1", "0", "1"],
        ["0", "1", "0", "0", "1", "0"],
    ]
    # Differences of scored rows: 0 0 +2 · 0 0 +1 0 0 −3.
    counts, labels = rows(html, '<table class="bars"')
    assert labels == ["−4", "−3", "−2", "−1", "0", "+1", "+2", "+3", "+4"]
    assert counts == ["0", "1", "0", "0", "6", "1", "1", "0", "0"]


def test_steering_marks_oracle_broken_and_missing_people(html: str) -> None:
    with_people, without = html.split("<figure")[1:]
    assert "oracle: chosen on the test scores (strength" in with_people
    assert with_people.count("broken</span>") == without.count("broken</span>") == 1
    assert ">Pearson</text>" in with_people
    assert ">Pearson</text>" not in without
    assert ">mean score</text>" in without
    assert "No oracle: no human scores." in without
    names = [header.removesuffix(" baseline") for header in rows(html, 'id="run-2"')[0][5:]]
    assert names == ["length", "chrf", "rouge_l", "bleu", "system"]


def test_chart_draws_zero_bands_and_broken_points_in_page_colours() -> None:
    cell = steered()
    svg = strength_chart(cell["points"], cell["oracle"], "a")
    assert svg.startswith("<svg viewBox=")
    assert svg == strength_chart(cell["points"], cell["oracle"], "a")
    assert not re.search(r"(fill|stroke): #", svg)
    whole = [{**point, "broken": False} for point in cell["points"]]
    assert svg.count("var(--bad)") > strength_chart(whole, cell["oracle"], "a").count("var(--bad)") == 0
    assert ">oracle</text>" in svg
    assert "−1" in svg


def test_chart_of_a_log_spaced_grid_labels_a_few_strengths() -> None:
    sizes = [0.3 / 2**k for k in range(10)]
    point = {"pearson": {"value": None}, "mean_score": 100.0, "broken": False}
    points = [{**point, "strength": strength} for strength in [0.0, *sizes, *(-s for s in sizes)]]
    svg = strength_chart(points, {"strength": None}, "grid")
    # Every third of ten sizes, from the largest: .3, .0375, .0047, .00059, on both sides, and 0.
    assert re.findall(r">(−?0[.\d]*)</text>", svg) == (
        ["−0.3", "−0.037", "−0.0047", "−0.00059", "0", "0.00059", "0.0047", "0.037", "0.3"]
    )


def test_far_off_lists_unscored_first_then_the_farthest() -> None:
    predictions = [prediction(n, gold, score) for n, (gold, score) in enumerate(JOINT)]
    predictions.append(prediction(10, None, 3))  # no gold: nothing to be far from
    predictions.append(prediction(11, None, None))
    found = far_off(predictions, 3)
    # Row 3 and 11 unscored, row 9 is −3, row 2 is +2; three fit.
    assert [row.id for row in found.shown] == ["r3", "r11", "r9"]
    assert (found.left_out, found.total) == (1, 12)


def test_page_says_how_many_verdicts_it_leaves_out(folders: list[Path]) -> None:
    text = " ".join(Page(render([read_run(folders[2])], "t", None, 1)).text.split())
    assert "3 of 10 verdicts are unscored or at least two points from gold." in text
    assert "The first 1 are listed; 2 are left out (max_verdicts)." in text


def test_main_writes_the_same_page_twice_and_the_rows(folders: list[Path], tmp_path: Path) -> None:
    for name in ("one", "two"):
        main(ReportConfig(runs=folders, output=tmp_path / name))
    assert (tmp_path / "one/report.html").read_bytes() == (tmp_path / "two/report.html").read_bytes()
    with open(tmp_path / "one/headline.csv", encoding="utf-8", newline="") as handle:
        found = list(csv.DictReader(handle))
    # Two judges and two baselines, each over all and in two languages.
    assert len(found) == 12
    ties = next(row for row in found if row["judge"] == "ties" and row["language"] == "all")
    assert (ties["baseline"], ties["n"], ties["n_unscored"], ties["exact"]) == ("False", "10", "0", "0.9")
    assert next(row for row in found if row["judge"] == "majority")["kappa"] == ""
    with open(tmp_path / "one/strengths.csv", encoding="utf-8", newline="") as handle:
        strengths = list(csv.DictReader(handle))
    assert [row["strength"] for row in strengths] == ["-1.0", "0.0", "1.0"] * 2
    assert [row["broken"] for row in strengths] == ["False", "False", "True"] * 2


def test_gold_that_is_a_mean_has_no_kappa_and_no_matrix(tmp_path: Path) -> None:
    write_rows(
        [prediction(n, gold - 0.5, score) for n, (gold, score) in enumerate(TIES) if gold > 1], tmp_path / "p.jsonl"
    )
    agree(AgreeConfig(predictions=[tmp_path / "p.jsonl"], output=tmp_path / "agree", resamples=9))
    html = render([read_run(tmp_path / "agree")], "t", None, 0)
    assert "No confusion matrix: gold is not an integer." in html
    assert 'title="gold is not an integer"' in html
    assert "<caption>Kappa</caption>" not in html
    assert "<caption>Pearson</caption>" in html


def wrong_folders(root: Path) -> Iterator[tuple[Path, str]]:
    yield root / "absent", "no run folder"
    with Run(root / "train", "train.sft", {}):
        pass
    yield root / "train", "a run of train.sft, which a report does not show"
    stopped = Run(root / "stopped", "eval.agree", {})
    yield stopped.path, "not finished"
    with Run(root / "empty", "eval.agree", {}):
        pass
    yield root / "empty", "metrics.json cannot be read"
    for text in ("{}", "[]"):
        with Run(root / text, "eval.agree", {}) as run:
            (run.path / "metrics.json").write_text(text)
        yield root / text, "metrics.json lacks baselines, comparisons, judges, notes"
    with Run(root / "bare", "eval.agree", {}):
        pass
    (root / "bare" / "manifest.json").write_text('{"command": "eval.agree", "status": "done"}')
    yield root / "bare", "manifest.json lacks config, ended, git"


def test_wrong_run_folders_are_named_and_nothing_is_written(tmp_path: Path) -> None:
    for folder, message in wrong_folders(tmp_path):
        with pytest.raises(DataError, match=message):
            main(ReportConfig(runs=[folder], output=tmp_path / "report"))
    assert not (tmp_path / "report").exists()


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (number(-0.123), "−0.12"),
        (number(-0.001), "0.00"),
        (number(0.5, 3), "0.500"),
        (signed(-2.0), "−2"),
        (signed(1.5), "+1.5"),
        (signed(0.0), "0"),
        (percent(0.0), "0 %"),
        (percent(0.004), "< 1 %"),
        (percent(0.125), "12 %"),
        (on_line(0.0), 60),
        (on_line(1.0), 160),
        (on_line(-0.9), 0),
    ],
)
def test_numbers_as_shown(shown: Any, text: Any) -> None:
    assert shown == text
