"""The plot of data_prep.tokens: fertility by language and, where there are prompts, how long they are."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from core.agreement import Figure as Estimate
from core.languages import language
from data_prep.token_table import Cost

_STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "tokens",
}
_NOTE: dict[str, Any] = {"fontsize": 9, "color": "#444444"}
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#6a3d9a", "#444444")
_MARKERS = "osD^vP*X"


def draw(costs: Sequence[Cost], budget: int, folder: Path) -> None:
    """Write tokens.svg and tokens.png: languages downwards, one mark a tokenizer, bars for 95 % intervals.

    Fertility is that of the parallel sentences where there are any, which say the same in every language. Prompts show
    their 5th to 95th percentile with the median marked, and a line at the length policy's ``budget``.
    """
    parallel = [cost for cost in costs if cost.source == "parallel"]
    prompts = [cost for cost in costs if cost.prompts is not None]
    texts = parallel or prompts
    languages = len({cost.language for cost in texts})
    tokenizers = list(dict.fromkeys(cost.tokenizer for cost in costs))
    panels = 3 if prompts else 2
    height = 1.6 + languages * max(0.3, 0.16 * len(tokenizers)) + 0.22 * len(tokenizers)
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(4.2 * panels, height), layout="constrained")
        axes = figure.subplots(1, panels, squeeze=False)[0]
        _fertility(axes[0], texts, tokenizers, lambda cost: cost.fertility.tokens_per_word, "tokens a word")
        _fertility(axes[1], texts, tokenizers, lambda cost: cost.fertility.tokens_per_character, "tokens a character")
        if prompts:
            _prompts(axes[2], prompts, tokenizers, budget)
        handles, labels = axes[1].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(2, len(labels)), frameon=False)
        for kind in ("svg", "png"):
            figure.savefig(folder / f"tokens.{kind}", dpi=150, metadata={"Date": None} if kind == "svg" else None)


def _fertility(
    axes: Axes, costs: Sequence[Cost], tokenizers: list[str], pick: Callable[[Cost], Estimate], label: str
) -> None:
    rows = _language_axis(axes, costs)
    for at, name in enumerate(tokenizers):
        values, heights = [], []
        for cost in costs:
            estimate = pick(cost)
            if cost.tokenizer == name and estimate.value is not None:
                values.append(estimate.value)
                heights.append(rows[cost.language] + _offset(at, len(tokenizers)))
                if estimate.low is not None and estimate.high is not None:
                    axes.plot([estimate.low, estimate.high], heights[-1:] * 2, color=_colour(at), linewidth=1.4)
        axes.plot(values, heights, _marker(at), color=_colour(at), markersize=5, label=name)
    for code, row in rows.items():
        if all(pick(cost).value is None for cost in costs if cost.language == code):
            axes.annotate("not counted", (0, row), xytext=(4, 0), textcoords="offset points", va="center", **_NOTE)
    axes.set_xlim(left=0)
    axes.set_xlabel(label)


def _prompts(axes: Axes, costs: Sequence[Cost], tokenizers: list[str], budget: int) -> None:
    rows = _language_axis(axes, costs)
    for cost in costs:
        assert cost.prompts is not None
        at = tokenizers.index(cost.tokenizer)
        height = rows[cost.language] + _offset(at, len(tokenizers))
        spread = [cost.prompts.quantiles[level] for level in (0.05, 0.95)]
        axes.plot(spread, [height, height], color=_colour(at), linewidth=1.4)
        axes.plot(cost.prompts.quantiles[0.5], height, _marker(at), color=_colour(at), markersize=5)
    axes.axvline(budget, color="#444444", linewidth=0.9, linestyle=(0, (4, 3)))
    axes.annotate(f"budget {budget}", (budget, -0.6), xytext=(3, 0), textcoords="offset points", va="bottom", **_NOTE)
    axes.set_xlim(left=0)
    axes.set_xlabel("tokens of a prompt\n(5th to 95th percentile, median marked)")


def _language_axis(axes: Axes, costs: Sequence[Cost]) -> dict[str, int]:
    """Languages downwards by their English names; the height of each."""
    codes = sorted({cost.language for cost in costs}, key=lambda code: language(code).name)
    axes.set_yticks(range(len(codes)), [language(code).name for code in codes])
    axes.set_ylim(len(codes) - 0.4, -0.6)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    return {code: row for row, code in enumerate(codes)}


def _offset(at: int, count: int) -> float:
    """Tokenizers beside one another within two thirds of a language's row."""
    return (at - (count - 1) / 2) * min(0.2, 0.66 / count)


def _colour(at: int) -> str:
    return _COLOURS[at % len(_COLOURS)]


def _marker(at: int) -> str:
    return _MARKERS[at % len(_MARKERS)]
