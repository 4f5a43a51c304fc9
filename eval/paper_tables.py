"""The tables of the two papers from run folders, beside the published numbers, and how to make what is missing.

Run as:
    python -m eval.paper_tables --runs runs/agree/*/* runs/tokens --output runs/paper
    python -m eval.paper_tables --tables configs/paper/steereval --runs runs/steereval/*/* --output runs/paper-steereval

Of the CIA paper (arXiv 2410.13394): finished runs of eval.agree (figures) and of data_prep.tokens (the fertility figure). Of
SteerEval (arXiv 2601.15809): runs of eval.summaries, eval.directions and eval.vector_similarity. None at the start. Writes
tables.md, tables.html and tables.json, and prints the Markdown.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field

from core.config import CommandConfig, IfExists, run_command
from core.jsonl import atomic, write_json
from core.progress import say
from core.run import Run
from eval.paper import page, steering_page, steering_text, text
from eval.paper.build import build
from eval.paper.spec import read_paper
from eval.paper.steering_build import build as build_steering
from eval.paper.steering_spec import FILE, read_steering_paper
from eval.paper.values import Measured
from eval.reporting.runs import RunRead, read_run

FILES = {"eval.agree": "metrics.json", "data_prep.tokens": "tokens.json"}
STEERING_FILES = {
    "eval.summaries": "metrics.json", "eval.directions": "directions.json", "eval.vector_similarity": "similarity.json",
}  # fmt: skip


class PaperTablesConfig(CommandConfig):
    """Fields of eval.paper_tables."""

    runs: list[Path] = Field(
        [],
        description="finished run folders: of eval.agree and data_prep.tokens, or of eval.summaries, directions and "
        "vector_similarity",
    )
    tables: Path = Field(
        Path("configs/paper/cia"), description="folder of a paper's tables: configs/paper/cia or steereval"
    )
    output: Path = Field(description="run folder to make")
    if_exists: IfExists = Field("fail", description="what to do with an output folder that exists")


class Written(NamedTuple):
    """What a paper's tables are written as."""

    content: dict[str, Any]
    markdown: str
    html: str
    counts: str


def main(config: PaperTablesConfig) -> None:
    """Set every table beside its published values."""
    written = (steereval if (config.tables / FILE).is_file() else cia)(config.tables, config.runs)
    with Run(config.output, "eval.paper_tables", config, [*config.runs, config.tables], config.if_exists) as run:
        write_json(written.content, run.path / "tables.json")
        for name, whole in (("tables.md", written.markdown), ("tables.html", written.html)):
            with atomic(run.path / name) as handle:
                handle.write(whole)
    say(f"{written.markdown}\n{written.counts}: {config.output / 'tables.html'}")


def cia(tables: Path, folders: Sequence[Path]) -> Written:
    """The tables of the CIA paper, of runs of eval.agree and data_prep.tokens."""
    paper = read_paper(tables)
    runs = [read_run(folder, FILES) for folder in folders]
    measured = Measured([run for run in runs if run.command == "eval.agree"])
    tokens = [row for run in runs if run.command == "data_prep.tokens" for row in run.metrics["rows"]]
    content = build(paper, measured, tokens)
    return Written(content, text.markdown(content), page.render(content, manifests(runs)), text.counts(content))


def steereval(tables: Path, folders: Sequence[Path]) -> Written:
    """The tables of SteerEval, of runs of eval.summaries, eval.directions and eval.vector_similarity."""
    runs = [read_run(folder, STEERING_FILES) for folder in folders]
    content = build_steering(read_steering_paper(tables), runs)
    return Written(
        content,
        steering_text.markdown(content),
        steering_page.render(content, manifests(runs)),
        steering_text.counts(content),
    )


def manifests(runs: Sequence[RunRead]) -> list[dict[str, Any]]:
    return [run.manifest for run in runs]


if __name__ == "__main__":
    run_command(main, PaperTablesConfig)
