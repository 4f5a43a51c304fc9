"""One page to read: the figures, curves and worst verdicts of finished runs, in a single HTML file that needs nothing else.

Run as: python -m eval.report --runs runs/agree runs/summaries runs/judge-hi --output runs/report

Takes run folders of eval.agree (figures), eval.judge (verdicts far from gold), eval.probes, eval.leaderboard, eval.summaries
(strength curves) and merge.experts (how the experts of a merge differ). The verdicts and records that runs of eval.agree and
eval.judge name are read where they still are as they were. Writes report.html, headline.csv (the agreement figures),
disagreements.csv (every verdict far from gold) and strengths.csv (every point of every curve).
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
from eval.report_page import HEADLINE, render
from eval.report_runs import RunRead, lines, read_run
from eval.report_verdicts import disagreement_row, far_off, gather

CELL = ("language", "dimension", "metric", "model", "pivot", "method", "scale", "layers", "n")
POINT = ("strength", "mean_score", "moved_sd", "broken")
CORRELATIONS = ("pearson", "spearman", "kendall")


class ReportConfig(CommandConfig):
    runs: list[Path] = Field(
        description="finished run folders of eval.agree, judge, probes, leaderboard, summaries and merge.experts",
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
    for run in runs:
        for cell in run.metrics.get("cells", ()):
            for point in cell["points"]:
                row = {"run": run.name} | {name: cell[name] for name in CELL} | {name: point[name] for name in POINT}
                yield row | _flat(point, CORRELATIONS)


def _flat(figures: Mapping[str, Any], names: Iterable[str]) -> dict[str, float | None]:
    sides = {"": "value", "_low": "low", "_high": "high"}
    return {f"{name}{end}": figures[name].get(side) for name in names for end, side in sides.items()}


def _write_csv(rows: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write rows of equal columns; no file where there are none. A spreadsheet runs no text as a formula."""
    rows = [{name: guard(value) if isinstance(value, str) else value for name, value in row.items()} for row in rows]
    if rows:
        with atomic(path) as handle:
            writer = csv.DictWriter(handle, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    run_command(main, ReportConfig)
