"""Any table (JSON Lines, JSON, CSV, TSV, parquet, Hub) through a column map: records, summaries or parallel sentences."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from core.config import check_known
from core.errors import DataError
from core.languages import LANGUAGES
from core.progress import say
from core.records import JudgeRecord, SummaryRecord
from data_prep.options import ConvertConfig, ParallelConfig, SourceConfig, SummariesConfig
from data_prep.rows import ParallelMaker, ParallelRow, RecordMaker, SummaryMaker
from data_prep.tables import Located, read_table
from data_prep.values import id_text, score_list, score_number, whole_score

_RECORD_FIELDS = [name for name in JudgeRecord.model_fields if name != "extra"]
_SUMMARY_FIELDS = list(SummaryRecord.model_fields)
_PARALLEL_FIELDS = [*ParallelRow.model_fields, *LANGUAGES]
_MAY_BE_EMPTY = ("response", "summary")
_IDS = ("id", "item_id", "document_id")


def record_columns(config: ConvertConfig) -> Iterator[JudgeRecord]:
    """One record a row. A column that is neither mapped nor named like a field goes to ``extra``."""
    maker = RecordMaker(config)
    for where, values, others in _mapped_rows(config, _RECORD_FIELDS):
        others = {**_extra(others.pop("extra", None)), **others}
        record = maker.make({**values, "extra": others}, where)
        if record is not None:
            yield record


def _extra(cell: Any) -> dict[str, Any]:
    """A column named extra: an object, or its JSON text as data_prep.publish writes it."""
    if isinstance(cell, str):
        try:
            cell = json.loads(cell)
        except ValueError:
            return {"extra": cell}
    return cell if isinstance(cell, dict) else {} if cell is None else {"extra": cell}


def summary_columns(config: SummariesConfig) -> Iterator[SummaryRecord]:
    """One summary a row, with the scores that it has or none."""
    maker = SummaryMaker(config)
    unused: set[str] = set()
    for where, values, others in _mapped_rows(config, _SUMMARY_FIELDS):
        unused.update(others)
        summary = maker.make(values, where)
        if summary is not None:
            yield summary
    _say_unused(unused)


def parallel_columns(config: ParallelConfig) -> Iterator[ParallelRow]:
    """One sentence in several languages a row; rows of a table without ids are numbered."""
    maker = ParallelMaker(config)
    unused: set[str] = set()
    numbered = False
    for number, (where, values, others) in enumerate(_mapped_rows(config, _PARALLEL_FIELDS, config.header), start=1):
        unused.update(others)
        if number == 1:
            numbered = "id" not in values
        yield maker.make({"id": f"line-{number:05d}", **values} if numbered else values, where)
    _say_unused(unused)


def _mapped_rows(
    config: SourceConfig, fields: Sequence[str], header: Sequence[str] = ()
) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """For each row its place, the fields that hold something, and the columns that are no field's."""
    for name in config.columns:
        check_known(name, fields, "columns: field ")
    columns = {field: [source] if isinstance(source, str) else source for field, source in config.columns.items()}
    by_name = [name for name in fields if name not in columns]
    taken = {*by_name, *(name for names in columns.values() for name in names)}
    for where, row in read_table(config, header):
        values = {name: row[name] for name in by_name if name in row} | _mapped((where, row), columns)
        typed = {name: _typed(name, value, where) for name, value in values.items()}
        others = {name: value for name, value in row.items() if name not in taken}
        yield where, {name: value for name, value in typed.items() if value is not None}, others


def _mapped(located: Located, columns: dict[str, list[str]]) -> dict[str, Any]:
    """The fields that the map names, each from its column or columns."""
    where, row = located
    values: dict[str, Any] = {}
    for field, names in columns.items():
        for name in names:
            if name not in row or (len(names) > 1 and row[name] in (None, "")):
                raise DataError(
                    f"{where}: nothing in column {name!r} (mapped to {field}); the row has {', '.join(row)}"
                )
        values[field] = row[names[0]] if len(names) == 1 else "-".join(str(row[name]) for name in names)
    return values


def _say_unused(columns: set[str]) -> None:
    if columns:
        say(f"columns that are no field, left out: {', '.join(sorted(columns))}")


def _typed(field: str, value: Any, where: str) -> Any:
    """A cell as its field holds it; empty cells of CSV are no values."""
    if field == "score":
        return whole_score(value, where)
    if field == "human_scores":
        return score_list(value, where) or None
    if field == "human_score":
        return score_number(value, where)
    if field in _IDS:
        value = id_text(value)
    return None if value == "" and field not in _MAY_BE_EMPTY else value
