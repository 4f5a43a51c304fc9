"""Rank the systems that wrote the responses, by one judge or several, with intervals and tests.

Run as:
    python -m eval.leaderboard --predictions runs/judged/predictions.jsonl --records records.jsonl --output runs/leaderboard
    python -m eval.leaderboard --orders recon=runs/agree/recon/metrics.json wild=runs/agree/wild/metrics.json --output runs/orders

Writes metrics.json and table.md, and prints the table. Where records hold human_scores, a system's mean is also corrected by
them. With --orders, the judges' own order on two test sets is compared too, with or without predictions.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator

from core.config import CommandConfig, IfExists, run_command
from core.errors import ConfigError
from core.jsonl import atomic, write_json
from core.progress import say, track
from core.records import read_records
from core.run import Run
from eval.judged import judged_records, pair_with_records, read_judges
from eval.leaderboard_board import board
from eval.leaderboard_orders import judge_orders, read_order, system_orders
from eval.leaderboard_rows import SystemRow, system_rows
from eval.leaderboard_table import tables

# Below this many human-scored prompts a percentile interval is too narrow by some percent (simulated; see the README).
FEW_ITEMS = 30


class LeaderboardConfig(CommandConfig):
    """Fields of eval.leaderboard."""

    predictions: list[Path] = Field([], description="predictions.jsonl of one or more judges")
    output: Path = Field(description="run folder to make")
    if_exists: IfExists = Field("fail", description="what to do with an output folder that exists")
    records: list[Path] = Field([], description="the records that were judged: for systems, gold and human scores")
    orders: list[str] = Field(
        [], description="NAME=FILE of two or more orders of judges: metrics.json of eval.agree, or {judge: number}"
    )
    resamples: int = Field(10_000, ge=1, description="bootstrap resamples and permutations")
    seed: int = Field(42, description="of resamples and permutations")

    @model_validator(mode="after")
    def _something_to_rank(self) -> Self:
        if not self.predictions and not self.orders:
            raise ConfigError("there is nothing to rank; pass --predictions, or two or more --orders")
        if len(self.orders) == 1:
            raise ConfigError("one order compares with nothing; pass two or more --orders")
        names = [order.partition("=")[0] for order in self.orders]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ConfigError(f"orders: {twice[0]} is named twice; give each its own name")
        return self


def main(config: LeaderboardConfig) -> None:
    """Rank the systems of every judge and compare the orders."""
    orders = [read_order(order) for order in config.orders]
    records = [record for path in config.records for record in read_records(path)]
    paired = pair_with_records(read_judges(config.predictions), records)
    judges = system_rows(paired)
    compared = judge_orders(orders)
    notes = notes_on(judges)
    if unjudged := len(records) - len(judged_records(paired)):
        notes.append(f"{unjudged} of {len(records)} records were judged by no judge")
    files = [Path(order.partition("=")[2]) for order in config.orders]
    inputs = [*config.predictions, *config.records, *files]
    with Run(config.output, "eval.leaderboard", config, inputs, config.if_exists, config.seed) as run:
        metrics = {
            "leaderboards": measure(judges, config.resamples, config.seed),
            "orders": system_orders(judges, config.resamples, config.seed),
            "judge_orders": compared,
            "notes": notes,
        }
        write_json(metrics, run.path / "metrics.json")
        table = tables(metrics)
        with atomic(run.path / "table.md") as handle:
            handle.write(table)
    say(table)


def measure(judges: Mapping[str, Sequence[SystemRow]], resamples: int, seed: int) -> dict[str, Any]:
    """{judge: {"all": board, "by_language": {code: board}}}."""
    groups = [
        (judge, code, [row for row in rows if code in (None, row.language)])
        for judge, rows in judges.items()
        for code in (None, *sorted({row.language for row in rows}))
    ]
    boards: dict[str, Any] = {judge: {"all": None, "by_language": {}} for judge in judges}
    for judge, code, rows in track(groups, len(groups), "leaderboards"):
        if code is None:
            boards[judge]["all"] = board(rows, resamples, seed)
        else:
            boards[judge]["by_language"][code] = board(rows, resamples, seed)
    return boards


def notes_on(judges: Mapping[str, Sequence[SystemRow]]) -> list[str]:
    """What a reader must know of each judge's rows: one system, single rows, unequal prompts, few human scores."""
    notes = []
    for judge, rows in judges.items():
        prompts: dict[str, set[tuple[str, str]]] = {}
        people: dict[str, set[str]] = {}
        for row in rows:
            prompts.setdefault(row.system, set()).add((row.item_id, row.language))
            people.setdefault(row.system, set()).update([row.item_id] if row.people is not None else [])
        if len(prompts) == 1:
            notes.append(f"{judge}: one system ({rows[0].system}), so nothing to compare")
        if single := [system for system, found in prompts.items() if len({item for item, _ in found}) == 1]:
            notes.append(
                f"{judge}: {', '.join(single)} answered one prompt: no interval, and no test can tell it apart"
            )
        if len({frozenset(found) for found in prompts.values()}) > 1:
            least, most = min(map(len, prompts.values())), max(map(len, prompts.values()))
            notes.append(
                f"{judge}: systems answered unequal prompts ({least} to {most}), so their means are over unequal prompts; "
                "the tests are on common ones"
            )
        if few := [f"{system} {len(found)}" for system, found in people.items() if 1 < len(found) < FEW_ITEMS]:
            notes.append(
                f"{judge}: fewer than {FEW_ITEMS} prompts scored by people ({', '.join(few)}): intervals too narrow"
            )
    return notes


if __name__ == "__main__":
    run_command(main, LeaderboardConfig)
