"""The agreement section of eval.report: every figure of metrics.json where a reader looks for it, old files too."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from core.records import write_records, write_rows
from eval.agree import AgreeConfig
from eval.agree import main as agree
from eval.reporting.environment import heat
from eval.reporting.page import own_language, render
from eval.reporting.runs import RunRead, read_run
from eval.reporting.shares import Shares, cluster, differences_of, rank_of
from eval.reporting.verdicts import Gathered
from tests.eval.report_for_tests import TIES, Page, Shown, plain, prediction, record, rows

NOTHING = Gathered([], [])
JOINT_NAME = "joint &lt;b&gt;"


def page_of(run: RunRead) -> str:
    return render([run], "t", None, NOTHING, 0)


def section(html: str, heading: str) -> str:
    return html[html.index(f"<h3>{heading}</h3>") :]


def test_headline_has_figures_with_intervals_and_marked_baselines(shown: Shown) -> None:
    table = rows(shown.html, 'id="run-1"')
    assert table[0] == (
        ["Judge", "Rank cluster", "Kappa", "0 .5 1", "n", "Unscored", "Pearson", "Spearman", "Kendall", "Exact"]
    )
    by_name = {row[0]: row[1:] for row in table[1:]}
    assert list(by_name) == [JOINT_NAME, "ties", "length baseline", "majority baseline"]
    # JOINT: 6 of 10 exact, its unscored row counting as wrong; TIES: 9 of 10.
    assert by_name[JOINT_NAME][3:5] == ["10", "1 (10 %)"]
    assert by_name[JOINT_NAME][-1].startswith("0.60 [")
    assert by_name["ties"][-1].startswith("0.90 [")
    assert by_name["majority baseline"][1] == "–"
    assert by_name["ties"][0].startswith("1 A")
    assert by_name[JOINT_NAME][0].startswith("2 ")
    assert by_name["length baseline"][0] == "–"


def test_heat_map_has_a_number_in_every_cell_and_the_strongest_shade_on_the_highest(shown: Shown) -> None:
    table = rows(shown.html, '<table class="heat"')
    assert table[0] == ["Judge", "hi", "ur", "mean"]
    assert [row[0] for row in table[1:]] == [JOINT_NAME, "ties", "length baseline"]
    numbers = [[float(cell.replace("−", "-")) for cell in row[1:3]] for row in table[1:]]
    html = shown.html[shown.html.index('<table class="heat"') :].split("</table>")[0]
    shades = [float(shade) for shade in re.findall(r"--heat:([\d.]+)", html)]
    flat = [value for row in numbers for value in row]
    assert len(shades) == len(flat) == 6
    assert shades[flat.index(max(flat))] == 1
    assert shades[flat.index(min(flat))] == 0


def test_shades_are_relative_but_do_not_blow_up_a_small_span() -> None:
    assert [heat(value, [0.2, 0.5, 0.8]) for value in (0.2, 0.5, 0.8)] == [0, 0.5, 1]
    # All within .02: shades within a tenth, of the least span .2.
    assert [heat(value, [0.7, 0.71, 0.72]) for value in (0.7, 0.71, 0.72)] == [0, 0.05, 0.1]


@pytest.mark.parametrize(
    ("judge", "code", "own"),
    [
        ("hi", "hi", True),
        ("hercule-llama-3.1-8b-hi", "hi", True),
        ("gemma-1.1-2b-it-hi", "hi", True),
        ("gemma-1.1-2b-it", "it", False),
        ("bn-de-fr-hi-te-ur", "ur", False),
        ("hercule-hi", "ur", False),
    ],
)
def test_a_judges_own_language_is_the_one_that_ends_its_name(judge: str, code: str, own: bool) -> None:
    assert own_language(judge, code) is own


def test_groups_count_rows_of_each_language(shown: Shown) -> None:
    table = rows(shown.html, "<summary>With intervals and n</summary>")
    assert table[0] == ["Judge", "hi n 5", "ur n 5"]
    assert table[1][1].endswith("1 unscored")  # row 3, an odd one
    assert "By length quartile of the response over its reference, 1 the shortest" in shown.page.text


def test_length_control_stands_beside_its_null(shown: Shown) -> None:
    table = rows(shown.html, "With length held fixed")
    assert [row[0] for row in table[1:]] == [JOINT_NAME, "ties", "length baseline"]
    assert all("null" in cell for cell in table[2][3:] if cell != "–")


def test_comparisons_print_the_corrected_and_the_smallest_possible_p(shown: Shown) -> None:
    table = rows(shown.html, "<h3>Judges compared")
    assert table[0][4:7] == ["p", "p, Holm", "Smallest possible p"]
    assert table[1][:3] == [JOINT_NAME, "ties", "kappa"]
    assert table[1][6] == "0.01"  # 1 / (99 + 1)
    assert all(float(row[5]) >= float(row[4]) for row in table[1:])
    single = rows(section(shown.html, "Judges compared on the same items"), "<summary>By language</summary>")
    assert single[0][2] == "Language"
    assert {row[2] for row in single[1:]} == {"hi", "ur"}


def test_annotators_show_the_ceiling(shown: Shown) -> None:
    table = rows(shown.html, "<h3>How far people agree")
    assert table[0][:4] == ["Language", "Annotators", "n", "Pairs, Pearson"]
    assert [row[:3] for row in table[1:]] == [["all", "2", "10"], ["hi", "2", "5"], ["ur", "2", "5"]]


def test_confusion_matrix_and_differences(shown: Shown) -> None:
    matrix = rows(shown.html, '<table class="confusion"')
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
    counts, labels = rows(shown.html, '<table class="bars"')
    assert labels == ["−4", "−3", "−2", "−1", "0", "+1", "+2", "+3", "+4"]
    assert counts == ["0", "1", "0", "0", "6", "1", "1", "0", "0"]


def test_generosity_bars_are_the_shares_of_differences(shown: Shown) -> None:
    joint = shown.runs[0].metrics["judges"]["joint <b>"]["all"]
    # Of nine scored rows one is two or more below, six are equal, one is one above, one two or more above.
    assert differences_of(joint) == pytest.approx(Shares(1 / 9, 0, 6 / 9, 1 / 9, 1 / 9))
    bars = section(shown.html, "Too generous, too strict")
    assert "11 % two or more below, 0 % one below, 67 % equal, 11 % one above, 11 % two or more above" in bars
    widths = [float(width) for width in re.findall(r'class="share-\d" x="[\d.]+" y="0" width="([\d.]+)"', bars)]
    assert widths[:5] == pytest.approx([200 / 9, 0, 1200 / 9, 200 / 9, 200 / 9], abs=0.01)
    assert differences_of({"differences": None}) is None
    assert differences_of({"differences": {"0": 0}}) is None


def test_distribution_of_scores_stands_beside_gold(shown: Shown) -> None:
    # JOINT's scored rows: scores 1 1 2 2 3 3 4 5 5; their gold is 1 1 2 2 3 3 4 5 5 too, in another order.
    assert 'aria-label="Scores 1 to 5: given 2, 2, 2, 1, 2; gold 2, 2, 2, 1, 2"' in shown.html


def test_clusters_are_letters() -> None:
    assert [cluster(number) for number in (1, 2, 26, 27)] == ["A", "B", "Z", "27"]
    ranks = [{"group": "all", "statistic": "pearson", "judges": [{"name": "a", "rank": 1, "cluster": 1}]}]
    assert rank_of({"ranks": ranks}, "a") == {"name": "a", "rank": 1, "cluster": 1}
    assert rank_of({"ranks": ranks}, "b") is None
    assert rank_of({"ranks": ranks}, "a", "hi") is None
    assert rank_of({}, "a") is None


def test_consistency_shows_each_judge_and_its_pairs(shown: Shown) -> None:
    run = copy.deepcopy(shown.runs[0])
    figure = {"value": 0.5, "low": 0.4, "high": 0.6, "n": 7, "n_unscored": 0}
    both = {"mean_absolute_difference": figure, "equal": figure}
    run.metrics["consistency"] = {"<judge>": {**both, "pairs": {"hi-ur": both}}}
    table = rows(page_of(run), "<h3>The same item in two languages")
    assert table[1] == ["&lt;judge&gt;", "7", "0.50 [0.40, 0.60]", "0.50 [0.40, 0.60]"]


def strip_new(metrics: dict[str, Any]) -> dict[str, Any]:
    """metrics.json as it was before ranks, Holm, annotators, consistency, quartiles and shares."""
    old = {name: metrics[name] for name in ("judges", "baselines", "notes")}
    for entry in [*old["judges"].values(), *old["baselines"].values()]:
        for name in ("by_length_quartile", "mean_over_languages"):
            entry.pop(name, None)
        for figures in [entry["all"], *entry["by_language"].values(), *entry["by_capability"].values()]:
            for name in ("shares", "score_distribution"):
                figures.pop(name, None)
    compared = [row for row in metrics["comparisons"] if row["group"] == "all"]
    for row in compared:
        del row["p_holm"], row["group"]
    return old | {"comparisons": compared}


def test_metrics_of_before_are_shown_as_before(shown: Shown) -> None:
    run = copy.deepcopy(shown.runs[0])
    html = page_of(run._replace(metrics=strip_new(run.metrics)))
    text = plain(html)
    assert "p, Holm" not in text
    assert "Rank" not in text
    assert "How far people agree" not in text
    assert rows(html, 'id="run-1"')[1][0] == JOINT_NAME
    assert rows(html, "<h3>Judges compared")[1][:3] == [JOINT_NAME, "ties", "kappa"]
    Page(html)


def test_gold_that_is_a_mean_has_no_kappa_and_no_matrix(tmp_path: Path) -> None:
    write_rows(
        [prediction(n, gold - 0.5, score) for n, (gold, score) in enumerate(TIES) if gold > 1], tmp_path / "p.jsonl"
    )
    agree(AgreeConfig(predictions=[tmp_path / "p.jsonl"], output=tmp_path / "agree", resamples=9))
    html = page_of(read_run(tmp_path / "agree"))
    assert "No confusion matrix: gold is not an integer." in html
    assert 'title="gold is not an integer"' in html
    assert "<caption>Kappa" not in html
    assert "<caption>Pearson" in html


def test_one_judge_in_one_language_makes_a_page(tmp_path: Path) -> None:
    write_records([record(n, 3, language="xx") for n in range(2)], tmp_path / "records.jsonl")
    write_rows([prediction(n, 3, None, language="xx") for n in range(2)], tmp_path / "p.jsonl")
    files = {"predictions": [tmp_path / "p.jsonl"], "records": [tmp_path / "records.jsonl"]}
    agree(AgreeConfig(**files, output=tmp_path / "agree", resamples=9))
    metrics = json.loads((tmp_path / "agree" / "metrics.json").read_text())
    assert metrics["judges"]["joint"]["all"]["n_unscored"] == 2
    Page(page_of(read_run(tmp_path / "agree")))
