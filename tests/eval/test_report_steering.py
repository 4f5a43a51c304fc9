"""The steering sections of eval.report: how a strength was chosen, curves, heat maps, held-out alignment, vectors alike."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from core.run import Run
from eval.report import ReportConfig, main
from eval.reporting.charts import strength_chart
from eval.reporting.environment import tint
from eval.reporting.page import render
from eval.reporting.runs import read_run
from eval.reporting.steering import by_layers, language_maps, layer_maps, similarity
from eval.reporting.steering_charts import alignment_chart, development_chart, similarity_chart
from eval.reporting.verdicts import Gathered
from tests.eval.report_for_tests import Page, Shown, rows, steered
from tests.eval.steering_for_tests import (
    cell,
    directions_run,
    metrics,
    point,
    selected,
    similarity_run,
    strength_rows,
    summaries_run,
    unsteered_cell,
)


def page_of(*folders: Path) -> str:
    return render([read_run(folder) for folder in folders], "t", None, Gathered([], []), 0)


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> str:
    root = tmp_path_factory.mktemp("steering")
    cells = [cell(), cell("ur", pearson={-0.1: 0.1, 0.0: 0.2, 0.1: 0.4}), unsteered_cell()]
    return page_of(summaries_run(root / "s", *cells), directions_run(root / "d"), similarity_run(root / "v"))


def test_a_real_run_marks_oracle_broken_and_missing_people(shown: Shown) -> None:
    section = shown.html[shown.html.index('<section id="run-2"') :].split("</section>")[0]
    with_people, without = section.split('<figure class="card"')[1:]
    assert "oracle: chosen on the test scores (strength" in with_people
    assert with_people.count("broken</span>") == without.count("broken</span>") == 1
    assert ">Pearson</text>" in with_people
    assert ">Pearson</text>" not in without
    assert ">mean score</text>" in without
    assert "No oracle: no human scores." in without
    heads = rows(section, "<caption>The metric as it is")[0]
    assert [head.removesuffix(" baseline") for head in heads[5:]] == ["length", "chrf", "rouge l", "bleu", "system"]


def test_the_selection_table_has_every_rule_with_gain_place_and_p(html: str) -> None:
    table = rows(html, "<caption>Pearson with people")
    assert table[0][:5] == ["Language", "Metric", "n", "Rater ceiling one against the rest", "Not steered"]
    hi, ur, ja = table[1:]
    assert hi[3:5] == ["0.500 [0.400, 0.600]", "0.200 [0.100, 0.300]"]
    # The gain .10 of .20 is 50 %; none of three null draws gains as much: (1 + 0) / (1 + 3).
    assert hi[5] == (
        "0.300 [0.200, 0.400] gain +0.100 [0.050, 0.150], +50 % at −0.1 on layers 0–1 p 0.250 (≥ 0.250, 3 draws) mean null gain +0.030"
    )
    # Nested keeps .05, which one null draw (.06) beats: (1 + 1) / (1 + 3).
    assert "p 0.500 (≥ 0.250, 3 draws)" in hi[6]
    assert "at −0.1 on layers 0–1 (80 %), +0.1 on layers 1 (20 %)" in hi[6]
    assert hi[7] == "–"
    assert hi[8].startswith("0.180 [0.080, 0.280] gain −0.020")
    assert " p " not in hi[8]
    assert ur[5].startswith("0.400")
    assert ja[3:] == ["–"] * 6
    assert 'title="one language only"' in html


def test_one_way_to_steer_stands_in_the_caption_alone(tmp_path: Path) -> None:
    html = page_of(summaries_run(tmp_path / "s", cell(), cell("ur")))
    assert rows(html, "<caption>Pearson with people")[0][:2] == ["Language", "n"]
    assert "chosen <small>gptscore · pico · relative vector toward en</small></caption>" in html


def test_heat_maps_show_gains_by_language_and_by_layers(html: str) -> None:
    languages = rows(html, "<caption>coherence, gptscore · pico")
    assert languages == [["Language", "−0.1", "+0.1"], ["hi", "+0.10", "−0.10"], ["ur", "−0.10", "+0.20"]]
    layers = rows(html, "<caption>Mean over cells")
    assert layers == [["Layers", "−0.1", "+0.1"], ["0–1", "+0.10", "−0.10"], ["1", "+0.02", "−0.02"]]
    # Of the largest, .20: half a shade for .10; red is down.
    shades = re.findall(r'class="shade( down)?" style="--heat:([\d.]+)"', html)
    assert shades[:4] == [("", "0.5"), (" down", "0.5"), (" down", "0.5"), ("", "1.0")]


def test_shades_of_gains_are_by_size_and_do_not_blow_up_small_ones() -> None:
    assert [tint(value, [-0.4, 0.1]) for value in (-0.4, 0.1, 0.0)] == [1.0, 0.25, 0.0]
    assert tint(0.01, [0.01, -0.01]) == 0.1  # of the least span .1


def test_a_heat_map_needs_gains_and_several_sets_of_layers() -> None:
    assert language_maps([unsteered_cell()]) == []
    found = cell()
    found["points"][2]["broken"] = True
    found["points"][1]["gain"] = None
    (heat_map,) = language_maps([found, unsteered_cell()])
    assert heat_map.rows == {"hi": {-0.1: None, 0.1: pytest.approx(-0.1)}}
    assert heat_map.broken == {("hi", 0.1)}
    assert layer_maps([row for row in strength_rows([found]) if row["layers"] == [1]]) == []


def test_points_are_told_apart_by_layers_the_widest_set_first() -> None:
    points = [point(None, 0.0, 0.2), point([1], 0.1, 0.3), point([0, 1], -0.1, 0.1), point([1], -0.1, 0.2)]
    found = by_layers(points)
    assert {name: [one["strength"] for one in some] for name, some in found.items()} == {"0–1": [-0.1, 0.0], "1": [-0.1, 0.0, 0.1]}  # fmt: skip
    assert list(found) == ["0–1", "1"]
    assert list(by_layers(points[:1])) == ["–"]


def test_the_points_have_layers_and_controlled_correlations(html: str) -> None:
    table = rows(html, "<summary>The points</summary>")
    assert table[0][-2:] == ["Within system", "Length held fixed"]
    assert [row[1] for row in table[1:]] == ["–", "0–1", "0–1", "1", "1"]
    assert table[2][-2:] == ["0.150 [0.050, 0.250]"] * 2  # half of the Pearson of .30


def test_averages_stand_by_strength(html: str) -> None:
    table = rows(html, "<caption>Over cells")
    assert table[1][:2] == ["−0.1", "0–1"]
    assert table[1][-3:] == ["+0.100", "+50 %", "100 %"]


def test_directions_show_alignment_by_layer(html: str, tmp_path: Path) -> None:
    assert "learned from 60 pairs of sentences on 2 layers (0–1) of <bdi>models/pico</bdi>" in html
    table = rows(html, "<summary>The figures: retrieval")
    assert table[0] == ["Layer", "none", "vector", "ridge"]
    assert table[2] == ["1", "0.30 · 0.40 · 0.10", "0.50 · 0.60 · 0.30", "0.70 · 0.80 · 0.50"]
    assert "retrieval is 0.025 by chance" in html
    assert "No pairs were held out" in page_of(directions_run(tmp_path / "d", held_out=False))


def test_similarity_shows_pairs_by_layer_and_who_stands_apart(html: str) -> None:
    table = rows(html, "<caption>Cosine of two")
    assert table == [
        ["Layer", "0", "1"],
        ["es–uk", "0.90", "0.80"],
        ["es–yo", "0.30", "0.20"],
        ["uk–yo", "0.40", "0.30"],
    ]
    # es: (.9 + .3) / 2 = .6 on layer 0, .5 on layer 1; uk .65 and .55; yo .35 and .25.
    assert "uk 0.60, es 0.55, yo 0.30." in html


def test_every_steering_chart_is_named_and_the_page_is_whole(html: str) -> None:
    page = Page(html)
    labels = [tag["aria-label"] for tag in page.tags("svg") if tag.get("aria-hidden") != "true"]
    assert labels[:2] == ["Strength curve, hi, coherence", "Gain by size of the development set, hi, coherence"]
    assert labels[-2:] == [
        "Held-out alignment by layer, hi to en",
        "Mean cosine with the other languages by layer, toward en",
    ]
    assert not re.search(r"\b(nan|None|inf)\b", page.text)


def test_a_null_without_a_correlation_and_a_choice_of_nothing_are_shown(tmp_path: Path) -> None:
    empty = {"draws": 0, "gains": [], "mean_gain": None, "p_value": None, "smallest_p": 1.0}
    choice = selected(0.2, 0.2) | {"null": empty, "chosen": [{"layers": None, "strength": 0.0, "share": 1.0}]}
    found = cell()
    found["selection"]["oracle"] = choice
    html = page_of(summaries_run(tmp_path / "s", found))
    assert "no null draw has a correlation" in html
    assert "gain 0.000" in rows(html, "<caption>Pearson with people")[1][4]


def test_a_strength_chosen_on_a_development_set_is_shown_with_what_it_gives(tmp_path: Path) -> None:
    """Chosen at −.1 on 40 rows with .30 there; on the input it gives .25 from .20. The oracle of two points is not shown."""
    test_points = [point(None, 0.0, 0.2), point([0, 1], -0.1, 0.25, 0.05)]
    here = cell(points=test_points, n_human=30)
    with Run(tmp_path / "s", "eval.summaries", {}) as run:
        (run.path / "metrics.json").write_text(json.dumps({"dev": [cell(), unsteered_cell()], **metrics(here)}))
    html = page_of(tmp_path / "s")
    (row,) = rows(html, "<caption>Strength chosen on the development set")[1:]
    assert row[2:] == [
        "−0.1 on layers 0–1", "40", "0.300 [0.200, 0.400]", "30", "0.200 [0.100, 0.300]", "0.250 [0.150, 0.350]", "+0.050",
    ]  # fmt: skip
    assert "Leave one language out" not in html


def test_csv_files_hold_every_point_and_every_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    main(ReportConfig(runs=[summaries_run(Path("s"), cell(), unsteered_cell())], output=Path("report")))
    points, choices = (read(Path("report") / name) for name in ("strengths.csv", "selection.csv"))
    assert [(row["layers"], row["strength"]) for row in points] == [
        ("–", "0.0"), ("0–1", "-0.1"), ("0–1", "0.1"), ("1", "-0.1"), ("1", "0.1"), ("–", "0.0"),
    ]  # fmt: skip
    assert [row["gain"] for row in points[:2]] == ["", "0.09999999999999998"]
    assert points[1]["within_system"] == points[1]["length_partial"] == "0.15"
    assert [row["rule"] for row in choices] == (
        ["oracle", "nested", "leave_one_language_out", "unsupervised", *["development"] * 3]
    )
    oracle, nested, other, unsupervised, first, *_ = choices
    assert (oracle["chosen"], oracle["p_value"], oracle["smallest_p"], oracle["null_draws"]) == (
        ("layers 0–1 at -0.1 (100%)", "0.25", "0.25", "3")
    )
    assert nested["chosen"] == "layers 0–1 at -0.1 (80%); layers 1 at 0.1 (20%)"
    assert (other["pearson"], other["reason"]) == ("", "one language only")
    assert (unsupervised["null_draws"], unsupervised["reason"]) == ("", "")
    assert (first["size"], first["gain"], first["pearson"]) == ("5", "-0.02", "")


def read(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def test_chart_draws_zero_bands_and_broken_points_in_page_colours() -> None:
    found = steered()
    svg = strength_chart(found, "a")
    assert svg.startswith("<svg viewBox=")
    assert svg == strength_chart(found, "a")
    assert not re.search(r"(fill|stroke): #", svg)
    whole = found | {"points": [{**one, "broken": False} for one in found["points"]]}
    assert svg.count("var(--bad)") > strength_chart(whole, "a").count("var(--bad)") == 0
    assert ">oracle</text>" in svg
    assert "−1" in svg


def test_a_curve_has_the_nulls_band_and_a_line_for_each_set_of_layers() -> None:
    with_null, without = (strength_chart(cell(null=null), "a") for null in ((0.01, 0.02, 0.06), None))
    assert with_null.count("fill: var(--muted)") == without.count("fill: var(--muted)") + 1
    one_set = [one for one in cell()["points"] if one["layers"] != [1]]
    assert without.count("<path") > strength_chart(cell(null=None, points=one_set), "a").count("<path")
    # A null without any gains draws nothing.
    empty = cell()
    empty["selection"]["oracle"]["null"] |= {"gains": [], "draws": 0}
    assert strength_chart(empty, "a").count("fill: var(--muted)") == without.count("fill: var(--muted)")


def test_chart_of_a_log_spaced_grid_labels_a_few_strengths() -> None:
    sizes = [0.3 / 2**k for k in range(10)]
    points = [point([0], strength, None, mean_score=100.0) for strength in [*sizes, *(-s for s in sizes)]]
    svg = strength_chart(unsteered_cell(points=[point(None, 0.0, None, mean_score=100.0), *points]), "grid")
    # Every third of ten sizes, from the largest: .3, .0375, .0047, .00059, on both sides, and 0.
    assert re.findall(r">(−?0[.\d]*)</text>", svg) == (
        ["−0.3", "−0.037", "−0.0047", "−0.00059", "0", "0.00059", "0.0047", "0.037", "0.3"]
    )


def test_other_charts_draw_the_same_twice_in_page_colours() -> None:
    held_out: dict[str, dict[str, dict[str, float | None]]] = {
        str(layer): {
            "none": {"retrieval": 0.1, "cosine": 0.2, "explained_variance": None},
            "minimum_norm": {"retrieval": 0.3, "cosine": 0.4, "explained_variance": -50.0},
        }
        for layer in range(3)
    }
    drawn: list[Any] = [
        lambda: alignment_chart(held_out, "a"),
        lambda: development_chart(cell()["selection"], "b"),
        lambda: similarity_chart({"es": {"0": 0.5, "1": 0.6}, "yo": {"0": 0.1, "1": 0.2}}, "c"),
    ]
    alignment, development, vectors = (draw() for draw in drawn)
    assert [alignment, development, vectors] == [draw() for draw in drawn]
    assert not re.search(r"(fill|stroke): #", alignment + development + vectors)
    assert ">minimum norm</text>" in alignment
    assert ">−50</text>" not in alignment  # the axis of explained variance ends at −1
    assert ">oracle</text>" in development
    assert ">nested</text>" in development
    assert ">yo</text>" in vectors


def test_similarity_is_arranged_by_pair() -> None:
    pairs = [{"languages": ["a", "b"], "cosine": 0.5}]
    found = similarity({"languages": ["a", "b"], "pivot": "en", "cosines": {"3": pairs}})
    assert found["rows"] == [{"languages": ["a", "b"], "cosines": {"3": 0.5}}]
    assert found["with_others"] == {"a": {"3": 0.5}, "b": {"3": 0.5}}


def test_metrics_of_the_fixture_are_those_that_a_report_reads() -> None:
    """The fixture has the fields of real metrics, so that what is shown of it is shown of a run."""
    real, made = steered(), metrics(cell())["cells"][0]
    assert real.keys() == made.keys()
    assert real["points"][1].keys() == made["points"][1].keys()
    assert real["selection"].keys() == made["selection"].keys()
    assert real["selection"]["oracle"].keys() == made["selection"]["oracle"].keys()
