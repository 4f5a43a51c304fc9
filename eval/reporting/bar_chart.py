"""Horizontal bars with intervals as inline SVG, in the page's colours and as wide as a narrow screen."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

WIDTH, ROW, LABEL, BAR = 400, 22, 136, 216


class Bar(NamedTuple):
    """A labelled figure {value, low, high, …}; without a value its reason is written in place of a bar."""

    label: str
    figure: dict[str, Any]


def bar_chart(bars: Sequence[Bar], most: float, title: str) -> Markup:
    """One bar a figure from 0 to ``most``, its interval as a line, its value written. Labels are escaped."""
    rows = Markup("\n").join(_row(bar, number * ROW, BAR / most if most else 0) for number, bar in enumerate(bars))
    return Markup(
        '<svg class="bar-chart" viewBox="0 0 {} {}" role="img" aria-label="{}"><title>{}</title>\n{}\n</svg>'
    ).format(WIDTH, len(bars) * ROW + 2, title, title, rows)


def _row(bar: Bar, top: int, scale: float) -> Markup:
    value, low, high = (bar.figure[side] for side in ("value", "low", "high"))
    label = Markup('<text x="{}" y="{}" text-anchor="end">{}</text>').format(LABEL - 8, top + 15, bar.label)
    if value is None:
        reason = bar.figure.get("reason") or "no value"
        return label + Markup('<text class="soft" x="{}" y="{}">{}</text>').format(LABEL, top + 15, reason[:40])
    width = round(value * scale, 1)
    box = Markup('<rect x="{}" y="{}" width="{}" height="{}" rx="2"/>').format(LABEL, top + 4, width, ROW - 8)
    end, line = width, Markup("")
    if low is not None:
        start, end = (round(side * scale, 1) for side in (low, high))
        line = Markup('<path d="M{} {}H{}"/>').format(LABEL + start, top + ROW // 2, LABEL + end)
    number = Markup('<text x="{}" y="{}">{}</text>').format(LABEL + max(width, end) + 6, top + 15, f"{value:.2f}")
    return label + box + line + number
