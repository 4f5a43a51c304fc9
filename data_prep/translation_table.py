"""The translations of one run, found by their source text: on disk, so that memory holds 16 bytes and a place for each."""

import os
import tempfile
from pathlib import Path
from typing import NamedTuple

from core.records import JudgeRecord
from data_prep.translation import Kind, Translated, text_key

FIELDS: dict[str, Kind] = {"instruction": "instruction", "response": "response", "reference_answer": "reference"}


class Rejected(NamedTuple):
    """Why a record cannot be written: the texts of these fields have no accepted translation."""

    record: JudgeRecord
    fields: dict[str, Translated]


class TranslationTable:
    """A context manager; ``folder`` takes the file, which has no name and goes with the process."""

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile("w+b", dir=folder)  # noqa: SIM115 (closed by __exit__)
        self._places: dict[bytes, tuple[int, int]] = {}
        self._rejected: dict[bytes, Translated] = {}
        self._end = self._flushed = 0

    def add(self, key: bytes, translated: Translated) -> None:
        """Keep the result for the text of this key."""
        if translated.text is None:
            self._rejected[key] = translated
            return
        data = translated.text.encode("utf-8", "surrogatepass")
        self._file.write(data)
        self._places[key] = (self._end, len(data))
        self._end += len(data)

    def translate(self, record: JudgeRecord, language: str, fields: tuple[str, ...]) -> JudgeRecord | Rejected:
        """The record in the language, these fields translated; or which of them were rejected."""
        found: dict[str, str] = {}
        rejected: dict[str, Translated] = {}
        for name in fields:
            text = getattr(record, name)
            if text is None:
                continue
            key = text_key(text)
            if key in self._rejected:
                rejected[name] = self._rejected[key]
            else:
                found[name] = self._text(key) if text else text
        if rejected:
            return Rejected(record, rejected)
        found["language"] = language
        if "reference_answer" in found:
            found["reference_language"] = language
        return record.model_copy(update=found)

    def _text(self, key: bytes) -> str:
        if self._flushed < self._end:
            self._file.flush()
            self._flushed = self._end
        place, length = self._places[key]
        return os.pread(self._file.fileno(), length, place).decode("utf-8", "surrogatepass")

    def __enter__(self) -> "TranslationTable":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
