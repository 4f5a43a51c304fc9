"""Tables that read well in a terminal and are Markdown too."""

from collections.abc import Sequence


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table with padded columns: the first to the left, the others to the right; nothing without rows."""
    if not rows:
        return ""
    cells = [[" ".join(cell.replace("|", "\\|").split()) for cell in row] for row in (heads, *rows)]
    first, *others = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        [row[0].ljust(first), *(cell.rjust(width) for cell, width in zip(row[1:], others, strict=True))]
        for row in cells
    ]
    rule = ["-" * first, *("-" * (width - 1) + ":" for width in others)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (lines[0], rule, *lines[1:]))
