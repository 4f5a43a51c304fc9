"""Rows finished the same way whatever their format: constants set, languages checked and chosen, ids and items named."""

from typing import Any

from pydantic import ConfigDict

from core.config import check_known
from core.errors import ConfigError, DataError
from core.languages import LANGUAGES
from core.records import JudgeRecord, Row, SummaryRecord, parse_row
from data_prep.items import ItemNames
from data_prep.options import ConvertConfig


class ParallelRow(Row):
    """One sentence in several languages: besides the fields, one column a language code."""

    model_config = ConfigDict(extra="allow")

    document_id: str | None = None

    def texts(self) -> dict[str, Any]:
        """The sentences by language code."""
        return self.__pydantic_extra__ or {}


_UNNAMED = {"id": "unnamed", "item_id": "unnamed"}

AnyRow = JudgeRecord | SummaryRecord | ParallelRow


class RowMaker:
    """Makes the rows of one conversion from field values; None is returned for a row in a language not asked for."""

    def __init__(self, config: ConvertConfig) -> None:
        for name in config.constants:
            check_known(name, [*JudgeRecord.model_fields, *SummaryRecord.model_fields], "constants: field ")
        self._constants = config.constants
        self._languages = config.languages()
        self._default_language = self._languages[0] if len(self._languages) == 1 else None
        self._reference_language = config.reference_language
        self._input = config.input
        self._items = ItemNames()

    def record(self, values: dict[str, Any], where: str) -> JudgeRecord | None:
        """A judge record. Ids that are missing are named by `ItemNames`. Raises DataError for a row that is none."""
        values = {**values, **self._constants}
        if not self._wanted(values, where):
            return None
        if values.get("reference_answer") and not values.get("reference_language"):
            values["reference_language"] = self._reference_language
        record = parse_row({**_UNNAMED, **values}, JudgeRecord, where)
        if "item_id" not in values:
            record.item_id = self._items.item_id(record.instruction, record.criteria, record.reference_answer)
        if "id" not in values:
            record.id = self._items.record_id(record.item_id, record.language)
        return record

    def summary(self, values: dict[str, Any], where: str) -> SummaryRecord | None:
        """A summary with its scores. Raises DataError for a row that is none."""
        values = {**values, **self._constants}
        return parse_row(values, SummaryRecord, where) if self._wanted(values, where) else None

    def parallel(self, values: dict[str, Any], where: str) -> ParallelRow:
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

    def _wanted(self, values: dict[str, Any], where: str) -> bool:
        code = values.get("language")
        if not code:
            if self._default_language is None:
                raise ConfigError(f"{self._input}: rows do not say their language; pass one, e.g. --language hi")
            values["language"] = code = self._default_language
        if not isinstance(code, str) or code not in LANGUAGES:
            raise DataError(
                f"{where}: language {code!r} is unknown; use a code of core/languages.py or add a row there"
            )
        return not self._languages or code in self._languages
