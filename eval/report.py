"""One page to read: the figures, curves and worst verdicts of finished runs, in a single HTML file that needs nothing else.

Run as: python -m eval.report --runs runs/agree runs/summaries runs/judge-hi --output runs/report

Takes run folders of eval.agree (figures), eval.judge (verdicts far from gold), eval.probes, eval.leaderboard, eval.summaries
(how strengths were chosen, strength curves), eval.directions (held-out alignment), eval.vector_similarity and merge.experts
(how the experts of a merge differ). The verdicts and records that runs of eval.agree and eval.judge name are read where they
still are as they were. Writes report.html, headline.csv (the agreement figures), disagreements.csv (every verdict far from
gold), strengths.csv (every point of every curve) and selection.csv (what each way to choose a strength reaches).
"""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from core.config import CommandConfig, IfExists, run_command
from core.jsonl import atomic
from core.progress import say, warn
from core.records import read_records
from core.run import Run
from data_prep.review_sheets.cells import guard
from eval.reporting.page import HEADLINE, render
from eval.reporting.runs import RunRead, lines, read_run
from eval.reporting.steering import RULES
from eval.reporting.verdicts import disagreement_row, far_off, gather
from eval.summary.table import layers_in_short

CELL = ("language", "dimension", "metric", "model", "pivot", "method", "scale", "n", "n_human")
POINT = ("strength", "mean_score", "moved_sd", "broken", "n_unscored", "gain")
CORRELATIONS = ("pearson", "spearman", "kendall", "within_system", "length_partial")


class ReportConfig(CommandConfig):
    runs: list[Path] = Field(
        description="finished run folders of eval.agree, judge, probes, leaderboard, summaries, directions, vector_similarity "
        "and merge.experts",
        min_length=1,
    )
    output: Path = Field(description="folder for report.html and the CSV files")
    if_exists: IfExists = Field("fail", description="what to do with an output folder that exists")
    title: str = Field("Cross-lingual judges", description="title of the page")
    note: str | None = Field(None, description="a remark shown at the top of the page")
    records: list[Path] = Field(
        [], description="the records judged, where those that the runs name are not there any more"
    )
    max_verdicts: int = Field(
        200,
        ge=0,
        description="verdicts listed on the page, which says how many are left out; disagreements.csv has all",
    )


def main(config: ReportConfig) -> None:
    runs = [read_run(folder) for folder in config.runs]
    gathered = gather(runs, [record for path in config.records for record in read_records(path)])
    for note in gathered.notes:
        warn(note)
    inputs = [*config.runs, *config.records]
    with Run(config.output, "eval.report", config, inputs=inputs, if_exists=config.if_exists) as run:
        with atomic(run.path / "report.html") as handle:
            handle.write(render(runs, config.title, config.note, gathered, config.max_verdicts))
        _write_csv(headline_rows(runs), run.path / "headline.csv")
        _write_csv(strength_rows(runs), run.path / "strengths.csv")
        _write_csv(selection_rows(runs), run.path / "selection.csv")
        _write_csv(map(disagreement_row, far_off(gathered.verdicts)), run.path / "disagreements.csv")
    say(f"report: {run.path / 'report.html'}")


def headline_rows(runs: Sequence[RunRead]) -> Iterator[dict[str, Any]]:
    """Every judge and baseline of every agreement run, over all rows and by language. Null figures are empty cells."""
    for run in (run for run in runs if run.command == "eval.agree"):
        for name, is_baseline, entry in lines(run.metrics):
            for language, figures in {"all": entry["all"], **entry["by_language"]}.items():
                row = {"run": run.name, "judge": name, "baseline": is_baseline, "language": language}
                yield row | {count: figures["kappa"][count] for count in ("n", "n_unscored")} | _flat(figures, HEADLINE)


def strength_rows(runs: Sequence[RunRead]) -> Iterator[dict[str, Any]]:
    """Every point of every cell of every steering run."""
    for run, cell in _cells(runs):
        for point in cell["points"]:
            place = {"layers": layers_in_short(point["layers"])} | {name: point[name] for name in POINT}
            yield _cell_row(run, cell) | place | _flat(point, CORRELATIONS)


def selection_rows(runs: Sequence[RunRead]) -> Iterator[dict[str, Any]]:
    """For every steered cell what each rule reaches, then what development sets of each size do, as means over draws of them.

    ``chosen`` lists strength, layers and the share of the choices (nested: one a fold) that fell on them.
    """
    for run, cell in _cells(runs):
        shared = _cell_row(run, cell)
        for rule in RULES if cell["method"] else ():
            one = cell["selection"][rule]
            null = one.get("null") or {}
            yield shared | {
                "rule": rule,
                "size": None,
                "chosen": "; ".join(_chosen(place) for place in one.get("chosen", ())),
                **_flat({name: one.get(name) or {} for name in ("pearson", "gain")}, ("pearson", "gain")),
                "relative_improvement": one.get("relative_improvement"),
                "null_draws": null.get("draws"),
                "mean_null_gain": null.get("mean_gain"),
                "p_value": null.get("p_value"),
                "smallest_p": null.get("smallest_p"),
                "reason": one.get("reason"),
            }
        for point in cell["selection"]["development"] if cell["method"] else ():
            gain = _flat(point, ("gain",))
            yield shared | {"rule": "development", "size": point["size"]} | gain


def _cells(runs: Sequence[RunRead]) -> Iterator[tuple[RunRead, dict[str, Any]]]:
    for run in runs:
        for cell in run.metrics.get("cells", ()):
            yield run, cell


def _cell_row(run: RunRead, cell: Mapping[str, Any]) -> dict[str, Any]:
    return {"run": run.name} | {name: cell[name] for name in CELL}


def _chosen(place: Mapping[str, Any]) -> str:
    where = f"layers {layers_in_short(place['layers'])} at {place['strength']:g}" if place["layers"] else "unsteered"
    return f"{where} ({place['share']:.0%})"


def _flat(figures: Mapping[str, Any], names: Iterable[str]) -> dict[str, float | None]:
    sides = {"": "value", "_low": "low", "_high": "high"}
    return {f"{name}{end}": figures[name].get(side) for name in names for end, side in sides.items()}


def _write_csv(rows: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write rows under all their columns; no file where there are none. A spreadsheet runs no text as a formula."""
    rows = [{name: guard(value) if isinstance(value, str) else value for name, value in row.items()} for row in rows]
    if rows:
        columns = list(dict.fromkeys(name for row in rows for name in row))
        with atomic(path) as handle:
            writer = csv.DictWriter(handle, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    run_command(main, ReportConfig)
