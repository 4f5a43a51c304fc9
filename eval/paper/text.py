"""The paper's tables in Markdown that reads well in a terminal too: each row measured, published, difference, n."""

from collections.abc import Iterator, Sequence
from typing import Any

from eval.agree_table import NOTHING, figure_text, number
from eval.markdown_table import markdown_table


def markdown(content: dict[str, Any]) -> str:
    """tables.md: every table, the fertility figure's values, what is missing with its commands, and the notes."""
    parts = [part for name, table in content["tables"].items() for part in _table(name, table)]
    if content["figure"]:
        figure = content["figure"]
        rows = [[row["label"], *(_value(row["cells"][code]) for code in figure["columns"])] for row in figure["rows"]]
        parts += [
            f"## {figure['title']}",
            f"Tokens a word, {figure['source']}.",
            markdown_table(["", *figure["columns"]], rows),
        ]
    parts += list(missing_parts(content["missing"]))
    parts += [f"- {note}" for note in content["notes"]]
    return "\n\n".join(parts) + "\n"


def counts(content: dict[str, Any]) -> str:
    """One line: how many of the tables' cells have a value."""
    cells = [
        cell
        for table in content["tables"].values()
        for row in table["rows"]
        for code, cell in row["cells"].items()
        if code in table["columns"] and "over" not in cell
    ]
    measured = sum(cell["value"] is not None for cell in cells)
    return f"{measured} of {len(cells)} cells of {len(content['tables'])} tables are measured"


def _table(name: str, table: dict[str, Any]) -> Iterator[str]:
    yield f"## Table {name}. {table['title']}"
    if table["note"]:
        yield table["note"]
    rows = []
    for row in table["rows"]:
        cells = [row["cells"].get(code) for code in table["columns"]]
        rows.append([row["label"], *(_value(cell) for cell in cells)])
        rows.append(["· paper", *(number(cell and cell["published"]) for cell in cells)])
        if any(cell and cell["value"] is not None for cell in cells):
            rows.append(["· difference", *(signed(cell and cell["difference"]) for cell in cells)])
            rows.append(["· n", *(str(cell["n"]) if cell else "" for cell in cells)])
    yield markdown_table(["", *table["columns"]], rows)


def missing_parts(missing: Sequence[dict[str, Any]]) -> Iterator[str]:
    """What is missing, each with the commands that make it."""
    if missing:
        yield "## Missing, and the commands that make it"
    for one in missing:
        notes = "".join(f"\n{note}" for note in one["notes"])
        commands = "\n".join(one["commands"])
        yield f"**{one['what']}** ({' '.join(one['languages'])}){notes}" + (
            f"\n```\n{commands}\n```" if commands else ""
        )


def _value(cell: dict[str, Any] | None) -> str:
    return "" if cell is None else NOTHING if cell["value"] is None else figure_text(cell)


def signed(value: float | None) -> str:
    """A difference: ``+.03``, ``-.08``; a dash where there is none."""
    return NOTHING if value is None else ("+" if round(value, 2) > 0 else "") + number(value)
