"""Records as parquet files for the Hub, and what is known of how each was made."""

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from core.errors import ConfigError, DataError
from core.jsonl import dumps, read_jsonl
from core.languages import LANGUAGES
from core.records import JudgeRecord, parse_row
from core.run import fingerprint, read_manifest, read_manifest_file
from data_prep.hub_rows import hub_row

Shape = Literal["intel", "records"]


class Part(NamedTuple):
    """One split of one configuration, and the records.jsonl that it comes from."""

    config: str
    split: str
    source: Path

    @property
    def file(self) -> str:
        """The parquet file's path in the repository."""
        return f"{self.config}/{self.split}.parquet"


@dataclass
class Facts:
    """What a part holds."""

    rows: int = 0
    items: set[str] = field(default_factory=set)
    scores: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    reference_languages: set[str] = field(default_factory=set)


def parse_part(text: str) -> Part:
    """``hi=FILE`` or ``hi:test=FILE``; the split is train where none is named. Raises ConfigError for anything else."""
    name, _, path = text.partition("=")
    config, _, split = name.partition(":")
    words = (config, split or "train")
    if not path or not all(word.replace("_", "").replace("-", "").isalnum() for word in words):
        raise ConfigError(f"input {text!r} is not CONFIG=FILE or CONFIG:SPLIT=FILE, e.g. hi:test=data/hi/records.jsonl")
    return Part(config, split or "train", Path(path))


def survey(part: Part, shape: Shape) -> Facts:
    """Check every row of a part and count. Raises DataError for a wrong row, an id twice, or another language than its name."""
    facts, ids = Facts(), set()
    expected = part.config.removesuffix("_xx")
    for number, record in enumerate(_read(part), start=1):
        to_row(record, shape)
        if record.id in ids:
            raise DataError(f"{part.source}: id {record.id} occurs more than once; give every row its own id")
        if expected in LANGUAGES and record.language != expected:
            raise DataError(
                f"{part.source} row {number} is in {record.language}, its configuration is {part.config}; "
                "name the configuration after its language"
            )
        ids.add(record.id)
        facts.items.add(record.item_id)
        facts.scores["none" if record.score is None else str(record.score)] += 1
        facts.languages[record.language] += 1
        if record.reference_answer:
            facts.reference_languages.add(record.reference_language or "en")
    facts.rows = len(ids)
    if not ids:
        raise DataError(f"{part.source} holds no rows; check the command that wrote it")
    return facts


def to_row(record: JudgeRecord, shape: Shape) -> dict[str, Any]:
    """A record as its row: in Intel's columns, or all fields with ``extra`` as JSON text, for its keys differ row by row.

    Raises DataError where ``extra`` holds what JSON cannot.
    """
    if shape == "intel":
        return hub_row(record)
    try:
        return record.model_dump() | {"extra": dumps(record.extra)}
    except ValueError as error:
        raise DataError(f"row {record.id}: extra cannot be written ({error}); mend its values") from None


def write_parquet(part: Part, shape: Shape, path: Path) -> None:
    """Write a part as parquet with ``datasets``; the same rows give the same bytes."""
    import datasets

    text = datasets.Value("string")
    types = {
        "messages": [{"role": text, "content": text}],
        "score": datasets.Value("int64"),
        "human_scores": [datasets.Value("float64")],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    columns = to_row(next(_read(part)), shape)
    features = datasets.Features({name: types.get(name, text) for name in columns})
    with tempfile.TemporaryDirectory() as cache:
        data = datasets.Dataset.from_generator(
            _rows, gen_kwargs={"part": part, "shape": shape}, features=features, cache_dir=cache
        )
        data.to_parquet(path)


def manifest_of(part: Part) -> dict[str, Any] | None:
    """The manifest of the run that wrote a part's file, or None where there is none.

    Raises DataError where that run is not finished, or the file was changed since.
    """
    beside = read_manifest_file(part.source.with_name(f"{part.source.name}.manifest.json"))
    manifest = beside or read_manifest(part.source.parent)
    if manifest is None:
        return None
    if manifest.get("status", "done") != "done":
        raise DataError(f"{part.source} is of a run that is not finished; finish it with --if_exists resume")
    if beside is not None and fingerprint(part.source) not in beside.get("outputs", {}).values():
        raise DataError(f"{part.source} was changed since {beside['command']} wrote it; write it again")
    return manifest


def _read(part: Part) -> Iterator[JudgeRecord]:
    for number, row in read_jsonl(part.source):
        yield parse_row(row, JudgeRecord, f"{part.source} line {number}")


def _rows(part: Part, shape: Shape) -> Iterator[dict[str, Any]]:
    for record in _read(part):
        yield to_row(record, shape)
