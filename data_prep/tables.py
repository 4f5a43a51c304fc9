"""Rows of a table wherever it lies: JSON Lines, a JSON array, CSV, TSV or parquet on disk, or a data set on the Hub."""

import json
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from core.errors import DataError
from core.jsonl import read_jsonl
from data_prep.delimited import read_delimited
from data_prep.options import SourceConfig

_SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".parquet")
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")

Located = tuple[str, dict[str, Any]]
"""A row with its place, as errors name it."""


def read_table(config: SourceConfig, header: Sequence[str] = ()) -> Iterator[Located]:
    """Yield the rows of the input with their places; a NaN, which tables write for an empty cell, is None.

    ``header`` names the columns of a CSV or TSV whose first line does not. Raises DataError where there is no such file
    or data set, or it is broken.
    """
    return ((where, {name: _cell(value) for name, value in row.items()}) for where, row in _rows(config, header))


def _cell(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def _rows(config: SourceConfig, header: Sequence[str]) -> Iterator[Located]:
    path = Path(config.input)
    if is_hub_id(config.input) or path.is_dir():
        return _hub(config)
    if not path.is_file():
        raise DataError(f"input {path} does not exist; name a file, a folder, or a Hub id like ai4bharat/recon")
    suffix = path.suffix.lower()
    if suffix in (".csv", ".tsv"):
        return ((f"{path} line {line}", row) for line, row in read_delimited(path, config.quoting, header))
    if header:
        raise DataError(
            f"input {path}: header is for .csv and .tsv; rows of {suffix or 'this kind'} name their columns"
        )
    if suffix == ".parquet":
        return _parquet(path)
    if suffix == ".json" and _starts_array(path):
        return _array(path)
    if suffix in (".jsonl", ".json"):
        return ((f"{path} line {line}", row) for line, row in read_jsonl(path))
    raise DataError(f"input {path}: files of kind {suffix or 'none'} are not read; use {', '.join(_SUFFIXES)}")


def is_hub_id(name: str) -> bool:
    """Whether an input names a data set on the Hub: owner/name, and nothing on disk has that path."""
    return bool(_HUB_ID.fullmatch(name)) and not Path(name).exists() and Path(name).suffix not in (*_SUFFIXES, ".txt")


def _hub(config: SourceConfig) -> Iterator[Located]:
    name = config.hub_config
    if name and "{language}" in name:
        name = name.replace("{language}", config.one_language())
    return read_hub(config.input, name, config.split or "train", config.revision)


def read_hub(repo: str, name: str | None, split: str, revision: str | None, way_out: str = "") -> Iterator[Located]:
    """Yield the rows of one split of a data set on the Hub. ``way_out`` is said where the set is gated.

    Raises DataError where it cannot be loaded.
    """
    from datasets import load_dataset
    from datasets.exceptions import DatasetsError

    where = " ".join(word for word in (repo, name, split) if word)
    try:
        rows = load_dataset(repo, name, split=split, revision=revision)
    except (OSError, ValueError, RuntimeError, DatasetsError) as error:
        if "is a gated dataset" in str(error) or _is_gated(error):
            raise DataError(
                f"data set {repo} is gated: accept its terms at https://huggingface.co/datasets/{repo}, log in with "
                f"`hf auth login` (or set HF_TOKEN), then run this again{way_out}"
            ) from None
        reason = " ".join(str(error).split())[:200]
        raise DataError(
            f"no file or folder {repo} here, and data set {where} cannot be loaded ({reason}); "
            "check the id, --hub_config, --split, the network and, for a private set, your Hub login"
        ) from None
    return ((f"{where} row {number}", row) for number, row in enumerate(rows, start=1))


def _is_gated(error: BaseException | None) -> bool:
    from huggingface_hub.errors import GatedRepoError

    return error is not None and (isinstance(error, GatedRepoError) or _is_gated(error.__cause__ or error.__context__))


def _parquet(path: Path) -> Iterator[Located]:
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.ParquetFile(path)
    except (OSError, ValueError) as error:
        raise DataError(f"{path} is not a parquet file ({error}); check how it was written") from None
    rows = (row for batch in table.iter_batches(1000) for row in batch.to_pylist())
    return ((f"{path} row {number}", row) for number, row in enumerate(rows, start=1))


def _starts_array(path: Path) -> bool:
    with open(path, "rb") as handle:
        return handle.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")


def _array(path: Path) -> Iterator[Located]:
    try:
        with open(path, encoding="utf-8-sig") as handle:
            rows = json.load(handle)
    except ValueError as error:
        raise DataError(f"{path} is not JSON ({error}); mend the file") from None
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise DataError(f"{path} row {number} holds {type(row).__name__}; every element is one JSON object")
        yield f"{path} row {number}", row
