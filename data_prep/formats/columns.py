"""Any table (JSON Lines, JSON, CSV, TSV, parquet, Hub) through a column map."""

from collections.abc import Iterator
from typing import Any

from core.config import check_known
from core.errors import DataError
from core.languages import LANGUAGES
from core.progress import say
from core.records import JudgeRecord, SummaryRecord
from data_prep.options import ConvertConfig
from data_prep.rows import AnyRow, ParallelRow, RowMaker
from data_prep.tables import read_table
from data_prep.values import id_text, score_list, score_number, whole_score

_FIELDS = {
    "records": [name for name in JudgeRecord.model_fields if name != "extra"],
    "summaries": list(SummaryRecord.model_fields),
    "parallel": [*ParallelRow.model_fields, *LANGUAGES],
}
_MAY_BE_EMPTY = ("response", "summary")
_IDS = ("id", "item_id", "document_id")


def columns(config: ConvertConfig) -> Iterator[AnyRow]:
    """One row a row. A column that is neither mapped nor named like a field goes to ``extra``, where the kind has it."""
    for name in config.columns:
        check_known(name, _FIELDS[config.to], f"columns: {config.to} field ")
    maker = RowMaker(config)
    unused: set[str] = set()
    for where, row in read_table(config):
        values = {name: _typed(name, value, where) for name, value in _mapped(row, config, where).items()}
        values = {name: value for name, value in values.items() if value is not None}
        others = _others(row, config)
        made: AnyRow | None
        if config.to == "records":
            made = maker.record({**values, "extra": others}, where)
        else:
            unused.update(others)
            made = maker.summary(values, where) if config.to == "summaries" else maker.parallel(values, where)
        if made is not None:
            yield made
    if unused:
        say(f"columns without a field in {config.to}, left out: {', '.join(sorted(unused))}")


def _mapped(row: dict[str, Any], config: ConvertConfig, where: str) -> dict[str, Any]:
    """The fields of a row: mapped columns, and columns that have a field's name already."""
    values = {name: row[name] for name in _FIELDS[config.to] if name in row and name not in config.columns}
    for field, source in config.columns.items():
        names = [source] if isinstance(source, str) else source
        for name in names:
            if name not in row or (len(names) > 1 and row[name] in (None, "")):
                raise DataError(
                    f"{where}: nothing in column {name!r} (mapped to {field}); the row has {', '.join(row)}"
                )
        values[field] = row[names[0]] if len(names) == 1 else "-".join(str(row[name]) for name in names)
    return values


def _others(row: dict[str, Any], config: ConvertConfig) -> dict[str, Any]:
    sources = [name for source in config.columns.values() for name in ([source] if isinstance(source, str) else source)]
    taken = {name for name in _FIELDS[config.to] if name not in config.columns} | set(sources)
    others = {name: value for name, value in row.items() if name not in taken}
    if isinstance(others.get("extra"), dict):
        others = {**others.pop("extra"), **others}
    return others


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
