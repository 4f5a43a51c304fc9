"""eval.markdown_table: a cell stays in its column, whatever a judge is called."""

from eval.markdown_table import markdown_table


def test_a_name_cannot_break_the_table() -> None:
    table = markdown_table(["judge", "n"], [["a|b\nc", "1"]])
    assert table.splitlines() == ["| judge  |   n |", "| ------ | --: |", r"| a\|b c |   1 |"]
