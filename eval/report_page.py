"""The report as one HTML page: no script, no outside resource, all text of models and users escaped."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from core.records import Prediction
from eval.charts import strength_chart
from eval.expert_charts import experts_chart
from eval.report_runs import RunRead, groups, has_values, lines

HEADLINE = ("kappa", "pearson", "spearman", "kendall", "exact")


class Verdicts(NamedTuple):
    """The verdicts of one judge run that need a look, how many are left out of them, and how many there are in all."""

    shown: list[Prediction]
    left_out: int
    total: int


def render(runs: Sequence[RunRead], title: str, note: str | None, max_verdicts: int) -> str:
    """The page. The same runs give the same text."""
    env = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "report_templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters |= {"number": number, "signed": signed, "percent": percent, "on_line": on_line}
    env.globals |= {
        "HEADLINE": HEADLINE,
        "SCORES": range(1, 6),
        "DIFFERENCES": range(-4, 5),
        "lines": lines,
        "groups": groups,
        "has_values": has_values,
        "setting": setting,
        "unsteered": lambda cell: next((point for point in cell["points"] if point["strength"] == 0), None),
        "baseline_names": lambda cells: list(dict.fromkeys(name for cell in cells for name in cell["baselines"])),
        "far_off": lambda run: far_off(run.predictions, max_verdicts),
        "experts_chart": lambda layers, name: Markup(experts_chart(layers, name)),
        "chart": lambda cell, name: Markup(strength_chart(cell["points"], cell["oracle"], name)),
    }
    return env.get_template("report.html.jinja").render(runs=runs, title=title, note=note)


def far_off(predictions: Sequence[Prediction], limit: int) -> Verdicts:
    """Unscored verdicts, then those at least two points from gold, the farthest first."""

    def distance(row: Prediction) -> float:
        return 5 if row.score is None else abs(row.score - row.gold) if row.gold is not None else 0

    chosen = sorted((row for row in predictions if distance(row) >= 2), key=distance, reverse=True)
    return Verdicts(chosen[:limit], len(chosen) - len(chosen[:limit]), len(predictions))


def setting(cell: dict[str, Any]) -> str:
    """How a cell of eval.summaries was steered, in a few words."""
    model = str(cell["model"]).rstrip("/").rsplit("/", 1)[-1]
    if cell["method"] is None:
        return f"{cell['metric']} · {model} · not steered"
    kind = " ".join(word for word in (cell["scale"], cell["method"]) if word)
    return f"{cell['metric']} · {model} · {kind} toward {cell['pivot']}"


def number(value: float, digits: int = 2) -> str:
    """With a true minus sign, and never a negative zero: −0.12, 0.00."""
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


def signed(value: float) -> str:
    """A difference or a strength, as short as it goes: +2, −0.03, 0."""
    return f"{value:+.3g}".replace("-", "−") if value else "0"


def percent(share: float) -> str:
    """A share as whole per cent; a small one that is not nothing does not read 0 %."""
    return "< 1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def on_line(value: float) -> float:
    """Where a figure stands on a line of 160 units from −0.6 to 1; what is lower stands at its start."""
    return round(100 * (max(value, -0.6) + 0.6), 1)
