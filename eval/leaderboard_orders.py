"""Whether two judges, or a judge and people, put systems in the same order; and two test sets the judges."""

import json
import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from core.errors import ConfigError, DataError
from core.rank_orders import OrderAgreement, ScoredTwice, order_agreement, order_agreement_of_values, undefined_order
from eval.leaderboard_rows import SystemRow

PEOPLE, GOLD = "people", "gold"
STATISTICS = ("kappa", "pearson")


def system_orders(judges: Mapping[str, Sequence[SystemRow]], resamples: int, seed: int) -> list[dict[str, Any]]:
    """Rank correlations of the orders of systems by each two judges, people and gold, all and by language.

    Each two are compared on the responses that both scored; ``n_unscored`` of ``n_rows`` common ones lack a score. Intervals
    are over item_ids.
    """
    if clash := [name for name in judges if name in (PEOPLE, GOLD)]:
        raise DataError(
            f"a judge is named {clash[0]}, which names another order here; judge under another --judge name"
        )
    sides = {name: {row.id: (row, row.score) for row in rows} for name, rows in judges.items()}
    every = {row.id: row for rows in judges.values() for row in rows}
    for name in (PEOPLE, GOLD):
        given = {one: (row, value) for one, row in every.items() if (value := getattr(row, name)) is not None}
        if given and given != sides.get(PEOPLE):  # gold may be the mean of people's scores
            sides[name] = given
    languages = sorted({row.language for row in every.values()})
    groups = ["all", *(languages if len(languages) > 1 else [])]
    return [_order_row(a, b, group, sides, resamples, seed) for group in groups for a, b in combinations(sides, 2)]


def _order_row(a: str, b: str, group: str, sides: Mapping[str, Any], resamples: int, seed: int) -> dict[str, Any]:
    common = [
        (row, value, sides[b][one][1])
        for one, (row, value) in sides[a].items()
        if one in sides[b] and group in ("all", row.language)
    ]
    scored = [
        ScoredTwice(row.system, row.item_id, float(x), float(y))
        for row, x, y in common
        if x is not None and y is not None
    ]
    counts = {"n_rows": len(common), "n_unscored": len(common) - len(scored)}
    return {"a": a, "b": b, "group": group, **counts, **_figures(order_agreement(scored, resamples, seed))}


class Order(NamedTuple):
    """A named order of judges: by group ("all" or a language) and judge, the figures that may order them."""

    name: str
    groups: dict[str, dict[str, dict[str, float | None]]]


def read_order(argument: str) -> Order:
    """An order from ``NAME=FILE``: metrics.json of eval.agree, or a JSON object {judge: number}.

    Raises ConfigError for another form, DataError for a file that is neither.
    """
    name, mark, path = argument.partition("=")
    if not (name and mark and path):
        raise ConfigError(f"orders: {argument!r} is not NAME=FILE; write e.g. recon=runs/agree/recon/metrics.json")
    try:
        values = json.loads(Path(path).read_text(encoding="utf-8-sig"), object_pairs_hook=partial(_once, path))
    except OSError as error:
        raise DataError(f"orders: {path} cannot be read ({error.strerror}); name an existing file") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"orders: {path} is not JSON ({error}); name metrics.json of eval.agree") from None
    try:
        return Order(name, _agree_groups(values["judges"]) if "judges" in values else {"all": _plain_group(values)})
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        raise DataError(
            f"orders: {path} is neither metrics.json of eval.agree nor an object of judge: number; name one of these"
        ) from None


def _once(path: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, of which Python would keep the last of two values of one name."""
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"orders: {path} names {twice} twice; keep one of them")
    return values


def judge_orders(orders: Sequence[Order]) -> list[dict[str, Any]]:
    """Rank correlations of each two orders of the judges that both hold, in the groups that both hold.

    Judges are ordered by kappa, or by Pearson where not all of them have a kappa. Raises DataError where two orders
    share fewer than two judges.
    """
    rows = []
    for a, b in combinations(orders, 2):
        for group in (group for group in a.groups if group in b.groups):
            names = [name for name in a.groups[group] if name in b.groups[group]]
            if len(names) < 2 and group == "all":
                raise DataError(
                    f"orders {a.name} and {b.name} share {len(names)} judges ({', '.join(a.groups[group])}; "
                    f"{', '.join(b.groups[group])}); give the judges the same names in both"
                )
            by = [_statistic(order.groups[group], names) for order in (a, b)]
            values = [[order.groups[group][n].get(s or "") for n in names] for order, s in zip((a, b), by, strict=True)]
            x, y = ([value for value in side if value is not None] for side in values)
            undefined = undefined_order(len(names), "some judges have neither kappa nor Pearson")
            agreed = undefined if None in by else order_agreement_of_values(x, y)
            rows.append({"a": a.name, "b": b.name, "group": group, "by": by, "judges": names, **_figures(agreed)})
    return rows


def _statistic(group: Mapping[str, Mapping[str, float | None]], names: Sequence[str]) -> str | None:
    """The first figure that all the judges have."""
    return next((s for s in ("value", *STATISTICS) if all(group[name].get(s) is not None for name in names)), None)


def _agree_groups(judges: Mapping[str, Any]) -> dict[str, dict[str, dict[str, float | None]]]:
    groups: dict[str, dict[str, dict[str, float | None]]] = {}
    for name, entry in judges.items():
        for group, figures in {"all": entry["all"], **entry["by_language"]}.items():
            groups.setdefault(group, {})[name] = {s: _finite(figures[s]["value"]) for s in STATISTICS}
    return groups or {"all": {}}


def _plain_group(values: Mapping[str, Any]) -> dict[str, dict[str, float | None]]:
    return {name: {"value": _finite(value + 0.0)} for name, value in values.items()}


def _finite(value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise ValueError(value)
    return value


def _figures(agreed: OrderAgreement) -> dict[str, Any]:
    return {"kendall": agreed.kendall.to_json(), "spearman": agreed.spearman.to_json()}
