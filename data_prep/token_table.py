"""What tokens.json and tokens.csv hold, and the table that data_prep.tokens prints."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core import jsonl
from core.agreement import Figure
from core.length import VERDICT_TOKENS
from data_prep.fertility import Fertility
from data_prep.prompt_lengths import PromptLengths

_NOTHING = "–"
# Ids of refused records that tokens.json names.
_IDS_SHOWN = 20


@dataclass(frozen=True)
class Cost:
    """One tokenizer on one language's texts, which are of judge records or of parallel sentences; the latter have no prompts."""

    tokenizer: str
    language: str
    source: str
    fertility: Fertility
    prompts: PromptLengths | None


def write_json(costs: Sequence[Cost], max_length: int, path: Path) -> None:
    """tokens.json: the policy, then one row a tokenizer, kind of text and language."""
    policy = {"max_length": max_length, "budget": max_length - VERDICT_TOKENS}
    jsonl.write_json({"policy": policy, "rows": [_as_json(cost) for cost in costs]}, path)


def write_csv(costs: Sequence[Cost], path: Path) -> None:
    """tokens.csv: the same rows, flat; an empty cell is no value."""
    rows = [_flat(cost) for cost in costs]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    with jsonl.atomic(path) as handle:
        handle.write(text.getvalue())


def printed(costs: Sequence[Cost], max_length: int) -> str:
    """A Markdown table that reads well in a terminal; the limits are those of the first row with prompts."""
    limits = next((list(cost.prompts.over) for cost in costs if cost.prompts), [])
    heads = ["tokenizer", "language", "of", "texts", "tokens/word", "tokens/character"]
    prompts = ["median prompt", "p95", "longest", *(f">{limit}" for limit in limits), "shortened", "refused"]
    rows = [_row(cost) for cost in costs]
    if limits:
        heads += prompts
    notes = [f"Shortened and refused: prompts over {max_length} − {VERDICT_TOKENS} tokens."] if limits else []
    reasons = dict.fromkeys(
        f"{cost.language}: {figure.reason}." for cost in costs for figure in _figures(cost).values() if figure.reason
    )
    return "\n".join([_table(heads, [row[: len(heads)] for row in rows]), "", *notes, *reasons])


def _row(cost: Cost) -> list[str]:
    figures = _figures(cost).values()
    row = [cost.tokenizer, cost.language, cost.source, str(cost.fertility.texts), *(_figure(f) for f in figures)]
    prompts = cost.prompts
    if prompts is None:
        return row + [_NOTHING] * 20
    shares = [f"{100 * share:.1f} %" for share in prompts.over.values()]
    policy = [f"{100 * len(ids) / prompts.n:.1f} %" for ids in (prompts.shortened, prompts.refused)]
    return [*row, *(str(prompts.quantiles[level]) for level in (0.5, 0.95, 1.0)), *shares, *policy]


def _figures(cost: Cost) -> dict[str, Figure]:
    return {
        "tokens_per_word": cost.fertility.tokens_per_word,
        "tokens_per_character": cost.fertility.tokens_per_character,
    }


def _figure(figure: Figure) -> str:
    if figure.value is None:
        return _NOTHING
    interval = "" if figure.low is None else f" [{figure.low:.2f}, {figure.high:.2f}]"
    return f"{figure.value:.2f}{interval}"


def _as_json(cost: Cost) -> dict[str, Any]:
    names = {"tokenizer": cost.tokenizer, "language": cost.language, "source": cost.source}
    figures = {name: figure.to_json() for name, figure in _figures(cost).items()}
    prompts = cost.prompts
    if prompts is None:
        return {**names, "texts": cost.fertility.texts, **figures, "prompts": None}
    policy = {"shortened": len(prompts.shortened), "refused": len(prompts.refused)}
    shown = {
        "n": prompts.n,
        "quantiles": {f"{level:g}": length for level, length in prompts.quantiles.items()},
        "share_over": {str(limit): share for limit, share in prompts.over.items()},
        **policy,
        "refused_ids": prompts.refused[:_IDS_SHOWN],
    }
    return {**names, "texts": cost.fertility.texts, **figures, "prompts": shown}


def _flat(cost: Cost) -> dict[str, Any]:
    row: dict[str, Any] = {"tokenizer": cost.tokenizer, "language": cost.language, "source": cost.source}
    row["texts"] = cost.fertility.texts
    for name, figure in _figures(cost).items():
        row |= {name: figure.value, f"{name}_low": figure.low, f"{name}_high": figure.high}
    if cost.prompts is not None:
        row["prompts"] = cost.prompts.n
        row |= {f"prompt_p{100 * level:g}": length for level, length in cost.prompts.quantiles.items()}
        row |= {f"share_over_{limit}": share for limit, share in cost.prompts.over.items()}
        row |= {"shortened": len(cost.prompts.shortened), "refused": len(cost.prompts.refused)}
    return row


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = [heads, *rows]
    widths = [max(3, *(len(row[at]) for row in cells)) for at in range(len(heads))]
    lines = [
        [cell.ljust(w) if at < 3 else cell.rjust(w) for at, (cell, w) in enumerate(zip(row, widths, strict=True))]
        for row in cells
    ]
    rule = ["-" * w if at < 3 else "-" * (w - 1) + ":" for at, w in enumerate(widths)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (lines[0], rule, *lines[1:]))
