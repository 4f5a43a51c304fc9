"""Records to review, the command from its flags, and sheets filled as a reviewer would."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from core.config import exit_status, parse_config
from core.records import JudgeRecord, write_records
from data_prep.review import main
from data_prep.review_sheets.options import ReviewConfig
from tests.core.records_for_tests import record

Cells = dict[str, str]


def english(count: int = 6) -> list[JudgeRecord]:
    return [
        record(
            id=f"q{n}__s{n % 5 + 1}",
            item_id=f"q{n}",
            language="en",
            instruction=f"=Name {n} colours.",
            response=f"- blue {n}\n- red",
            score=n % 5 + 1,
            source="LIMA",
        )
        for n in range(count)
    ]


def translated(language: str = "he", count: int = 6) -> list[JudgeRecord]:
    return [
        row.model_copy(update={"language": language, "instruction": f"-נא {n}", "response": f"כחול {n} <b>&</b> אדום"})
        for n, row in enumerate(english(count))
    ]


def review(*flags: object) -> int:
    """The exit status of the command."""
    return exit_status(lambda: main(parse_config(ReviewConfig, [str(flag) for flag in flags])))


def draw(tmp_path: Path, kind: str, *flags: object, rows: list[JudgeRecord] | None = None) -> Path:
    """The folder of a drawn sample."""
    write_records(english(), tmp_path / "en.jsonl")
    write_records(rows or translated(), tmp_path / "he.jsonl")
    given: list[object] = ["--input", tmp_path / ("en.jsonl" if kind == "translate" else "he.jsonl")]
    given += ["--source", tmp_path / "en.jsonl"] if kind == "translation" else []
    given += ["--language", "he"] if kind == "translate" else []
    output = tmp_path / "drawn"
    assert review("--action", "draw", "--kind", kind, *given, "--output", output, *flags) == 0
    return output


def lines_of(path: Path) -> list[Cells]:
    """The lines of a sheet without its instructions, as they stand in the file."""
    with open(path, encoding="utf-8-sig", newline="") as handle:
        return [line for line in csv.DictReader(handle) if line["row"] != "#"]


def fill(sheet: Path, output: Path, answer: Callable[[int, Cells], Cells]) -> Path:
    """Save a sheet with the answers for each line, by its number from 0."""
    lines = lines_of(sheet)
    output.parent.mkdir(exist_ok=True)
    with open(output, "w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, list(lines[0]))
        writer.writeheader()
        writer.writerows({**line, **answer(n, line)} for n, line in enumerate(lines))
    return output


def jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
