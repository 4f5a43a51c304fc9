"""The report as one HTML page: no outside resource, no server, all text of models and users escaped."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from core.languages import LANGUAGES
from eval.reporting.charts import strength_chart
from eval.reporting.environment import environment
from eval.reporting.expert_charts import experts_chart
from eval.reporting.length_chart import length_chart, length_plots
from eval.reporting.runs import RunRead, groups, has_values, lines
from eval.reporting.shares import cluster, differences_of, rank_of
from eval.reporting.steering import (
    RULES,
    dev_choices,
    language_maps,
    layer_maps,
    setting,
    similarity,
    unsteered,
)
from eval.reporting.steering_charts import alignment_chart, development_chart, similarity_chart
from eval.reporting.verdicts import Gathered, Verdict, choose, far_off, texts
from eval.summary.table import layers_in_short

HEADLINE = ("kappa", "pearson", "spearman", "kendall", "exact")


def render(runs: Sequence[RunRead], title: str, note: str | None, gathered: Gathered, max_verdicts: int) -> str:
    """The page. The same runs give the same text."""
    env = environment()
    env.globals |= {
        "HEADLINE": HEADLINE,
        "SCORES": range(1, 6),
        "DIFFERENCES": range(-4, 5),
        "lines": lines,
        "groups": groups,
        "has_values": has_values,
        "own_language": own_language,
        "rank_of": rank_of,
        "cluster": cluster,
        "differences_of": differences_of,
        "setting": setting,
        "settings": lambda cells: list(dict.fromkeys(map(setting, cells))),
        "unsteered": unsteered,
        "RULES": RULES,
        "dev_choices": dev_choices,
        "layers_in_short": layers_in_short,
        "language_maps": language_maps,
        "layer_maps": layer_maps,
        "similarity": similarity,
        "baseline_names": lambda cells: list(dict.fromkeys(name for cell in cells for name in cell["baselines"])),
        "experts_chart": lambda layers, name: labelled(experts_chart(layers, name), "Experts by layer"),
        "chart": lambda cell, name: labelled(
            strength_chart(cell, name), f"Strength curve, {cell['language']}, {cell['dimension']}"
        ),
        "development_chart": lambda cell, name: labelled(
            development_chart(cell["selection"], name),
            f"Gain by size of the development set, {cell['language']}, {cell['dimension']}",
        ),
        "alignment_chart": lambda facts, name: labelled(
            alignment_chart(facts["held_out"], name),
            f"Held-out alignment by layer, {facts['source']} to {facts['pivot']}",
        ),
        "similarity_chart": lambda found, name: labelled(
            similarity_chart(found["with_others"], name),
            f"Mean cosine with the other languages by layer, toward {found['pivot']}",
        ),
        "length_chart": length_chart,
        "texts": texts,
        "written": written,
        "summary_of": summary_of,
    }
    found = far_off(gathered.verdicts)
    return env.get_template("report.html.jinja").render(
        runs=runs,
        title=title,
        note=note,
        gathered=gathered,
        found=found,
        chosen=choose(found, max_verdicts),
        plots=length_plots(gathered.verdicts),
    )


def labelled(svg: str, label: str) -> Markup:
    """An inline chart that says to those who do not see it what it is."""
    opening, rest = svg.split(">", 1)
    return Markup("{} aria-label={}><title>{}</title>{}").format(
        Markup(opening), Markup('"{}"').format(label), label, Markup(rest)
    )


def own_language(judge: str, code: str) -> bool:
    """Whether a judge's name says that it was trained on this language alone: ``hi``, ``hercule-hi``, ``hercule hi``."""
    words = judge.replace("_", "-").replace("/", "-").replace(" ", "-").split("-")
    # In the names of models "it" says instruction-tuned.
    return words[-1] == code and [word for word in words if word in LANGUAGES and word != "it"] == [code]


def written(verdict: Verdict, name: str) -> dict[str, str]:
    """``lang`` and ``dir`` of a verdict's text. Who wrote the feedback chose its language, so that its own letters decide."""
    row, record = verdict
    code = row.language if name in ("instruction", "response") else None
    if name == "reference" and record:
        code = record.reference_language
    if code not in LANGUAGES:
        return {"dir": "auto"} | ({"lang": code} if code else {})
    return {"dir": "rtl" if LANGUAGES[code].right_to_left else "ltr", "lang": code}


def summary_of(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    """For each judge: how many verdicts, and how many of each kind that needs a look."""
    found: dict[str, dict[str, Any]] = {}
    for one in verdicts:
        row = found.setdefault(
            one.row.judge, {"judge": one.row.judge, "n": 0, "too high": 0, "too low": 0, "unscored": 0, "shortened": 0}
        )
        row["n"] += 1
        row["shortened"] += one.row.shortened
        if one.kind:
            row[one.kind] += 1
    return list(found.values())
