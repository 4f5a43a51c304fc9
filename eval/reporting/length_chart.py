"""Mean score and mean gold against the length of the response, as inline SVG: does a judge follow quality, or length?"""

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

from markupsafe import Markup

from core.baselines import length_ratio
from eval.reporting.verdicts import Verdict

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 400, 210, 34, 14, 10, 40
PARTS = 10
FEWEST = 20


class Part(NamedTuple):
    """A tenth of the responses, from the shortest: the median of their lengths, mean gold and mean score, and how many."""

    length: float
    gold: float
    score: float
    n: int


class LengthPlot(NamedTuple):
    """A judge's parts; ``by_ratio`` where length is over that of the reference, else it is in characters."""

    judge: str
    parts: list[Part]
    by_ratio: bool


def length_plots(verdicts: Sequence[Verdict]) -> list[LengthPlot]:
    """One plot a judge, of its scored verdicts that have gold and texts; none of a judge with fewer than 20."""
    plots = []
    for judge in dict.fromkeys(one.row.judge for one in verdicts):
        rows = [one for one in verdicts if one.row.judge == judge and one.record and one.difference is not None]
        if len(rows) >= FEWEST:
            by_ratio = all(one.record and one.record.reference_answer for one in rows)
            plots.append(LengthPlot(judge, _parts(rows, by_ratio), by_ratio))
    return plots


def _parts(rows: Sequence[Verdict], by_ratio: bool) -> list[Part]:
    measured = []
    for one in rows:
        assert one.record is not None
        assert one.gold is not None
        assert one.row.score is not None
        reference = one.record.reference_answer if by_ratio else None
        measured.append((length_ratio(one.record.response, reference), one.gold, one.row.score))
    measured.sort(key=lambda row: row[0])
    count = min(PARTS, len(measured) // 5)
    bounds = [len(measured) * at // count for at in range(count + 1)]
    return [
        Part(part[len(part) // 2][0], fmean(row[1] for row in part), fmean(row[2] for row in part), len(part))
        for part in (measured[start:end] for start, end in pairwise(bounds))
    ]


def length_chart(plot: LengthPlot) -> Markup:
    """Two lines from the shortest tenth to the longest: gold dashed, the judge's score whole."""
    title = f"Mean gold and mean score of {plot.judge} by length of the response"
    step = (WIDTH - LEFT - RIGHT) / max(1, len(plot.parts) - 1)
    places = [LEFT + step * at for at in range(len(plot.parts))]
    grid = Markup("").join(
        Markup('<path class="grid" d="M{} {}H{}"/><text class="soft" x="{}" y="{}" text-anchor="end">{}</text>').format(
            LEFT, _height(score), WIDTH - RIGHT, LEFT - 10, _height(score) + 4, score
        )
        for score in range(1, 6)
    )
    labels = Markup("").join(
        Markup('<text class="soft" x="{:.0f}" y="{}" text-anchor="middle">{:.3g}</text>').format(
            place, HEIGHT - BOTTOM + 18, part.length
        )
        for place, part in list(zip(places, plot.parts, strict=True))[::3]
    )
    unit = "characters of the response over those of the reference" if plot.by_ratio else "characters of the response"
    axis = Markup('<text class="soft" x="{}" y="{}" text-anchor="middle">{}</text>').format(
        (LEFT + WIDTH - RIGHT) // 2, HEIGHT - 4, unit
    )
    gold = _line(places, [part.gold for part in plot.parts], "gold")
    score = _line(places, [part.score for part in plot.parts], "score")
    dots = Markup("").join(
        Markup(
            '<circle cx="{:.1f}" cy="{}" r="3.5"><title>length {:.3g}: gold {:.2f}, score {:.2f}, n {}</title></circle>'
        ).format(place, _height(part.score), part.length, part.gold, part.score, part.n)
        for place, part in zip(places, plot.parts, strict=True)
    )
    return Markup(
        '<svg class="length-chart" viewBox="0 0 {} {}" role="img" aria-label="{}"><title>{}</title>{}{}{}{}{}{}</svg>'
    ).format(WIDTH, HEIGHT, title, title, grid, labels, axis, gold, score, dots)


def _line(places: Sequence[float], values: Sequence[float], kind: str) -> Markup:
    points = " ".join(f"{place:.1f},{_height(value)}" for place, value in zip(places, values, strict=True))
    return Markup('<polyline class="{}" points="{}"/>').format(kind, points)


def _height(score: float) -> float:
    return round(HEIGHT - BOTTOM - (score - 1) / 4 * (HEIGHT - BOTTOM - TOP), 1)
