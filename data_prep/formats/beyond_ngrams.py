"""Beyond N-grams (itaimondshine/Beyond_ngrams): human scores of two systems' summaries, a CSV a dimension and language.

The data carry no licence: they are read from the user's copy and never redistributed.
"""

from collections.abc import Iterator
from pathlib import Path

from core.errors import DataError
from core.languages import LANGUAGES
from core.progress import say
from core.records import SummaryRecord
from core.run import fingerprint
from data_prep.delimited import read_delimited
from data_prep.options import SummariesConfig
from data_prep.rows import SummaryMaker
from data_prep.values import score_list

# The README says completeness, the folder is named consistency.
_DIMENSIONS = {"coherence": "coherence", "completeness": "completeness", "consistency": "completeness"}
_SYSTEMS = ("gemini", "gpt")
_CHARACTERS_SEEN = 2500
_UNDECIDED = -1
_CODES = {language.name.lower(): code for code, language in LANGUAGES.items()} | {"turkis": "tr"}


def beyond_ngrams(config: SummariesConfig) -> Iterator[SummaryRecord]:
    """Two summaries a row, as the raters saw them: the corrupted text, and the document's first 2,500 characters."""
    maker, documents, undecided = SummaryMaker(config), _Documents(), 0
    for path in _files(Path(config.input)):
        language, dimension = _CODES[path.stem], _DIMENSIONS[path.parent.name]
        for line, row in read_delimited(path, "csv"):
            where = f"{path} line {line}"
            columns = _score_columns(row, dimension, where)
            document_id = documents.name(language, row["inner_index"], row["text"])
            for system in _SYSTEMS:
                scores = score_list(row[columns[system]], where)
                values = {
                    "id": f"{document_id}-{dimension}-{system}",
                    "language": language,
                    "dimension": dimension,
                    "system": system,
                    "document_id": document_id,
                    "document": row["text"][:_CHARACTERS_SEEN],
                    "reference": row["label"],
                    "summary": row[f"{system}_corrupted_summary"],
                    "human_scores": _decided(scores, f"{where}: {columns[system]}"),
                }
                summary = maker.make(values, where)
                if summary is not None:
                    undecided += scores.count(_UNDECIDED)
                    yield summary
    if undecided:
        say(f"{undecided} scores of -1 (undecided) were left out")


def _decided(scores: list[float], where: str) -> list[float]:
    decided = [score for score in scores if score != _UNDECIDED]
    for score in decided:
        if score not in (1, 2, 3, 4):
            raise DataError(f"{where} holds {score:g}; the scale is 1 to 4, and -1 for undecided")
    return decided


class _Documents:
    """Names documents by language and inner_index; the same index with another text is another document."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def name(self, code: str, index: str, text: str) -> str:
        name = f"{code}-{index}"
        while self._texts.setdefault(name, text) != text:
            name += "b"
        return name


def _files(root: Path) -> list[Path]:
    """The CSV files of a dimension and language. A second file of one language is left out where it is a copy."""
    if not root.exists():
        raise DataError(f"input {root} does not exist; name the folder that holds coherence/ and consistency/")
    found = [root] if root.is_file() else sorted(root.rglob("*.csv"))
    known = [path for path in found if path.stem in _CODES and path.parent.name in _DIMENSIONS]
    if not known:
        raise DataError(
            f"{root} holds no CSV named after a language (spanish.csv) in a folder named {', '.join(_DIMENSIONS)}"
        )
    chosen: dict[tuple[str, str], Path] = {}
    for path in sorted(known, key=lambda path: (path.stem == "turkis", path)):
        first = chosen.setdefault((_DIMENSIONS[path.parent.name], _CODES[path.stem]), path)
        if first is not path and fingerprint(first) != fingerprint(path):
            raise DataError(f"{path} and {first} hold the same language and dimension but differ; remove one")
        if first is not path:
            say(f"{path} is a copy of {first.name} and was left out")
    return sorted(chosen.values())


def _score_columns(row: dict[str, str], dimension: str, where: str) -> dict[str, str]:
    """The score column of each system; the files and their README name them in different ways."""
    needed = ["inner_index", "label", "text", *(f"{system}_corrupted_summary" for system in _SYSTEMS)]
    columns = {}
    for system in _SYSTEMS:
        names = (f"{dimension}_{system}", f"consistency_{system}", f"{system}_grade")
        columns[system] = next((name for name in names if name in row), names[0])
    missing = [name for name in (*needed, *columns.values()) if name not in row]
    if missing:
        raise DataError(f"{where}: no column {missing[0]}; the file has {', '.join(row)}")
    return columns
