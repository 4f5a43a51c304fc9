"""tables.html: the paper's tables and the fertility figure on one page that needs nothing else."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from core.languages import LANGUAGES
from eval.paper.text import counts
from eval.reporting.bar_chart import Bar, bar_chart
from eval.reporting.environment import environment


def render(content: Mapping[str, Any], manifests: Sequence[Mapping[str, Any]]) -> str:
    """The page of the content of tables.json. The same content gives the same text."""
    env = environment()
    env.globals |= {"language_name": language_name, "fertility_charts": fertility_charts, "counts": counts}
    return env.get_template("paper.html.jinja").render(content=content, manifests=manifests)


def language_name(code: str) -> str:
    """``Hindi`` for hi; a code that is not known stands for itself."""
    return LANGUAGES[code].name if code in LANGUAGES else code


def fertility_charts(figure: Mapping[str, Any]) -> list[tuple[str, Markup]]:
    """For each language its name and a bar a tokenizer, on one scale; none where nothing was measured."""
    values = [
        side for row in figure["rows"] for cell in row["cells"].values() for side in (cell["value"], cell["high"])
    ]
    most = max((value for value in values if value is not None), default=0.0)
    if not most:
        return []
    charts = []
    for code in figure["columns"]:
        bars = [Bar(row["label"], row["cells"][code]) for row in figure["rows"]]
        name = language_name(code)
        charts.append((name, bar_chart(bars, most, f"Tokens a word in {name}, by tokenizer")))
    return charts
