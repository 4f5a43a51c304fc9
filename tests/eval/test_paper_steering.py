"""eval.paper_tables for SteerEval: measured beside published, averages by strength, what is missing with its commands, the page."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from core.errors import ConfigError, DataError
from core.run import Run
from eval.paper.steering_build import build
from eval.paper.steering_page import render
from eval.paper.steering_spec import SteeringPaper
from eval.paper.steering_text import counts, markdown
from eval.paper.steering_values import Average, SteeringMeasured, Way, averages
from eval.paper_tables import PaperTablesConfig, main
from eval.reporting.runs import read_run
from tests.conftest import REPO
from tests.eval.report_for_tests import Page, rows
from tests.eval.steering_for_tests import cell, directions_run, similarity_run, summaries_run, unsteered_cell

SMALL: dict[str, Any] = {
    "title": "Steered <b>",
    "languages": ["hi", "ur"],
    "dimensions": ["coherence"],
    "pivots": ["en", "fr"],
    "remarks": ["A remark <i>."],
    "settings": [
        {"name": "vector", "method": "vector", "scale": "relative", "flags": ""},
        {"name": "map", "method": "map", "scale": None, "flags": "--method map"},
    ],
    "data": ["get"],
    "directions": "learn {model} {language} {pivot} {name}",
    "measure": "score {name} {metric} {flags} {pivot} {setting}",
    "similarity": "compare {name} {pivot}",
    "rows": [
        {
            "label": "Pico <p>", "metric": "gptscore", "name": "pico", "model": "models/pico",
            "unsteered": {"coherence": {"hi": 0.15}}, "steered": {"coherence": {"hi": 0.25}},
        },
    ],
}  # fmt: skip
TOWARD_EN = Way("en", "vector", "relative")


def small(**changes: Any) -> SteeringPaper:
    return SteeringPaper.model_validate(SMALL | changes)


def built(*folders: Path, paper: SteeringPaper | None = None) -> dict[str, Any]:
    files = ("eval.summaries", "metrics.json"), ("eval.directions", "directions.json"), ("eval.vector_similarity", "similarity.json")  # fmt: skip
    return build(paper or small(), [read_run(folder, dict(files)) for folder in folders])


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Hindi toward English and French, Urdu toward English, Japanese (not the paper's) unsteered; another model besides."""
    root = tmp_path_factory.mktemp("steering")
    return built(
        summaries_run(root / "en", cell(), cell("ur", null=None), unsteered_cell("ja"), notes=["ja: no directions"]),
        summaries_run(root / "fr", cell(pivot="fr", pearson={-0.1: 0.24, 0.0: 0.2, 0.1: 0.1})),
        summaries_run(root / "other", cell(model="org/other"), notes=["ja: no directions"]),
        similarity_run(root / "similarity"),
        directions_run(root / "directions"),
        directions_run(root / "none", held_out=False),
    )


def test_unsteered_values_stand_beside_the_published_ones(content: dict[str, Any]) -> None:
    table = content["tables"]["coherence"]
    assert table["columns"] == ["hi", "ur", "ja"]
    ours, other = table["blocks"]
    hi, ur, ja = ours["unsteered"].values()
    assert (hi["value"], hi["published"]) == (0.2, 0.15)
    assert hi["difference"] == pytest.approx(0.05)
    assert (ur["value"], ur["published"], ur["difference"]) == (0.2, None, None)
    assert (ja["value"], ja["reason"]) == (None, "no human scores")
    assert ours["published_steered"] == {"hi": 0.25, "ur": None, "ja": None}
    assert (other["label"], other["model"], other["unsteered"]["ur"]["reason"]) == (
        "other",
        "org/other",
        "not measured",
    )


def test_each_pivot_has_oracle_nested_and_null_beside_each_other(content: dict[str, Any]) -> None:
    toward_en, toward_fr = content["tables"]["coherence"]["blocks"][0]["steered"]
    assert [toward_en["label"], toward_fr["label"]] == ["relative vector → en", "relative vector → fr"]
    hi = toward_en["cells"]["hi"]
    assert (hi["oracle"]["pearson"]["value"], hi["nested"]["pearson"]["value"]) == (0.3, 0.25)
    assert (hi["oracle"]["null"]["p_value"], hi["nested"]["null"]["p_value"]) == (0.25, 0.5)
    assert toward_en["cells"]["ur"]["oracle"]["null"] is None
    assert list(toward_fr["cells"]) == ["hi"]
    assert toward_fr["cells"]["hi"]["oracle"]["pearson"]["value"] == 0.24


