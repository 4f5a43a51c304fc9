"""eval.paper_tables: measured beside published, means over a row's languages, what is missing with its commands, the page."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.errors import ConfigError, DataError
from core.jsonl import write_json
from core.records import write_records, write_rows
from core.run import Run
from eval.agree import AgreeConfig
from eval.agree import main as agree
from eval.paper.build import build
from eval.paper.page import fertility_charts, render
from eval.paper.spec import Paper, PaperFigure, PaperTable, read_paper
from eval.paper.text import counts, markdown
from eval.paper.values import Measured
from eval.paper_tables import PaperTablesConfig, main
from eval.reporting.runs import read_run
from tests.conftest import REPO
from tests.eval.predictions_for_tests import GOLD, JUDGE, records, rows
from tests.eval.report_for_tests import Page

# Case 25: linear kappa of GOLD and JUDGE is .675325; of equal scores it is 1.
KAPPA = 0.675325
TABLE: dict[str, Any] = {
    "title": "Title <b>",
    "statistic": "kappa",
    "languages": ["fr", "hi"],
    "data": ["get {language}"],
    "measure": ["judge {model} {judge} {language}", "agree {language}"],
    "rows": [
        {"label": "one", "judge": "j-{language}", "model": "runs/{language}", "make": ["train {language}"], "published": {"fr": 0.7, "hi": 0.5, "avg": 0.6}},
        {"label": "French <i>", "judge": "j-fr", "published": {"fr": 0.7}},
        {"label": "absent", "judge": "k", "note": "Ask K.", "published": {"fr": 0.1, "hi": 0.2}},
    ],
}  # fmt: skip


def paper(**changes: Any) -> Paper:
    return Paper(tables={"9": PaperTable.model_validate(TABLE | changes)}, figure=None)


def run_of(root: Path, name: str, **judges: list[int | None]) -> Path:
    """A run of eval.agree over judges j-fr, j-hi, …, each in its own language."""
    files = []
    for judge, scores in judges.items():
        files.append(root / f"{name}-{judge}.jsonl")
        given = rows(scores, [float(gold) for gold in GOLD], judge=f"j-{judge}", language=judge)
        write_rows([row.model_copy(update={"id": f"{judge}-{row.id}"}) for row in given], files[-1])
    agree(AgreeConfig(predictions=files, output=root / name, resamples=50))
    return root / name


def measured(*folders: Path) -> Measured:
    return Measured([read_run(folder) for folder in folders])


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_of(tmp_path_factory.mktemp("agree"), "both", fr=list(JUDGE), hi=list(GOLD))


def test_values_stand_beside_the_published_ones(both: Path) -> None:
    table = build(paper(), measured(both), [])["tables"]["9"]
    one, french, absent = (row["cells"] for row in table["rows"])
    assert one["fr"]["value"] == pytest.approx(KAPPA, abs=1e-6)
    assert one["fr"]["difference"] == pytest.approx(KAPPA - 0.7, abs=1e-6)
    assert one["fr"]["low"] < KAPPA < one["fr"]["high"]
    assert (one["fr"]["n"], one["fr"]["published"], one["fr"]["run"]) == (10, 0.7, read_run(both).name)
    assert one["hi"]["value"] == 1
    # The mean of .675325 and 1, beside the paper's .6; n is that of both.
    assert one["avg"]["value"] == pytest.approx((KAPPA + 1) / 2, abs=1e-6)
    assert one["avg"]["difference"] == pytest.approx((KAPPA + 1) / 2 - 0.6, abs=1e-6)
    assert (one["avg"]["over"], one["avg"]["n"], one["avg"]["low"]) == (["fr", "hi"], 20, None)
    assert list(french) == ["fr", "avg"]
    assert french["avg"]["over"] == ["fr"]
    assert french["avg"]["difference"] is None
    nothing = {"value": None, "low": None, "high": None, "n": 0, "n_unscored": 0, "reason": "not measured"}
    assert absent["fr"] == nothing | {"published": 0.1, "difference": None}


def test_a_mean_over_languages_needs_all_of_them(tmp_path: Path) -> None:
    table = build(paper(), measured(run_of(tmp_path, "fr", fr=list(JUDGE))), [])["tables"]["9"]
    mean = table["rows"][0]["cells"]["avg"]
    assert (mean["value"], mean["difference"], mean["reason"]) == (None, None, "no value in hi")


def test_the_mean_has_an_interval_where_one_run_measured_all_its_languages(tmp_path: Path) -> None:
    both_languages = [
        row.model_copy(update={"id": f"{code}-{row.id}", "language": code})
        for code, scores in (("fr", JUDGE), ("hi", GOLD))
        for row in rows(scores, [float(gold) for gold in GOLD], judge="j")
    ]
    write_rows(both_languages, tmp_path / "p.jsonl")
    agree(AgreeConfig(predictions=[tmp_path / "p.jsonl"], output=tmp_path / "run", resamples=50))
    one_judge = paper(rows=[{"label": "j", "judge": "j", "published": {"fr": 0.7, "hi": 0.5}}])
    mean = build(one_judge, measured(tmp_path / "run"), [])["tables"]["9"]["rows"][0]["cells"]["avg"]
    assert mean["value"] == pytest.approx((KAPPA + 1) / 2, abs=1e-6)
    assert mean["low"] < mean["value"] < mean["high"]
    assert "reason" not in mean
    half = paper(rows=[{"label": "j", "judge": "j", "published": {"fr": 0.7}}])
    assert build(half, measured(tmp_path / "run"), [])["tables"]["9"]["rows"][0]["cells"]["avg"]["low"] is None


def test_an_undefined_figure_keeps_its_reason(tmp_path: Path) -> None:
    threes: list[int | None] = [3] * 10
    folder = run_of(tmp_path, "constant", fr=threes)
    row = build(paper(statistic="pearson"), measured(folder), [])["tables"]["9"]["rows"][0]
    assert row["cells"]["fr"]["value"] is None
    assert "constant" in row["cells"]["fr"]["reason"]


def test_what_is_missing_comes_with_its_commands(both: Path) -> None:
    missing = build(paper(), measured(both), [])["missing"]
    assert [one["what"] for one in missing] == ["the data", "table 9, absent"]
    assert missing[1] == {
        "what": "table 9, absent",
        "languages": ["fr", "hi"],
        "notes": ["Ask K."],
        "commands": [
            "for l in fr hi; do",
            "  judge  k $l --if_exists resume",
            "  agree $l --if_exists resume",
            "done",
        ],
    }


def test_rows_that_the_same_commands_make_are_named_together() -> None:
    two = paper(rows=[TABLE["rows"][0], TABLE["rows"][0] | {"label": "again", "published": {"hi": 0.1}}])
    missing = build(two, Measured([]), [])["missing"]
    assert [one["what"] for one in missing] == ["the data", "table 9, one; table 9, again"]
    assert missing[1]["languages"] == ["fr", "hi"]
    assert missing[1]["commands"][1:3] == [
        "  train $l --if_exists resume",
        "  judge runs/$l j-$l $l --if_exists resume",
    ]


def test_a_judge_that_no_row_names_is_said(both: Path) -> None:
    notes = build(paper(rows=TABLE["rows"][1:]), measured(both), [])["notes"]
    assert notes == ["no row of the tables is of judge j-hi; eval.judge --judge names a judge"]


def test_two_runs_that_differ_are_refused_and_equal_ones_are_one(both: Path, tmp_path: Path) -> None:
    same = run_of(tmp_path, "same", fr=list(JUDGE))
    assert measured(both, same).figure("j-fr", "fr", "score", "kappa") == measured(both).figure("j-fr", "fr", "score", "kappa")  # fmt: skip
    other = run_of(tmp_path, "other", fr=list(GOLD))
    with pytest.raises(DataError, match=r"judge j-fr in fr is measured in .* name the run that the tables are to show"):
        measured(both, other)


def test_people_and_gold_are_told_apart(both: Path, tmp_path: Path) -> None:
    """The same judge on records that three people scored: table 1 takes the one, table 2 the other."""
    scored = [one.model_copy(update={"human_scores": [1.0, 2.0, 4.0] if n % 2 else [4.0, 5.0, 5.0]}) for n, one in enumerate(records(GOLD, language="fr"))]  # fmt: skip
    write_records(scored, tmp_path / "r.jsonl")
    write_rows(rows(JUDGE, [None] * 10, judge="j-fr", language="fr"), tmp_path / "p.jsonl")
    files = {"predictions": [tmp_path / "p.jsonl"], "records": [tmp_path / "r.jsonl"]}
    agree(AgreeConfig(**files, output=tmp_path / "people", against="annotators", resamples=50))
    found = measured(both, tmp_path / "people")
    by_gold, by_people = (found.figure("j-fr", "fr", gold, "pearson") for gold in ("score", "people"))  # type: ignore[arg-type]
    assert by_gold is not None
    assert by_people is not None
    assert by_gold[1]["value"] != by_people[1]["value"]
    annotators = paper(
        gold="people", rows=[{"label": "people", "statistic": "pairwise_pearson", "published": {"fr": 0.4}}]
    )
    cell = build(annotators, found, [])["tables"]["9"]["rows"][0]["cells"]["fr"]
    assert cell["n"] == 10
    assert cell["value"] == pytest.approx(json.loads((tmp_path / "people/metrics.json").read_text())["annotators"]["all"]["pairwise_pearson"]["value"])  # fmt: skip


FIGURE = PaperFigure(title="Fertility", languages=["hi"], tokenizers={"T <b>": "org/t", "U": "org/u"}, command="count")


def token_row(source: str, value: float) -> dict[str, Any]:
    figure = {"value": value, "low": value - 0.5, "high": value + 0.5, "n": 9, "n_unscored": 0}
    return {"tokenizer": "org/t", "language": "hi", "source": source, "tokens_per_word": figure}


def test_fertility_is_of_parallel_sentences_where_there_are_any() -> None:
    both_kinds = [token_row("records", 2.0), token_row("parallel", 3.0)]
    content = build(paper().model_copy(update={"figure": FIGURE}), Measured([]), both_kinds)
    assert content["figure"]["source"] == "parallel"
    assert [row["cells"]["hi"]["value"] for row in content["figure"]["rows"]] == [3.0, None]
    assert content["missing"][-1]["what"] == "the fertility figure"
    ((name, chart),) = fertility_charts(content["figure"])
    assert name == "Hindi"
    assert 'aria-label="Tokens a word in Hindi, by tokenizer"' in chart
    assert "T &lt;b&gt;" in chart
    assert "not measured" in chart
    only = build(paper().model_copy(update={"figure": FIGURE}), Measured([]), both_kinds[:1])
    assert only["figure"]["source"] == "records"
    with pytest.raises(DataError, match=r"org/t is counted unlike in hi by two runs of data_prep.tokens"):
        build(
            paper().model_copy(update={"figure": FIGURE}),
            Measured([]),
            [token_row("records", 2.0), token_row("records", 3.0)],
        )
    assert fertility_charts(build(paper().model_copy(update={"figure": FIGURE}), Measured([]), [])["figure"]) == []


def test_markdown_has_value_interval_paper_difference_and_n(both: Path) -> None:
    text = markdown(build(paper(), measured(both), []))
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")
    ]
    assert lines[0] == ["", "fr", "hi", "avg"]
    assert lines[2][0] == "one"
    assert lines[2][1].startswith(".68 [")
    assert lines[3:6] == [
        ["· paper", ".70", ".50", ".60"],
        ["· difference", "-.02", "+.50", "+.24"],
        ["· n", "10", "10", "20"],
    ]
    assert lines[-2:] == [["absent", "–", "–", "–"], ["· paper", ".10", ".20", "–"]]
    assert counts(build(paper(), measured(both), [])) == "3 of 5 cells of 1 tables are measured"


def test_page_is_whole_and_escaped(both: Path) -> None:
    content = build(paper().model_copy(update={"figure": FIGURE}), measured(both), [token_row("records", 2.0)])
    html = render(content, [read_run(both).manifest])
    page = Page(html)
    assert "Title <b>" in page.text
    assert "French <i>" in page.text
    assert page.tags("script") == []
    assert "://" not in html
    assert "−0.02" in page.text
    assert render(content, []) == render(content, [])


def test_command_writes_all_three_with_nothing_measured_and_with_runs(
    both: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(REPO)
    main(PaperTablesConfig(output=tmp_path / "none"))
    assert "0 of 197 cells of 7 tables are measured" in capsys.readouterr().out
    with Run(tmp_path / "tokens", "data_prep.tokens", {}) as run:
        write_json(
            {"policy": {}, "rows": [token_row("records", 2.0) | {"tokenizer": "google/gemma-2b"}]},
            run.path / "tokens.json",
        )
    main(PaperTablesConfig(runs=[both, tmp_path / "tokens"], output=tmp_path / "some"))
    content = json.loads((tmp_path / "some" / "tables.json").read_text(), parse_constant=pytest.fail)
    assert content["notes"] == [
        f"no row of the tables is of judge {name}; eval.judge --judge names a judge" for name in ("j-fr", "j-hi")
    ]
    gemma = next(row for row in content["figure"]["rows"] if row["tokenizer"] == "google/gemma-2b")
    assert gemma["cells"]["hi"]["value"] == 2.0
    assert (tmp_path / "some" / "tables.md").read_text().startswith("## Table 1. ")
    assert "<svg" in (tmp_path / "some" / "tables.html").read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "holds no table-"),
        ("title: t\n", "table-1.yaml: statistic"),
        ("title: t\nstatistic: kapa\nlanguages: [hi]\nmeasure: []\nrows: []\n", "table-1.yaml: statistic"),
        (
            "title: t\nstatistic: kappa\nlanguages: [hi]\nmeasure: []\nrows:\n  - {label: a, published: {fr: .5}}\n",
            "a: published holds fr; the columns are hi, avg",
        ),
    ],
)
def test_wrong_tables_are_one_line(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / "table-1.yaml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_paper(tmp_path)


def test_a_run_of_another_command_is_refused(tmp_path: Path) -> None:
    with Run(tmp_path / "judge", "eval.judge", {}):
        pass
    with pytest.raises(
        DataError, match=r"a run of eval.judge, which is not shown here; name output folders of eval.agree"
    ):
        main(PaperTablesConfig(runs=[tmp_path / "judge"], tables=REPO / "configs/paper/cia", output=tmp_path / "out"))
    assert not (tmp_path / "out").exists()
