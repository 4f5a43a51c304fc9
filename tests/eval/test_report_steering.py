"""Strength curves on the page of eval.report."""

import re

from eval.charts import strength_chart
from tests.eval.report_for_tests import Shown, rows, steered


def test_steering_marks_oracle_broken_and_missing_people(shown: Shown) -> None:
    section = shown.html[shown.html.index('<section id="run-2"') :].split("</section>")[0]
    with_people, without = section.split('<figure class="card"')[1:]
    assert "oracle: chosen on the test scores (strength" in with_people
    assert with_people.count("broken</span>") == without.count("broken</span>") == 1
    assert ">Pearson</text>" in with_people
    assert ">Pearson</text>" not in without
    assert ">mean score</text>" in without
    assert "No oracle: no human scores." in without
    names = [header.removesuffix(" baseline") for header in rows(shown.html, 'id="run-2"')[0][5:]]
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
