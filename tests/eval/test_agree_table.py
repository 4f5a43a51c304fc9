"""Numbers and figures as the tables of eval.agree print them."""

from pathlib import Path
from typing import Any

import pytest

from eval.agree_table import FIGURES, figure_text, number, tables
from tests.eval.predictions_for_tests import GOLD, JUDGE, rows, run


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.638, ".64"), (-0.08, "-.08"), (1.0, "1.00"), (-0.001, ".00"), (10.5, "10.50"), (0.0, ".00"), (None, "–")],
)
def test_numbers_as_printed(value: float | None, text: str) -> None:
    assert number(value) == text


def test_figures_as_printed() -> None:
    assert figure_text({"value": 0.64, "low": 0.6, "high": 0.68}) == ".64 [.60, .68]"
    assert figure_text({"value": 0.64, "low": None, "high": None}) == ".64"


def figure(value: float | None, reason: str | None = None) -> dict[str, Any]:
    row = {"value": value, "low": None, "high": None, "n": 3, "n_unscored": 0}
    return row | ({"reason": reason} if reason else {})


def test_metrics_of_an_earlier_version_are_still_a_table() -> None:
    figures = {name: figure(0.5) for name in (*FIGURES, "generosity")}
    entry = {"all": {**figures, "n": 3, "n_unscored": 0, "length_control": None}, "by_language": {}}
    compared = {"a": "j", "b": "k", "statistic": "kappa", "difference": figure(0.1), "p": 0.01, "p_smallest": 0.001}
    metrics = {
        "judges": {"j": entry},
        "baselines": {},
        "comparisons": [{**compared, "n": 3}],
        "notes": ["a note"],
    }
    text = tables(metrics)
    assert [line.strip("| ").split(" | ")[0].strip() for line in text.splitlines() if line.startswith("| j")] == [
        "judge",
        "j",
        "j − k",
    ]
    assert "ranked" not in text
    assert text.endswith("- a note\n")


def test_tables_stand_in_the_order_in_which_they_are_read(tmp_path: Path) -> None:
    hindi = [row.model_copy(update={"id": f"hi{row.id}", "language": "hi"}) for row in rows(JUDGE, GOLD)]
    judges = [rows(JUDGE, GOLD) + hindi, [row.model_copy(update={"judge": "k"}) for row in rows(JUDGE, GOLD) + hindi]]
    run(tmp_path, *judges)
    text = (tmp_path / "out" / "table.md").read_text()
    heads = [block.split("|")[1].strip() for block in text.split("\n\n") if block.startswith("|")]
    assert heads == [
        "judge",
        "ranked on the same items",
        "compared on the same items",
        "kappa by language",
        "difference (* p, Holm ≤ .05)",
        "one item in two languages",
        "score − gold",
    ]
    # Both languages have the same rows, so that their mean is .68 too.
    by_language = next(line for line in text.split("kappa by language")[1].splitlines() if line.startswith("| j"))
    assert [cell.split()[0] for cell in by_language.strip("| ").split(" | ")[1:] if cell.strip()] == [".68"] * 3
    generosity = next(line for line in text.split("score − gold")[1].splitlines() if line.startswith("| j"))
    # Of ten rows two are one below gold and three one above.
    assert [cell.strip() for cell in generosity.strip("| ").split(" | ")[2:]] == [".00", ".20", ".30", ".00"]


def test_a_mean_over_few_of_the_languages_says_so(tmp_path: Path) -> None:
    one_label = [row.model_copy(update={"id": f"hi{row.id}", "language": "hi"}) for row in rows([3] * 3, [3] * 3)]
    run(tmp_path, rows(JUDGE, GOLD) + one_label)
    line = next(
        line for line in (tmp_path / "out" / "table.md").read_text().split("by language")[1].splitlines() if "j" in line
    )
    assert line.rstrip(" |").endswith("(of 1)")
