"""The paper's tables with what was measured beside what was published: the content of tables.json."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from core.errors import DataError
from eval.paper.spec import AVERAGE, LANGUAGE, Paper, PaperFigure, PaperRow, PaperTable, shell
from eval.paper.values import Measured

ABSENT = {"value": None, "low": None, "high": None, "n": 0, "n_unscored": 0, "reason": "not measured"}
NO_INTERVAL = "no interval of the mean: the languages were not measured by one run of eval.agree"


def build(paper: Paper, measured: Measured, tokens: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """{"tables": {number: table}, "figure": …, "missing": [{"what", "languages", "commands", …}], "notes": […]}.

    ``tokens`` are the rows of tokens.json. A cell has value, low, high, n, published and difference (measured − published);
    the value is null, with a reason, where nothing was measured.
    """
    tables = {number: _table(table, measured) for number, table in paper.tables.items()}
    figure = _figure(paper.figure, tokens) if paper.figure else None
    named = {name for table in paper.tables.values() for row in table.rows for name in _judges(row, table)}
    unused = measured.judges_besides(named)
    return {
        "tables": tables,
        "figure": figure,
        "missing": list(_missing(paper, tables, figure)),
        "notes": [f"no row of the tables is of judge {name}; eval.judge --judge names a judge" for name in unused],
    }


def _judges(row: PaperRow, table: PaperTable) -> Iterator[str]:
    yield from (row.judge.replace(LANGUAGE, code) for code in table.columns_of(row) if row.judge)


def _table(table: PaperTable, measured: Measured) -> dict[str, Any]:
    rows = []
    for row in table.rows:
        statistic = row.statistic or table.statistic
        cells = {code: _cell(row, code, table, measured) for code in table.columns_of(row)}
        if table.average:
            interval = measured.interval(row.judge, cells, table.gold, statistic)
            cells[AVERAGE] = _average(cells, row.published.get(AVERAGE), *interval)
        rows.append({"label": row.label, "judge": row.judge, "statistic": statistic, "cells": cells})
    columns = [*table.languages, *([AVERAGE] if table.average else [])]
    return {"title": table.title, "gold": table.gold, "columns": columns, "rows": rows, "note": table.note}


def _cell(row: PaperRow, code: str, table: PaperTable, measured: Measured) -> dict[str, Any]:
    judge = row.judge and row.judge.replace(LANGUAGE, code)
    found = measured.figure(judge, code, table.gold, row.statistic or table.statistic)
    published = row.published[code]
    if found is None:
        return _beside(dict(ABSENT), published)
    return _beside(found[1] | {"run": found[0]}, published)


def _average(
    cells: Mapping[str, dict[str, Any]], published: float | None, low: float | None, high: float | None
) -> dict[str, Any]:
    """The mean over the row's languages; null, with the reason, where one of them has no value."""
    lacking = [code for code, cell in cells.items() if cell["value"] is None]
    mean: dict[str, Any] = {"value": None, "low": None, "high": None, "over": list(cells)}
    mean |= {count: sum(cell[count] for cell in cells.values()) for count in ("n", "n_unscored")}
    if lacking:
        return _beside(mean | {"reason": f"no value in {', '.join(lacking)}"}, published)
    mean |= {"value": fmean(cell["value"] for cell in cells.values()), "low": low, "high": high}
    return _beside(mean | ({"reason": NO_INTERVAL} if low is None else {}), published)


def _beside(figure: dict[str, Any], published: float | None) -> dict[str, Any]:
    both = published is not None and figure["value"] is not None
    return figure | {"published": published, "difference": figure["value"] - published if both else None}


def _figure(figure: PaperFigure, tokens: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Tokens a word by tokenizer and language: of parallel sentences, which say the same everywhere, else of records."""
    found: dict[tuple[str, str, str], Any] = {}
    for row in tokens:
        key = (row["source"], row["tokenizer"], row["language"])
        if found.setdefault(key, row["tokens_per_word"]) != row["tokens_per_word"]:
            raise DataError(f"{key[1]} is counted unlike in {key[2]} by two runs of data_prep.tokens; name one of them")
    source = "parallel" if any(kind == "parallel" for kind, _, _ in found) else "records"
    rows = [
        {
            "label": label,
            "tokenizer": name,
            "cells": {code: found.get((source, name, code), ABSENT) for code in figure.languages},
        }
        for label, name in figure.tokenizers.items()
    ]
    return {"title": figure.title, "source": source, "columns": figure.languages, "rows": rows, "note": figure.note}


def _missing(paper: Paper, tables: dict[str, Any], figure: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    """What is missing and how to make it; rows that the same commands make stand together."""
    places: dict[tuple[str, ...], dict[str, Any]] = {}
    data: dict[str, None] = {}
    for number, table in paper.tables.items():
        for row, built in zip(table.rows, tables[number]["rows"], strict=True):
            lacking = [code for code in table.columns_of(row) if built["cells"][code]["value"] is None]
            if not lacking:
                continue
            data |= dict.fromkeys(table.data)
            one = places.setdefault((*table.commands(row), row.judge or ""), {"rows": [], "languages": [], "notes": []})
            one["rows"].append(f"table {number}, {row.label}")
            one["languages"] += [code for code in lacking if code not in one["languages"]]
            one["notes"] += [note for note in (row.note, table.note) if note and note not in one["notes"]]
    if data:
        languages = list(dict.fromkeys(code for table in paper.tables.values() for code in table.languages))
        yield {"what": "the data", "languages": languages, "notes": [], "commands": shell(list(data), languages)}
    for (*commands, _), one in places.items():
        yield {
            "what": "; ".join(one["rows"]),
            "languages": one["languages"],
            "notes": one["notes"],
            "commands": shell(commands, one["languages"]),
        }
    if (
        paper.figure
        and figure
        and any(cell["value"] is None for row in figure["rows"] for cell in row["cells"].values())
    ):
        commands = shell([*paper.figure.data, paper.figure.command], paper.figure.languages)
        yield {"what": "the fertility figure", "languages": paper.figure.languages, "notes": [], "commands": commands}
