"""metrics.json of eval.leaderboard as tables."""

from typing import Any

from eval.agree_table import NOTHING, figure_text, number
from eval.markdown_table import markdown_table
from eval.ranks import LEVEL


def tables(metrics: dict[str, Any]) -> str:
    """For each judge the systems, their means by language and the tests over all; then the orders and notes.

    A table without rows is left out. The tests by language stand in metrics.json alone.
    """
    parts = []
    for judge, boards in metrics["leaderboards"].items():
        parts += [_systems(judge, boards["all"]), _by_language(judge, boards), _tests(judge, boards["all"])]
    parts += [_orders(metrics["orders"], "systems"), _orders(metrics["judge_orders"], "judges")]
    parts.append("\n".join(f"- {note}" for note in metrics["notes"]))
    return "\n\n".join(part for part in parts if part) + "\n"


def _systems(judge: str, board: dict[str, Any]) -> str:
    rows = []
    for entry in board["systems"]:
        place = NOTHING if entry["rank"] is None else f"{entry['rank']} ({entry['cluster']})"
        counts = [str(entry["mean"]["n"]), str(entry["mean"]["n_unscored"]), str(entry["n_items_people"])]
        means = [_figure(entry[name]) for name in ("mean", "corrected", "people")]
        rows.append([entry["system"], place, *counts, *means])
    heads = ["rank (cluster)", "n", "unscored", "prompts scored by people", "mean", "corrected mean", "people's mean"]
    return markdown_table([judge, *heads], rows)


def _by_language(judge: str, boards: dict[str, Any]) -> str:
    languages = list(boards["by_language"])
    if len(languages) < 2:
        return ""
    found = {
        code: {
            entry["system"]: f"{_figure(entry['mean'])} ({entry['cluster'] or NOTHING})" for entry in board["systems"]
        }
        for code, board in boards["by_language"].items()
    }
    rows = [
        [entry["system"], *(found[code].get(entry["system"], NOTHING) for code in languages)]
        for entry in boards["all"]["systems"]
    ]
    return markdown_table([f"{judge}: mean (cluster) by language", *languages], rows)


def _tests(judge: str, board: dict[str, Any]) -> str:
    rows = [
        [f"{row['a']} − {row['b']}", str(row["n"]), _figure(row["difference"])]
        + [number(row[name], 4) for name in ("p", "p_smallest", "p_holm")]
        for row in board["comparisons"]
    ]
    heads = ["prompts", "difference", "p", "smallest p", f"p (Holm; clusters at {LEVEL:g})"]
    return markdown_table([f"{judge}: on the same prompts", *heads], rows)


def _orders(orders: list[dict[str, Any]], of: str) -> str:
    rows = [
        [
            f"{row['a']}, {row['b']}",
            row["group"],
            str(row["kendall"]["n"]),
            _figure(row["kendall"]),
            _figure(row["spearman"]),
        ]
        for row in orders
    ]
    return markdown_table([f"order of {of} by", "language", of, "kendall", "spearman"], rows)


def _figure(figure: dict[str, Any] | None) -> str:
    return NOTHING if figure is None or figure["value"] is None else figure_text(figure)
