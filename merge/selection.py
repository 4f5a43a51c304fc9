"""What a chosen recipe gains over uniform weights, on the half that it was chosen on and on the half held out.

The gain on the search half is the greatest of many noisy ones, so it flatters; what it loses on the held-out half is the
optimism of the choice (Cawley and Talbot 2010, JMLR 11).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from core.agreement import Figure, figures, place_unscored
from core.bootstrap import Clusters, Floats
from core.contingency import Tables, kappa
from core.paired import paired_difference
from core.records import Prediction

Objective = Literal["mean", "worst"]
_LEVELS = np.arange(1.0, 6.0)
_CELLS = 25


class Gain(NamedTuple):
    """The objective of the chosen recipe minus that of uniform weights, and its bootstrap draws."""

    figure: Figure
    draws: Floats


def language_kappas(
    rows: Sequence[Prediction], languages: Sequence[str], resamples: int, seed: int
) -> dict[str, Figure]:
    """Linear kappa of each language, unscored verdicts placed farthest from gold, by language."""
    kappas = {}
    for language in languages:
        gold, scores, items = _columns(rows, language)
        kappas[language] = figures(gold, scores, ["kappa"], items, resamples, seed)["kappa"]
    return kappas


def objective_value(kappas: Mapping[str, Figure], objective: Objective) -> float | None:
    """The mean or the least kappa over the languages; None where one has none."""
    values = [figure.value for figure in kappas.values()]
    defined = [value for value in values if value is not None]
    if len(defined) < len(values):
        return None
    return min(defined) if objective == "worst" else sum(defined) / len(defined)


def compare(
    uniform: Sequence[Prediction],
    chosen: Sequence[Prediction],
    languages: Sequence[str],
    objective: Objective,
    resamples: int,
    seed: int,
) -> tuple[dict[str, Any], Gain]:
    """Both recipes' verdicts on one half: figures, paired differences (pooled and by language), and the gain."""
    sides = {}
    for name, rows in (("uniform", uniform), ("chosen", chosen)):
        kappas = language_kappas(rows, languages, resamples, seed)
        sides[name] = {
            "objective": objective_value(kappas, objective),
            "by_language": {language: figure.to_json() for language, figure in kappas.items()},
        }
    gained = gain(uniform, chosen, languages, objective, resamples, seed)
    differences = {language: _difference(uniform, chosen, language, resamples, seed) for language in languages}
    pooled = _difference(uniform, chosen, None, resamples, seed)
    compared = {**sides, "gain": gained.figure.to_json(), "difference": {"all": pooled, "by_language": differences}}
    return compared, gained


def gain(
    uniform: Sequence[Prediction],
    chosen: Sequence[Prediction],
    languages: Sequence[str],
    objective: Objective,
    resamples: int,
    seed: int,
) -> Gain:
    """The gain in the objective. An item's verdicts in all languages and by both recipes are resampled together."""
    half = len(languages) * _CELLS
    cells = [_cells(rows, languages) for rows in (uniform, chosen)]
    drawn_from = Clusters.from_rows(
        np.stack([cells[0], cells[1] + half], axis=1), [row.item_id for row in uniform], 2 * half
    )

    def value(tables: Floats) -> Floats:
        before, after = (_objectives(part, len(languages), objective) for part in (tables[:half], tables[half:]))
        return after - before

    rng = np.random.default_rng(seed)
    draws = np.concatenate([value(tables) for tables in drawn_from.resample(resamples, rng)])
    unscored = sum(a.score is None or b.score is None for a, b in zip(uniform, chosen, strict=True))
    observed = value(drawn_from.observed)
    reason = "a language has no kappa" if np.isnan(observed[0]) else None
    return Gain(Figure.from_draws(observed, [draws], reason, len(uniform), unscored), draws)


def optimism(search: Gain, held_out: Gain) -> Figure:
    """The gain on the search half minus that on the held-out half; the halves share no item, so their draws are independent.

    ``n`` and ``n_unscored`` are those of both.
    """
    values = [search.figure.value, held_out.figure.value]
    defined = [value for value in values if value is not None]
    reason = None if len(defined) == len(values) else "a half has no gain"
    observed = np.array([defined[0] - defined[1]]) if reason is None else np.array([np.nan])
    n, unscored = (getattr(search.figure, name) + getattr(held_out.figure, name) for name in ("n", "n_unscored"))
    return Figure.from_draws(observed, [search.draws - held_out.draws], reason, n, unscored)


def _columns(rows: Sequence[Prediction], language: str | None) -> tuple[list[float], list[int | None], list[str]]:
    """Gold, scores and item ids of one language, or of all."""
    there = [row for row in rows if language is None or row.language == language]
    return [_gold(row) for row in there], [row.score for row in there], [row.item_id for row in there]


def _difference(
    uniform: Sequence[Prediction], chosen: Sequence[Prediction], language: str | None, resamples: int, seed: int
) -> dict[str, Any]:
    gold, before, items = _columns(uniform, language)
    _, after, _ = _columns(chosen, language)
    return paired_difference(gold, after, before, items, resamples=resamples, seed=seed).to_json()


def _cells(rows: Sequence[Prediction], languages: Sequence[str]) -> Any:
    """For each row its cell in the flat tables of languages by gold by score."""
    placed = place_unscored([_gold(row) for row in rows], [row.score for row in rows])
    at = {language: number for number, language in enumerate(languages)}
    return np.array(
        [
            at[row.language] * _CELLS + (int(_gold(row)) - 1) * 5 + score - 1
            for row, score in zip(rows, placed, strict=True)
        ]
    )


def _objectives(tables: Floats, languages: int, objective: Objective) -> Floats:
    """The objective of each of B resamples from flat tables [languages · 25, B]; NaN where a language has no kappa."""
    kappas = np.stack(
        [kappa(Tables(part.reshape(5, 5, -1), _LEVELS)) for part in np.split(tables, languages)]
    )  # [languages, B]
    return kappas.min(axis=0) if objective == "worst" else kappas.mean(axis=0)


def _gold(row: Prediction) -> float:
    assert row.gold is not None  # records without are refused before the search
    return row.gold
