"""The tables of the CIA paper (arXiv 2410.13394) from run folders, beside the published numbers, and how to make what is missing.

Run as: python -m eval.paper_tables --runs runs/agree/*/* runs/tokens --output runs/paper

Takes finished runs of eval.agree (figures) and of data_prep.tokens (the fertility figure), none at the start. Writes
tables.md, tables.html and tables.json, and prints the Markdown.
"""

from pathlib import Path

from pydantic import Field

from core.config import CommandConfig, IfExists, run_command
from core.jsonl import atomic, write_json
from core.progress import say
from core.run import Run
from eval.paper_build import build
from eval.paper_page import render
from eval.paper_spec import read_paper
from eval.paper_text import counts, markdown
from eval.paper_values import Measured
from eval.report_runs import read_run

FILES = {"eval.agree": "metrics.json", "data_prep.tokens": "tokens.json"}


class PaperTablesConfig(CommandConfig):
    """Fields of eval.paper_tables."""

    runs: list[Path] = Field([], description="finished run folders of eval.agree and data_prep.tokens")
    tables: Path = Field(Path("configs/paper"), description="folder of the published tables")
    output: Path = Field(description="run folder to make")
    if_exists: IfExists = Field("fail", description="what to do with an output folder that exists")


def main(config: PaperTablesConfig) -> None:
    """Set every table beside its published values."""
    paper = read_paper(config.tables)
    runs = [read_run(folder, FILES) for folder in config.runs]
    measured = Measured([run for run in runs if run.command == "eval.agree"])
    tokens = [row for run in runs if run.command == "data_prep.tokens" for row in run.metrics["rows"]]
    content = build(paper, measured, tokens)
    with Run(config.output, "eval.paper_tables", config, [*config.runs, config.tables], config.if_exists) as run:
        write_json(content, run.path / "tables.json")
        text = markdown(content)
        for name, whole in (("tables.md", text), ("tables.html", render(content, [one.manifest for one in runs]))):
            with atomic(run.path / name) as handle:
                handle.write(whole)
    say(f"{text}\n{counts(content)}: {config.output / 'tables.html'}")


if __name__ == "__main__":
    run_command(main, PaperTablesConfig)
