"""The figures of filled sheets in lines to read."""

from collections.abc import Iterator, Mapping
from typing import Any


def summary(metrics: Mapping[str, Any]) -> str:
    """A line for each language, reviewer and question."""
    return "\n".join(_lines(metrics))


def _lines(metrics: Mapping[str, Any]) -> Iterator[str]:
    for code, group in metrics["by_language"].items():
        yield (
            f"{code}: {group['rows']} rows, {group['unfilled']} of {group['questions']} questions unfilled"
            + _written(group)
        )
        for field, figure in group.get("valid", {}).items():
            yield f"  {field} valid {_figure(figure)}"
        for name, own in group["by_reviewer"].items():
            valid = [f"{field} {_figure(figure)}" for field, figure in own.get("valid", {}).items()]
            scores = [f"{score}: {n}" for score, n in own.get("by_score", {}).items()]
            unfilled = f"{own['unfilled']} unfilled"
            yield f"  {name}: {', '.join([*valid, *scores, unfilled])}{_written(own)}"
        for field, figures in group.get("agreement", {}).items():
            names = [name for name in figures if name.startswith("alpha")]
            if len(group["by_reviewer"]) > 1:
                shown = [f"{name.replace('_', ' ')} {_figure(figures[name])}" for name in [*names, "exact"]]
                yield f"  agreement on {field}: {', '.join(shown)}"
                for pair, figure in figures.get("pearson", {}).items():
                    yield f"  Pearson {pair}: {_figure(figure)}"
    if metrics["sheets_missing"]:
        yield f"no sheet yet: {', '.join(metrics['sheets_missing'])}"


def _written(group: Mapping[str, Any]) -> str:
    return f", {group['written']} texts written" if group["written"] else ""


def _figure(figure: Mapping[str, Any]) -> str:
    if figure["value"] is None:
        return f"none ({figure['reason']})"
    interval = "" if figure["low"] is None else f" [{figure['low']:.3f}, {figure['high']:.3f}]"
    return f"{figure['value']:.3f}{interval} (n {figure['n']})"
