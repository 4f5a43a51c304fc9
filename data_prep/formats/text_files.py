"""Parallel sentences in plain text files, one sentence a line, one file a language (NTREX, FLORES-200, your own)."""

from collections.abc import Iterator
from pathlib import Path

from core.errors import ConfigError, DataError
from core.languages import LANGUAGES, language
from core.progress import say
from data_prep.delimited import read_lines
from data_prep.options import ParallelConfig
from data_prep.rows import ParallelMaker, ParallelRow

_CODES = {name: code for code, row in LANGUAGES.items() for name in (code, row.ntrex, row.flores)}
_CODES["zho_Hans"] = "zh"  # as in FLORES-200; FLORES+ says cmn_Hans
_SECOND_REFERENCE = "-ref-2."


def ntrex_documents(folder: Path) -> Path | None:
    """The document ids of NTREX-128, which its repository keeps one folder above the texts; None where they are not."""
    beside = (folder / "DOCUMENT_IDS.tsv", folder.parent / "DOCUMENT_IDS.tsv")
    return next((path for path in beside if path.is_file()), None)


def text_files(config: ParallelConfig) -> Iterator[ParallelRow]:
    """One row a line. Raises DataError for a blank line, or files whose lines are not as many."""
    maker = ParallelMaker(config)
    sentences = {code: _sentences(path) for code, path in _files(config).items()}
    documents = _sentences(config.documents) if config.documents else []
    counts = {code: len(lines) for code, lines in sentences.items()}
    if documents:
        counts["documents"] = len(documents)
    if len(set(counts.values())) > 1:
        shown = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise DataError(f"{config.input}: files differ in their number of lines ({shown}); parallel files have as many")
    for number in range(next(iter(counts.values()))):
        texts = {code: lines[number] for code, lines in sentences.items()}
        document = {"document_id": documents[number]} if documents else {}
        yield maker.make({"id": f"line-{number + 1:05d}", **document, **texts}, f"{config.input} line {number + 1}")


def _files(config: ParallelConfig) -> dict[str, Path]:
    """The file of each language, from the option ``files`` or from the file names."""
    folder = Path(config.input)
    if not folder.is_dir():
        raise DataError(f"input {folder} is no folder; name the folder that holds one text file a language")
    wanted = config.languages()
    named = {language(code).code: folder / name for code, name in config.files.items()}
    files = named or _by_name(folder, wanted)
    missing = [code for code in wanted if code not in files]
    if missing:
        raise DataError(f"{folder} holds no file for {', '.join(missing)}; it has {', '.join(files) or 'none'}")
    if len(files) < 2:
        raise DataError(f"{folder} holds text files of {len(files)} languages; parallel text needs two or more")
    return {code: files[code] for code in wanted or files}


def _by_name(folder: Path, wanted: list[str]) -> dict[str, Path]:
    """Files with a language code among the parts of their names, as in newstest2019-ref.hin.txt or hin_Deva.dev."""
    files: dict[str, Path] = {}
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        codes = {_CODES[part] for part in path.name.split(".") if part in _CODES}
        if len(codes) != 1 or (wanted and not codes & set(wanted)):
            continue
        (code,) = codes
        if _SECOND_REFERENCE in path.name:
            say(f"{path} is a second reference and was left out")
            continue
        if code in files:
            raise ConfigError(f"{files[code]} and {path} both hold {code}; choose with files: {{{code}: {path.name}}}")
        files[code] = path
    return files


def _sentences(path: Path) -> list[str]:
    lines = read_lines(path)
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            raise DataError(f"{path} line {number} is blank; every line is one sentence")
    if not lines:
        raise DataError(f"{path} is empty; it should hold one sentence a line")
    return lines