def test_averages_are_over_cells_at_one_strength_on_all_their_layers(tmp_path: Path) -> None:
    """At −.1 gains of .10 on .20 (50 %) and −.02 on .40 (−5 %), and of .06 on 0, which has no relative improvement."""
    flat = {-0.1: 0.38, 0.0: 0.4, 0.1: 0.3}
    cells = [
        cell(),
        cell("ur", pearson=flat, metric="comet"),
        cell("ar", pearson={-0.1: 0.06, 0.0: 0.0, 0.1: -0.1}),
        unsteered_cell(),
    ]
    measured = SteeringMeasured([read_run(summaries_run(tmp_path / "run", *cells))])
    found = averages(measured.cells)
    assert list(found) == [TOWARD_EN]
    assert list(found[TOWARD_EN]) == [-0.1, 0.1]
    at = found[TOWARD_EN][-0.1]
    assert at["all"] == pytest.approx(Average(3, 0.14 / 3, (0.5 - 0.05) / 2, 2 / 3))
    assert at["gptscore"] == pytest.approx(Average(2, 0.08, 0.5, 1))
    assert at["comet"] == pytest.approx(Average(1, -0.02, -0.05, 0))
    columns = [one["metrics"] for one in built(tmp_path / "run")["strengths"]]
    assert columns == [["all", "gptscore", "comet"]]
    alone = averages(measured.cells[2:3])[TOWARD_EN][-0.1]["all"]
    assert (alone.gain, alone.relative) == (pytest.approx(0.06), None)


def test_vectors_and_held_out_pairs(content: dict[str, Any]) -> None:
    (similar,) = content["similarity"]
    assert similar["mean_with_others"] == pytest.approx({"uk": 0.6, "es": 0.55, "yo": 0.3})
    (alignment,) = content["alignment"]  # a run without held-out pairs has none
    assert (alignment["layer"], alignment["held_out_pairs"]) == (1, 40)
    # On layers 0 and 1 the vector finds .4 and .5, the map .6 and .7.
    assert alignment["mean_retrieval"] == pytest.approx({"none": 0.3, "vector": 0.45, "ridge": 0.65})


def test_two_runs_that_differ_are_refused_and_equal_ones_are_one(tmp_path: Path) -> None:
    first, again = (summaries_run(tmp_path / name, cell()) for name in ("first", "again"))
    assert built(first, again)["tables"] == built(first)["tables"]
    # .20 and .201 are the same in half precision, .22 is another run.
    near = summaries_run(tmp_path / "near", cell(pivot="fr", pearson={-0.1: 0.3, 0.0: 0.201, 0.1: 0.1}))
    assert built(first, near)
    far = summaries_run(tmp_path / "far", cell(pivot="fr", pearson={-0.1: 0.3, 0.0: 0.22, 0.1: 0.1}))
    with pytest.raises(
        DataError, match=r"gptscore of models/pico, hi coherence, unsteered: measured in .*first \(n 40\)"
    ):
        built(first, far)
    other = summaries_run(tmp_path / "other", cell(pearson={-0.1: 0.35, 0.0: 0.2, 0.1: 0.1}))
    with pytest.raises(DataError, match=r"hi coherence, relative vector → en: measured in"):
        built(first, other)


def test_a_run_with_a_development_set_gives_unsteered_scores_alone(tmp_path: Path) -> None:
    folder = summaries_run(tmp_path / "dev", cell())
    found = json.loads((folder / "metrics.json").read_text())
    (folder / "metrics.json").write_text(json.dumps(found | {"dev": [cell()]}))
    content = built(folder)
    block = content["tables"]["coherence"]["blocks"][0]
    assert block["unsteered"]["hi"]["value"] == 0.2
    assert (block["steered"], content["strengths"]) == ([], [])
    assert "chosen on a development set" in content["notes"][0]


