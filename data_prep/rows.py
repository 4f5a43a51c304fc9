"""Rows finished the same way whatever their format: constants set, languages checked and chosen, ids and items named."""

from typing import Any

from pydantic import ConfigDict

from core.config import check_known
from core.errors import ConfigError, DataError
from core.languages import LANGUAGES
from core.records import JudgeRecord, Row, SummaryRecord, parse_row
from data_prep.items import ItemNames
from data_prep.options import ConvertConfig, ParallelConfig, SourceConfig, SummariesConfig


class ParallelRow(Row):
    """One sentence in several languages: besides the fields, one column a language code."""

    model_config = ConfigDict(extra="allow")

    document_id: str | None = None

    def texts(self) -> dict[str, Any]:
        """The sentences by language code."""
        return self.__pydantic_extra__ or {}


AnyRow = JudgeRecord | SummaryRecord | ParallelRow


class RecordMaker:
    """Makes the judge records of one conversion from field values."""

    def __init__(self, config: ConvertConfig) -> None:
        _check_constants(config.constants, JudgeRecord)
        self._constants = config.constants
        self._languages = RowLanguages(config)
        self._reference_language = config.reference_language
        self._items = ItemNames()

    def make(self, values: dict[str, Any], where: str) -> JudgeRecord | None:
        """A record, or None in a language not asked for. Ids that are missing are named by `ItemNames`.

        Raises DataError for a row that is none.
        """
        values = {**values, **self._constants}
        if not self._languages.wants(values, where):
            return None
        if values.get("reference_answer") and not values.get("reference_language"):
            values["reference_language"] = self._reference_language
        record = parse_row({"id": "unnamed", "item_id": "unnamed", **values}, JudgeRecord, where)
        if "item_id" not in values:
            record.item_id = self._items.item_id(record.instruction, record.criteria, record.reference_answer)
        if "id" not in values:
            record.id = self._items.row_id(record.item_id, record.language)
        return record


class SummaryMaker:
    """Makes the summaries of one conversion from field values."""

    def __init__(self, config: SummariesConfig) -> None:
        _check_constants(config.constants, SummaryRecord)
        self._constants = config.constants
        self._languages = RowLanguages(config)
        self._items = ItemNames()

    def make(self, values: dict[str, Any], where: str) -> SummaryRecord | None:
        """A summary, or None in a language not asked for. Documents and rows without ids are named after the document's text.

        Raises DataError for a row that is none.
        """
        values = {**values, **self._constants}
        if not self._languages.wants(values, where):
            return None
        summary = parse_row({"id": "unnamed", "document_id": "unnamed", **values}, SummaryRecord, where)
        if "document_id" not in values:
            summary.document_id = self._items.document_id(summary.document)
        if "id" not in values:
            summary.id = self._items.row_id(summary.document_id, summary.dimension)
        return summary


class ParallelMaker:
    """Makes the parallel rows of one conversion from field values."""

    def __init__(self, config: ParallelConfig) -> None:
        self._languages = config.languages()

    def make(self, values: dict[str, Any], where: str) -> ParallelRow:
        """A sentence in the languages asked for, or else in those of the first row.

        Raises DataError where one of them has no text, or they are fewer than two.
        """
        if not self._languages:
            self._languages = [name for name in values if name in LANGUAGES]
        if len(self._languages) < 2:
            raise DataError(f"{where}: parallel text needs two languages or more; the row has {', '.join(values)}")
        for code in self._languages:
            if not isinstance(values.get(code), str) or not values[code].strip():
                raise DataError(f"{where}: no text in {code}; the row has {', '.join(values)}")
        return parse_row(
            {name: values.get(name) for name in ("id", "document_id", *self._languages)}, ParallelRow, where
        )


class RowLanguages:
    """Which rows are wanted by their language, and which language rows are in that do not say theirs."""

    def __init__(self, config: SourceConfig) -> None:
        self._wanted = config.languages()
        self._default = self._wanted[0] if len(self._wanted) == 1 else None
        self._input = config.input

    def wants(self, values: dict[str, Any], where: str) -> bool:
        """Whether the row is in a language asked for; its language is filled in where it has none."""
        code = values.get("language")
        if not code:
            if self._default is None:
                raise ConfigError(f"{self._input}: rows do not say their language; pass one, e.g. --language hi")
            values["language"] = code = self._default
        if not isinstance(code, str) or code not in LANGUAGES:
            raise DataError(
                f"{where}: language {code!r} is unknown; use a code of core/languages.py or add a row there"
            )
        return not self._wanted or code in self._wanted


def _check_constants(constants: dict[str, Any], row_class: type[Row]) -> None:
    for name in constants:
        check_known(name, list(row_class.model_fields), "constants: field ")
