"""Bars and length plots as inline SVG: places worked by hand, labels escaped."""

import re

import pytest

from eval.reporting.bar_chart import BAR, LABEL, Bar, bar_chart
from eval.reporting.length_chart import LengthPlot, Part, length_chart, length_plots
from eval.reporting.verdicts import Verdict
from tests.eval.report_for_tests import prediction, record


def test_bars_have_the_lengths_of_their_values() -> None:
    whole = {"value": 2.0, "low": 1.5, "high": 2.5, "n": 9}
    svg = bar_chart([Bar("a <b>", whole), Bar("b", {"value": None, "low": None, "high": None})], 2.5, "tokens <i>")
    assert f'width="{BAR * 2 / 2.5}"' in svg  # 172.8 of 216
    assert f'd="M{LABEL + BAR * 1.5 / 2.5:.1f} ' in svg
    assert ">2.00</text>" in svg
    assert "a &lt;b&gt;" in svg
    assert 'aria-label="tokens &lt;i&gt;"' in svg
    assert "no value" in svg
    assert svg.count("<rect") == 1


def judged(count: int, score: int) -> list[Verdict]:
    """Gold rises with length from 1 to 5; the judge always gives one score."""
    return [
        Verdict(prediction(n, 1 + 4 * n // count, score), record(n, 1, response="x" * (9 * (n + 1))))
        for n in range(count)
    ]


def test_a_plot_has_ten_parts_of_the_responses_by_length() -> None:
    (plot,) = length_plots(judged(100, 3))
    assert plot.by_ratio  # "reference" has 9 characters, so that the ratio of response n is n + 1
    assert [part.n for part in plot.parts] == [10] * 10
    assert [part.length for part in plot.parts] == [6, 16, 26, 36, 46, 56, 66, 76, 86, 96]
    assert [part.score for part in plot.parts] == [3] * 10
    # Gold of the first 25 is 1, of the next 25 is 2: the third part is half of each.
    assert [part.gold for part in plot.parts[:4]] == [1, 1, 1.5, 2]


def test_few_rows_or_none_with_texts_have_no_plot() -> None:
    assert length_plots(judged(19, 3)) == []
    assert [part.n for part in length_plots(judged(20, 3))[0].parts] == [5] * 4
    assert length_plots([one._replace(record=None) for one in judged(50, 3)]) == []
    mute = Verdict(prediction(1, 1, None, judge="mute"), record(1, 1))
    assert [plot.judge for plot in length_plots([*judged(20, 3), mute])] == ["joint"]


def test_without_every_reference_length_is_in_characters() -> None:
    rows = judged(20, 3)
    rows[0] = rows[0]._replace(record=record(0, 1, response="x" * 9, reference_answer=None))
    (plot,) = length_plots(rows)
    assert not plot.by_ratio
    assert "characters of the response<" in length_chart(plot)


def test_the_chart_puts_score_5_at_the_top_and_1_at_the_bottom() -> None:
    svg = length_chart(LengthPlot("<judge>", [Part(0.5, 1, 5, 9), Part(1.5, 5, 1, 9)], True))
    gold, score = re.findall(r'<polyline class="(?:gold|score)" points="([^"]*)"', svg)
    assert [point.split(",")[1] for point in gold.split()] == ["170.0", "10.0"]
    assert [point.split(",")[1] for point in score.split()] == ["10.0", "170.0"]
    assert "&lt;judge&gt;" in svg
    assert "<judge>" not in svg


@pytest.mark.parametrize("most", [0.0, 5.0])
def test_no_bars_make_an_empty_chart(most: float) -> None:
    assert "<rect" not in bar_chart([], most, "none")