def test_what_is_missing_comes_with_its_commands(content: dict[str, Any]) -> None:
    assert [one["what"] for one in content["missing"]] == [
        "the data",
        "gptscore, Pico <p>: map → en, vector → fr, map → fr",
        "similarity of vectors toward fr, Pico <p>",
    ]
    loop = ["for l in hi ur; do", "  learn models/pico $l {} pico --if_exists resume", "done"]
    assert content["missing"][1]["commands"] == [
        *(line.format("en") for line in loop),
        "score pico gptscore --method map en map --if_exists resume",
        *(line.format("fr") for line in loop),
        "score pico gptscore fr vector --if_exists resume",
        "score pico gptscore --method map fr map --if_exists resume",
    ]
    assert content["missing"][2]["commands"][-1] == "compare pico fr --if_exists resume"
    assert content["notes"] == ["ja: no directions"]


def test_markdown_has_each_value_and_what_it_is(content: dict[str, Any]) -> None:
    text = markdown(content)
    lines = [
        [part.strip() for part in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")
    ]
    table = {line[0]: line[1:] for line in lines[: next(n for n, line in enumerate(lines) if "other" in line[0])]}
    assert table["**gptscore, Pico <p>**"] == [".20 [.10, .30]", ".20 [.10, .30]", "–"]
    assert table["· paper"] == [".15", "–", "–"]
    assert table["· paper, steered"] == [".25", "–", "–"]
    assert table["· difference"] == ["+.05", "–", "–"]
    assert table["relative vector → en, oracle"] == [".30 [.20, .40]", ".30 [.20, .40]", ""]
    assert table["relative vector → fr, nested"] == [".22 [.12, .32]", "", ""]
    assert [line[1:3] for line in lines if line[0] == "· p"][:2] == [[".250 (≥ .250)", "–"], [".500 (≥ .250)", "–"]]
    # Hindi and Urdu on one model and Hindi on another gain .10 on .20 each.
    assert ["-0.1", "+.10 · +50 % · 100 % · 3"] in lines
    assert ["uk–yo", ".40", ".30"] in lines
    assert ["hi → en, pico", "60 + 40", "1", ".30 (.30)", ".45 (.50)", ".65 (.70)"] in lines
    assert counts(content) == "3 of 6 unsteered cells are measured, and 4 steered ones"


def test_page_is_whole_and_escaped(content: dict[str, Any]) -> None:
    html = render(content, [])
    page = Page(html)
    assert "Steered <b>" in page.text
    assert "A remark <i>." in page.text
    assert "Pico <p>, unsteered" in page.text
    assert page.tags("script") == []
    assert "://" not in html
    assert html == render(content, [])
    found = rows(html, '<table class="paper"')
    assert found[1][1] == "0.20 [0.10, 0.30] paper 0.15 +0.05 n 40"
    assert found[3][1] == "oracle 0.30 [0.20, 0.40] p 0.250 (≥ 0.250) nested 0.25 [0.15, 0.35] p 0.500 (≥ 0.250)"
    assert {tag["title"] for tag in page.tags("abbr")} >= {"not published in numbers", "no human scores", "Hindi"}
    assert not re.search(r"\b(nan|None|inf)\b", page.text)


def test_command_writes_all_three_with_nothing_measured_and_with_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(REPO)
    tables = Path("configs/paper/steereval")
    main(PaperTablesConfig(tables=tables, output=tmp_path / "none"))
    # Nine metrics and models, eight languages, two dimensions.
    assert "0 of 144 unsteered cells are measured, and 0 steered ones" in capsys.readouterr().out
    runs = [summaries_run(tmp_path / "run", cell("es")), similarity_run(tmp_path / "similarity")]
    main(PaperTablesConfig(runs=runs, tables=tables, output=tmp_path / "some"))
    written = json.loads((tmp_path / "some/tables.json").read_text(), parse_constant=pytest.fail)
    assert written["tables"]["coherence"]["blocks"][-1]["unsteered"]["es"]["value"] == 0.2
    assert (tmp_path / "some/tables.md").read_text().startswith("# SteerEval")
    assert "</html>" in (tmp_path / "some/tables.html").read_text()
    with Run(tmp_path / "agree", "eval.agree", {}):
        pass
    with pytest.raises(DataError, match=r"run of eval.agree, .*name output folders of eval.summaries, eval.directions"):
        main(PaperTablesConfig(runs=[tmp_path / "agree"], tables=tables, output=tmp_path / "out"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("unsteered", "message"),
    [
        ({"fluency": {"hi": 0.1}}, "fluency is none of coherence"),
        ({"coherence": {"fr": 0.1}}, "fr is none of hi, ur"),
    ],
)
def test_published_values_have_places(unsteered: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        small(rows=[SMALL["rows"][0] | {"unsteered": unsteered}])
