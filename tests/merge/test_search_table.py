"""The lines that a search ends with, for verdicts written down here."""

from merge.search_table import table
from merge.selection import compare, optimism
from tests.merge.test_selection import LANGUAGES, rows


def test_what_a_search_says_at_its_end() -> None:
    """fr is all wrong under uniform weights and right under the chosen ones, but only on the half that chose."""
    uniform = [*rows("1155", "1155"), *rows("1155", "1515", "fr")]
    chosen = [*rows("1155", "1155"), *rows("1155", "1155", "fr")]
    search, gained = compare(uniform, chosen, LANGUAGES, "mean", 200, 0)
    held_out, lost = compare(uniform, uniform, LANGUAGES, "mean", 200, 0)
    metrics = {
        "objective": "mean",
        "evaluations": 5,
        "chosen": {"number": 3, "weights": {"hi": 0.4, "fr": 0.6}, "densities": {"hi": 0.5, "fr": 0.7}},
        "halves": {"search": search, "held_out": held_out},
        "optimism": optimism(gained, lost).to_json(),
    }
    *lines, verdict, gain, flattery = table(metrics).splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:-1]]
    assert [row[:3] for row in cells[:3]] == [["search", "hi", "4"], ["search", "fr", "4"], ["search", "mean", "8"]]
    assert cells[0][3:6] == ["1.000 [1.000, 1.000]"] * 2 + ["0.000 [0.000, 0.000]"]
    assert cells[2][3:5] == ["0.500", "1.000"]
    assert cells[5] == ["held-out", "mean", "8", "0.500", "0.500", "0.000 [0.000, 0.000]", ""]
    assert verdict == "chosen of 5: number 3, weights hi 0.4, fr 0.6; densities hi 0.5, fr 0.7"
    assert gain == "gain 0.500 on the half that chose, 0.000 on the half held out"
    assert flattery.startswith("optimism 0.500 [")
    kept = {**metrics, "chosen": {"number": 0, "weights": {"hi": 0.5, "fr": 0.5}, "densities": None}}
    assert table(kept).splitlines()[-1] == "no weights were better than uniform ones"
