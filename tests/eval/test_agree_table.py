"""Numbers and figures as the tables of eval.agree print them."""

import pytest

from eval.agree_table import figure_text, number


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.638, ".64"), (-0.08, "-.08"), (1.0, "1.00"), (-0.001, ".00"), (10.5, "10.50"), (0.0, ".00"), (None, "–")],
)
def test_numbers_as_printed(value: float | None, text: str) -> None:
    assert number(value) == text


def test_figures_as_printed() -> None:
    assert figure_text({"value": 0.64, "low": 0.6, "high": 0.68}) == ".64 [.60, .68]"
    assert figure_text({"value": 0.64, "low": None, "high": None}) == ".64"
