"""What configs/paper/cia/*.yaml hold: the paper's tables as published, which judge stands in each row, and the commands that make it."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from core.config import CommandConfig, load_yaml, validate
from core.errors import ConfigError

AVERAGE = "avg"
LANGUAGE = "{language}"
Statistic = Literal["kappa", "pearson", "spearman", "kendall", "pairwise_pearson"]


class PaperRow(CommandConfig):
    """One row as published. ``judge`` is the name in the predictions; ``{language}`` in it stands for the column's language.

    ``make`` are the commands that make the ``model`` (none for one that is only asked). A row without a judge is of the
    annotators.
    """

    label: str
    judge: str | None = None
    model: str | None = None
    make: list[str] = Field([])
    measure: list[str] | None = Field(None, description="in place of the table's")
    statistic: Statistic | None = Field(None, description="in place of the table's")
    published: dict[str, float]
    note: str | None = None


class PaperTable(CommandConfig):
    """One table of the paper: its columns are languages, and the mean over a row's languages where ``average`` is true."""

    title: str
    statistic: Statistic
    gold: Literal["score", "people"] = Field("score", description="a gold score, or the mean of people's scores")
    languages: list[str] = Field(min_length=1)
    average: bool = True
    data: list[str] = Field([], description="commands that make the files the others read")
    measure: list[str] = Field(description="commands that judge and measure; {judge} and {model} are the row's")
    rows: list[PaperRow] = Field(min_length=1)
    note: str | None = None

    @model_validator(mode="after")
    def _columns_are_known(self) -> "PaperTable":
        for row in self.rows:
            known = [*self.languages, *([AVERAGE] if self.average else [])]
            if unknown := [column for column in row.published if column not in known]:
                raise ConfigError(
                    f"{row.label}: published holds {', '.join(unknown)}; the columns are {', '.join(known)}"
                )
        return self

    def columns_of(self, row: PaperRow) -> list[str]:
        """The languages that the paper gives this row for."""
        return [code for code in self.languages if code in row.published]

    def commands(self, row: PaperRow) -> list[str]:
        """What makes and measures a row, in order; ``{language}`` stands for each language of the row."""
        found = [*row.make, *(self.measure if row.measure is None else row.measure)]
        return [line.replace("{judge}", row.judge or "").replace("{model}", row.model or "") for line in found]


class PaperFigure(CommandConfig):
    """The fertility figure: which tokenizers it shows, by the names that their runs of data_prep.tokens hold."""

    title: str
    languages: list[str] = Field(min_length=1)
    tokenizers: dict[str, str] = Field(min_length=1, description="label: name in tokens.json")
    data: list[str] = Field([])
    command: str
    note: str | None = None


class Paper(CommandConfig):
    """All tables by number, and the figure."""

    tables: dict[str, PaperTable]
    figure: PaperFigure | None


def read_paper(folder: str | Path) -> Paper:
    """Read table-*.yaml and fertility.yaml of a folder. Raises ConfigError where there is none, or one is not right."""
    folder = Path(folder)
    files = {path: re.fullmatch(r"table-(\w+)", path.stem) for path in sorted(folder.glob("*.yaml"))}
    tables = {name[1]: validate(PaperTable, load_yaml(path), path) for path, name in files.items() if name}
    if not tables:
        raise ConfigError(
            f"{folder} holds no table-*.yaml; name a folder of a paper's tables, such as configs/paper/cia"
        )
    figure = folder / "fertility.yaml"
    return Paper(tables=tables, figure=validate(PaperFigure, load_yaml(figure), figure) if figure in files else None)


def shell(commands: Sequence[str], languages: Sequence[str]) -> list[str]:
    """Commands as shell lines: neighbours that name a language in one loop; what is finished already is passed over."""
    lines: list[str] = []
    for looped, group in groupby(commands, key=lambda line: LANGUAGE in line):
        body = [f"{line} --if_exists resume" for line in group]
        lines += list(_loop(body, languages)) if looped else body
    return lines


def _loop(body: list[str], languages: Sequence[str]) -> Iterator[str]:
    if len(languages) == 1:
        yield from (line.replace(LANGUAGE, languages[0]) for line in body)
        return
    yield f"for l in {' '.join(languages)}; do"
    yield from (f"  {line.replace(LANGUAGE, '$l')}" for line in body)
    yield "done"
