"""What eval.agree measured of a judge, for its card: results with intervals and n, and the limits that they show."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from huggingface_hub import EvalResult

from core.config import nearest
from core.errors import ConfigError, DataError
from core.languages import LANGUAGES
from core.run import read_manifest
from eval.agree_table import figure_text, number, tables

FILE = "metrics.json"
_THIS = "this judge"
_HOW_TO_READ = (
    "Values with 95 % intervals (bootstrap over prompts). Kappa has linear weights; a verdict that cannot be read counts as "
    "the score farthest from gold. *length* guesses the score from the length of the response alone, *overlap* from its "
    "words in common with the reference."
)
# Figure in metrics.json → metric type and name on the Hub.
_FIGURES = {
    "kappa": ("linear_weighted_kappa", "Cohen's kappa, linear weights"),
    "pearson": ("pearsonr", "Pearson's r"),
    "spearman": ("spearmanr", "Spearman's rho"),
    "kendall": ("kendall_tau_b", "Kendall's tau-b"),
    "exact": ("accuracy", "exact agreement"),
    "unscored_rate": ("unscored_rate", "share of verdicts that could not be read"),
}


class Evaluation(NamedTuple):
    """One test set's metrics.json, reduced to this judge and the baselines; ``figures`` are the judge's over all rows."""

    dataset: str
    metrics: dict[str, Any]

    @property
    def entry(self) -> dict[str, Any]:
        return dict(self.metrics["judges"][_THIS])

    @property
    def figures(self) -> dict[str, Any]:
        return dict(self.entry["all"])


def read_evaluation(word: str, judge: str) -> Evaluation:
    """``DATASET=FOLDER`` or ``FOLDER`` (then named as the test set), a finished run of eval.agree that holds this judge.

    Raises DataError for any other folder, ConfigError where the judge is not among several.
    """
    name, _, path = word.rpartition("=")
    folder = Path(path)
    manifest = read_manifest(folder)
    if manifest is None or manifest["command"] != "eval.agree" or manifest["status"] != "done":
        raise DataError(f"metrics: {folder} is no finished run of eval.agree; name its output folder")
    metrics = json.loads((folder / FILE).read_text(encoding="utf-8"))
    known = list(metrics["judges"])
    chosen = judge if judge in known else known[0] if len(known) == 1 else None
    if chosen is None:
        hint = f"did you mean {guess}?" if (guess := nearest(judge, known)) else f"it has {', '.join(known)}"
        raise ConfigError(f"metrics: {folder} has no judge {judge}; set judge to its name there: {hint}")
    baselines = {f"{baseline} baseline" for baseline in metrics["baselines"]}
    compared = [row | {"a": _THIS} for row in metrics["comparisons"] if row["a"] == chosen and row["b"] in baselines]
    reduced = {"judges": {_THIS: metrics["judges"][chosen]}, "baselines": metrics["baselines"], "comparisons": compared}
    return Evaluation(name or folder.resolve().name, {**reduced, "notes": []})


def eval_results(evaluations: Sequence[Evaluation]) -> list[EvalResult]:
    """Every figure that has a value: over all rows where there are several languages, and by language."""
    return [
        result
        for one in evaluations
        for config, figures in _groups(one).items()
        for result in _of_group(one.dataset, config, figures)
    ]


def results_text(evaluations: Sequence[Evaluation]) -> str:
    """The tables of eval.agree for this judge and the baselines."""
    if not evaluations:
        return "This judge was not evaluated for this card."
    parts = [_HOW_TO_READ]
    for one in evaluations:
        parts += [f"### {one.dataset}", tables(one.metrics).strip()]
    return "\n\n".join(parts)


def limits_text(evaluations: Sequence[Evaluation], languages: Sequence[str]) -> str:
    """What the evaluation shows against the judge, and what it does not show."""
    lines = [line for one in evaluations for line in _limits(one)]
    tested = sorted({code for one in evaluations for code in one.entry["by_language"]})
    if untested := [code for code in languages if code not in tested]:
        lines.append(f"Trained on but not tested here: {named(untested)}.")
    if new := [code for code in tested if code not in languages]:
        lines.append(f"Tested but not trained on: {named(new)}.")
    lines.append("In any other language it is untested.")
    lines.append("Scores follow one rubric from 1 to 5; other scales and comparisons of two responses are untested.")
    return "\n".join(f"- {line}" for line in lines)


def named(codes: Sequence[str]) -> str:
    """Languages by name: ``Bengali, Hindi``; a code that is not known stays."""
    return ", ".join(LANGUAGES[code].name if code in LANGUAGES else code for code in codes)


def _groups(one: Evaluation) -> dict[str, dict[str, Any]]:
    by_language = one.entry["by_language"]
    return dict(by_language) if len(by_language) == 1 else {"all": one.figures, **by_language}


def _of_group(dataset: str, config: str, figures: Mapping[str, Any]) -> list[EvalResult]:
    language = "all languages" if config == "all" else named([config])
    results = []
    for name, (metric, title) in _FIGURES.items():
        figure = figures[name]
        if figure["value"] is None:
            continue
        interval = {} if figure["low"] is None else {"interval_95": [_rounded(figure["low"]), _rounded(figure["high"])]}
        results.append(
            EvalResult(
                task_type="text-generation",
                task_name="judging responses from 1 to 5",
                dataset_type=dataset,
                dataset_name=f"{dataset} ({language})",
                dataset_config=config,
                metric_type=metric,
                metric_name=title,
                metric_value=_rounded(figure["value"]),
                metric_args={**interval, "n": figure["n"], "n_unscored": figure["n_unscored"]},
            )
        )
    return results


def _limits(one: Evaluation) -> list[str]:
    figures, on = one.figures, f"on {one.dataset}"
    lines = []
    generosity = figures["generosity"]
    if generosity["value"] is not None:
        size = number(abs(generosity["value"]))
        way = "above" if generosity["value"] > 0 else "below"
        lines.append(
            f"Generosity {on}: its scores are on average {size} points {way} gold "
            f"({figure_text(generosity)}, n {generosity['n']}; positive is generous)."
        )
    if control := figures["length_control"]:
        given = control["partial_spearman"]
        lines.append(
            f"Length {on}: with the length of the response held fixed, Spearman's rho with gold is {figure_text(given)} "
            f"(n {given['n']}), where it is {figure_text(figures['spearman'])} without; "
            f"the length baseline alone has kappa {figure_text(_baseline_kappa(one, 'length'))}."
        )
    failures = ", ".join(f"{count} {reason}" for reason, count in figures["failures"].items())
    lines.append(
        f"Unread {on}: {figures['n_unscored']} of {figures['n']} verdicts had no score that could be read"
        f"{f' ({failures})' if failures else ''}, a share of {figure_text(figures['unscored_rate'])}."
    )
    return lines


def _baseline_kappa(one: Evaluation, name: str) -> dict[str, Any] | None:
    entry = one.metrics["baselines"].get(name)
    return entry["all"]["kappa"] if entry else None


def _rounded(value: float) -> float:
    return round(value, 4)
