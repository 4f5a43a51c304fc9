"""Lets people check translations, score responses or translate: draws a sample with sheets, reads them, applies the answers.

Run as:
    python -m data_prep.review --config configs/data_prep/review-translation.yaml --input data/intel/hi/train.jsonl --source data/feedback-collection.jsonl --reviewers asha ravi --output runs/review/hi
    python -m data_prep.review --action read --sample runs/review/hi --sheets filled/ --output runs/review/hi-read
    python -m data_prep.review --action apply --judgements runs/review/hi-read/judgements.jsonl --input data/intel/hi/train.jsonl --prefer asha --output runs/review/hi-applied

draw writes sheets/LANGUAGE/REVIEWER.csv and .html; read writes judgements.jsonl, conflicts.jsonl and metrics.json; apply
writes records.jsonl.
"""

from pathlib import Path

from core.config import run_command
from core.errors import DataError
from core.jsonl import write_json, write_jsonl
from core.progress import say
from core.records import read_rows, write_records, write_rows
from core.run import Run
from data_prep.review_sheets.corrections import Corrections, conflicts
from data_prep.review_sheets.draw import draw_sample, each_record, write_sheets
from data_prep.review_sheets.figures import measure
from data_prep.review_sheets.judgements import Judgement, read_judgements
from data_prep.review_sheets.options import ReviewConfig
from data_prep.review_sheets.reviewers import join_reviewers
from data_prep.review_sheets.sample import ROWS_FILE, SAMPLE_FILE, load, save
from data_prep.review_sheets.summary import summary


def main(config: ReviewConfig) -> None:
    """Do what ``action`` says."""
    config.check_action()
    {"draw": _draw, "read": _read, "apply": _apply}[config.action](config)


def _draw(config: ReviewConfig) -> None:
    assert config.kind is not None
    sample = draw_sample(config, config.kind)
    inputs = [*config.input, *config.source, *([config.instructions] if config.instructions else [])]
    with Run(config.output, "data_prep.review", config, inputs, config.if_exists, config.seed) as run:
        save(sample, run.path)
        sheets = write_sheets(sample, run.path)
    counts = ", ".join(f"{code} {n}" for code, n in sample.about.rows.items())
    say(f"{config.output}: {sample.about.sample}, rows {counts}; {len(sheets)} sheets")


def _read(config: ReviewConfig) -> None:
    assert config.sample is not None
    sample = load(config.sample)
    known = join_reviewers(sample.about.reviewers, config.reviewers)
    sheets = _sheet_files(config.sheets)
    judgements = read_judgements(sample, sheets, known)
    inputs = [config.sample / SAMPLE_FILE, config.sample / ROWS_FILE, *sheets]
    with Run(config.output, "data_prep.review", config, inputs, config.if_exists, config.seed) as run:
        metrics = measure(sample, judgements, known, config.resamples, config.seed)
        write_rows(judgements, run.path / "judgements.jsonl")
        write_jsonl((conflict.to_json() for conflict in conflicts(judgements)), run.path / "conflicts.jsonl")
        write_json(metrics, run.path / "metrics.json")
    say(summary(metrics))


def _apply(config: ReviewConfig) -> None:
    assert config.judgements is not None
    judgements = read_rows(config.judgements, Judgement)
    if config.language:
        judgements = [judgement for judgement in judgements if judgement.language in config.languages()]
    if not judgements:
        raise DataError(
            f"{config.judgements} holds no judgements in {config.language}; leave language out or correct it"
        )
    corrections = Corrections(judgements, config.prefer)
    with Run(config.output, "data_prep.review", config, [*config.input, config.judgements], config.if_exists) as run:
        records = (record for path in config.input for record in each_record(path))
        write_records(corrections.apply(records), run.path / "records.jsonl")
        run.note(counts=dict(corrections.counts))
    counts = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in corrections.counts.items())
    say(f"{run.path / 'records.jsonl'}: {counts}")


def _sheet_files(named: list[Path]) -> list[Path]:
    """The files named, and the CSV and TSV files of the folders named."""
    files = []
    for path in named:
        inside = [file for file in sorted(path.rglob("*")) if file.suffix.lower() in (".csv", ".tsv", ".txt")]
        if path.is_dir() and not inside:
            raise DataError(f"sheets: {path} holds no CSV file; name the files or folders that came back")
        files += inside if path.is_dir() else [path]
    return files


if __name__ == "__main__":
    run_command(main, ReviewConfig)
