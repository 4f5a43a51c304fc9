"""Draw a sample for people and write the sheets that they fill."""

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import Any

from core.errors import DataError
from core.jsonl import atomic, read_jsonl
from core.progress import warn
from core.records import JudgeRecord, check_unique, parse_row
from data_prep.review_sheets.cells import write_sheet
from data_prep.review_sheets.options import Kind, ReviewConfig
from data_prep.review_sheets.page import instructions, render
from data_prep.review_sheets.questions import blocks, columns
from data_prep.review_sheets.reviewers import by_language
from data_prep.review_sheets.sample import DrawnSample, Sample, SampleRow, fingerprint, sample_rows, source_id
from data_prep.review_sheets.strata import Candidate, draw


def draw_sample(config: ReviewConfig, kind: Kind) -> DrawnSample:
    """The sample that the config asks for. Raises UserError for rows, languages or sources that are not there.

    The files are read twice, so that of their records only those drawn are held at once.
    """
    own_text = _own_instructions(config.instructions) if config.instructions else None
    candidates = _candidates(config, kind)
    reviewers = by_language(config.reviewers, list(candidates))
    drawn = {code: draw(found, config.per_language, config.seed) for code, found in candidates.items()}
    for code, found in candidates.items():
        if len(found) < config.per_language:
            warn(f"{code} has {len(found)} rows, fewer than per_language {config.per_language}; all are drawn")
    ids = {name for names in drawn.values() for name in names}
    by_key = {(record.language, record.id): record for path in config.input for record in each_record(path, ids)}
    if kind == "translate":
        by_key |= {(code, name): record for (_, name), record in by_key.items() for code in drawn}
    ids |= {source_id(name, code) for code in drawn for name in drawn[code]}
    sources = [record for path in config.source for record in each_record(path, ids)]
    rows = [
        row
        for code, names in drawn.items()
        for row in sample_rows([by_key[code, name] for name in names], code, kind, sources)
    ]
    about = Sample(
        kind=kind,
        sample=fingerprint(kind, rows),
        seed=config.seed,
        reviewers=reviewers,
        instructions=own_text or instructions(kind),
        rows=dict(Counter(row.language for row in rows)),
        strata={code: _strata([row for row in rows if row.language == code], config.strata) for code in drawn},
    )
    return DrawnSample(about, rows)


def write_sheets(sample: DrawnSample, folder: Path) -> list[Path]:
    """Write sheets/LANGUAGE/REVIEWER.csv and .html for every reviewer; returns their paths."""
    written = []
    for code, reviewers in sample.about.reviewers.items():
        rows = [row for row in sample.rows if row.language == code]
        for reviewer in reviewers:
            table, page = (folder / "sheets" / code / f"{reviewer}{end}" for end in (".csv", ".html"))
            _write_table(sample.about, rows, reviewer, table)
            with atomic(page) as handle:
                handle.write(render(sample.about, rows, code, reviewer))
            written += [table, page]
    return written


def _write_table(about: Sample, rows: list[SampleRow], reviewer: str, path: Path) -> None:
    names = ["row", *columns(about.kind, rows), "language", "reviewer", "sample"]
    lines = [{"row": "#", names[1]: line} for line in about.instructions.splitlines() if line.strip()]
    for row in rows:
        shown = {text.column: text.text for block in blocks(about.kind, row) for text in block.shown}
        whose = {"row": row.id, "language": row.language, "reviewer": reviewer, "sample": about.sample}
        lines.append(shown | whose)
    write_sheet(lines, names, path)


def each_record(path: Path, ids: Container[Any] | None = None) -> Iterator[JudgeRecord]:
    """The records of a file, or those with these ids, one at a time. Raises DataError naming line, field and value."""
    for number, row in read_jsonl(path):
        if ids is None or row.get("id") in ids:
            yield parse_row(row, JudgeRecord, f"{path} line {number}")


def _candidates(config: ReviewConfig, kind: Kind) -> dict[str, list[Candidate]]:
    """The rows that may be drawn, by the language of their sheet."""
    found: dict[str, list[Candidate]] = {}
    for path in config.input:
        for record in each_record(path):
            values = tuple(str(getattr(record, name)) for name in config.strata)
            found.setdefault(record.language, []).append(Candidate(record.id, values))
    wanted = config.languages()
    if kind == "translate":
        if own := sorted(found.keys() & set(wanted)):
            raise DataError(f"input: its records are in {own[0]} already; name the records to translate from")
        everything = [row for rows in found.values() for row in rows]
        found = dict.fromkeys(wanted, everything)
    if absent := [code for code in wanted if not found.get(code)]:
        raise DataError(f"input holds no rows in {', '.join(absent)}; it holds {', '.join(found)}")
    if not found:
        raise DataError(f"input {', '.join(map(str, config.input))} holds no rows; check the command that wrote it")
    for code, rows in found.items():
        check_unique([row.id for row in rows], f"the {code} records")
    return {code: found[code] for code in (wanted or found)}


def _strata(rows: Sequence[SampleRow], names: Sequence[str]) -> dict[str, int]:
    """How many rows of each stratum were drawn."""
    counts = Counter(" / ".join(str(getattr(row.record, name)) for name in names) for row in rows)
    return dict(sorted(counts.items()))


def _own_instructions(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise DataError(f"instructions {path} cannot be read; name a text file in UTF-8") from None
