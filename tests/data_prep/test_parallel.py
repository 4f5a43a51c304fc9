"""Parallel sentences: folders of text files, NTREX, and any table with one column a language."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.config import exit_status, parse_config
from core.errors import ConfigError, DataError
from core.records import read_parallel
from data_prep.formats import PARALLEL
from data_prep.options import ParallelConfig
from data_prep.parallel import main
from tests.data_prep.tables_for_tests import write_jsonl


def rows_of(source: Path, format: str = "text", **options: Any) -> list[Any]:
    config = ParallelConfig(input=str(source), format=format, output=source.parent / "out.jsonl", **options)
    return list(PARALLEL[format].rows(config))


def parallel_folder(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_bytes(text.encode())
    return folder


def test_text_files_named_as_ntrex_and_flores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parallel_folder(
        tmp_path,
        **{
            "newstest2019-src__eng__txt": "One\r\nTwo\r\n",
            "newstest2019-ref__spa__txt": "Uno\r\nDos\r\n",
            "newstest2019-ref-2__spa__txt": "Uno\r\nPar\r\n",
            "hin_Deva__dev": "एक\nदो",
            "LICENSE__md": "all\nkinds\nof\nlines",
            "documents__tsv": "a\nb\n",
        },
    )
    rows = rows_of(tmp_path, documents=tmp_path / "documents.tsv")
    assert [row.model_dump() for row in rows] == [
        {"id": "line-00001", "document_id": "a", "hi": "एक", "es": "Uno", "en": "One"},
        {"id": "line-00002", "document_id": "b", "hi": "दो", "es": "Dos", "en": "Two"},
    ]
    assert "second reference" in capsys.readouterr().out
    assert list(rows_of(tmp_path, language=["en", "hi"])[0].texts()) == ["en", "hi"]


def test_text_files_with_files_named(tmp_path: Path) -> None:
    parallel_folder(tmp_path, a__txt="One\n", b__txt="एक\n")
    (row,) = rows_of(tmp_path, files={"en": "a.txt", "hi": "b.txt"})
    assert row.texts() == {"en": "One", "hi": "एक"}
    with pytest.raises(ConfigError, match="language 'xx' is unknown"):
        rows_of(tmp_path, files={"en": "a.txt", "xx": "b.txt"})


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"x__en": "a\nb\n", "x__hi": "c\n"}, r"differ in their number of lines \(en 2, hi 1\)"),
        ({"x__en": "a\n \nb\n", "x__hi": "c\nd\ne\n"}, "x.en line 2 is blank"),
        ({"x__en": "a\n", "x__hi": ""}, "x.hi is empty"),
        ({"x__en": "a\n"}, "needs two or more"),
        ({"x__en": "a\n", "y__en": "b\n", "x__hi": "c\n"}, "both hold en; choose with files"),
    ],
)
def test_text_files_wrong_input(tmp_path: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises((DataError, ConfigError), match=message):
        rows_of(parallel_folder(tmp_path, **files))


def test_text_files_asked_for_a_language_it_lacks(tmp_path: Path) -> None:
    parallel_folder(tmp_path, x__en="a\n", x__hi="b\n")
    with pytest.raises(DataError, match="holds no file for te"):
        rows_of(tmp_path, language=["en", "te"])


def test_a_table_through_a_map(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "a.jsonl", *({"id": n, "doc": "d", "en": "One", "hindi": "एक"} for n in (1, 2)))
    first, _ = rows_of(source, "columns", columns={"document_id": "doc", "hi": "hindi"})
    assert first.model_dump() == {"id": "1", "document_id": "d", "hi": "एक", "en": "One"}


@pytest.mark.parametrize(
    "second", [{"id": "2", "en": "Two"}, {"id": "2", "en": "Two", "hi": ""}, {"id": "2", "en": "Two", "hi": None}]
)
def test_rows_all_have_the_languages_of_the_first(tmp_path: Path, second: dict[str, Any]) -> None:
    source = write_jsonl(tmp_path / "a.jsonl", {"id": "1", "en": "One", "hi": "एक"}, second)
    with pytest.raises(DataError, match="line 2: no text in hi"):
        rows_of(source, "columns")


def test_case_29_all_rows_of_a_tsv_with_quotes_are_converted(tmp_path: Path) -> None:
    source = tmp_path / "a.tsv"
    source.write_text('id\ten\thindi\n1\ta\t"b\n2\tc\td\n3\te\tf" g\n4\th\ti\n', encoding="utf-8")
    rows = rows_of(source, "columns", columns={"hi": "hindi"})
    assert [row.texts()["hi"] for row in rows] == ['"b', "d", 'f" g', "i"]


def test_two_columns_without_header_or_ids(tmp_path: Path) -> None:
    source = tmp_path / "a.tsv"
    source.write_bytes("\ufeffOne\tएक\r\nTwo\tदो\r\n".encode())
    assert [row.model_dump() for row in rows_of(source, "columns", header=["en", "hi"])] == [
        {"id": "line-00001", "document_id": None, "en": "One", "hi": "एक"},
        {"id": "line-00002", "document_id": None, "en": "Two", "hi": "दो"},
    ]
    with pytest.raises(DataError, match="line 1 has 2 fields, the header 3"):
        rows_of(source, "columns", header=["en", "hi", "te"])


def test_a_header_is_not_for_rows_that_name_their_columns(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"header is for \.csv and \.tsv"):
        rows_of(write_jsonl(tmp_path / "a.jsonl", {"en": "One", "hi": "एक"}), "columns", header=["en", "hi"])


def test_a_row_without_id_among_rows_with_ids_is_refused(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "a.jsonl", {"id": "1", "en": "One", "hi": "एक"}, {"id": "", "en": "2", "hi": "२"})
    with pytest.raises(DataError, match="line 2: id"):
        rows_of(source, "columns")


def run(source: Path, format: str, *flags: str) -> int:
    given = ["--input", str(source), "--format", format, "--output", str(source.parent / "out.jsonl"), *flags]
    return exit_status(lambda: main(parse_config(ParallelConfig, given)))


def test_ntrex_finds_its_documents_and_names_them_as_an_input(tmp_path: Path) -> None:
    texts = tmp_path / "NTREX-128"
    texts.mkdir()
    parallel_folder(texts, **{"newstest2019-src__eng__txt": "One\nTwo\n", "newstest2019-ref__zho-CN__txt": "一\n二\n"})
    parallel_folder(tmp_path, DOCUMENT_IDS__tsv="a\nb\n")
    assert run(texts, "ntrex", "--language", "en", "zh") == 0
    rows = read_parallel(tmp_path / "out.jsonl", ["en", "zh"])
    assert [(row["document_id"], row["zh"]) for row in rows] == [("a", "一"), ("b", "二")]
    manifest = json.loads((tmp_path / "out.jsonl.manifest.json").read_text(encoding="utf-8"))
    assert (manifest["command"], set(manifest["inputs"])) == ("data_prep.parallel", {"NTREX-128", "DOCUMENT_IDS.tsv"})
    parallel_folder(tmp_path, DOCUMENT_IDS__tsv="a\na\n")
    assert run(texts, "ntrex", "--language", "en", "zh", "--if_exists", "resume") == 2


def test_ntrex_without_documents_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    parallel_folder(texts, **{"newstest2019-src__eng__txt": "One\n", "newstest2019-ref__hin__txt": "एक\n"})
    assert run(texts, "ntrex") == 0
    assert "no DOCUMENT_IDS.tsv in or above" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("format", "flags", "message"),
    [
        ("beyond-ngrams", [], "format beyond-ngrams is read by python -m data_prep.summaries"),
        ("recon", [], "format recon is read by python -m data_prep.convert"),
        ("parallel-text", [], "format: Input should be 'flores', 'ntrex', 'text' or 'columns'"),
        ("columns", ["--files", "{en: a}"], "format columns does not use files"),
        ("columns", ["--constants", "{source: x}"], "flag --constants is unknown"),
        ("columns", ["--columns", "{hn: hi}"], "columns: field hn is unknown"),
        ("flores", [], "name two or more, e.g. --language en hi"),
        ("columns", [], "1 ids occur more than once (1)"),
    ],
)
def test_wrong_input_is_one_line_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], format: str, flags: list[str], message: str
) -> None:
    source = write_jsonl(tmp_path / "a.jsonl", *({"id": "1", "en": "One", "hi": "एक"} for _ in range(2)))
    assert run(source, format, *flags) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]
