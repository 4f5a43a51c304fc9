"""metrics.json of eval.summaries as the tests of tables and report need it: whole, small, its values chosen by hand."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from core.run import Run

STRENGTHS = (-0.1, 0.0, 0.1)
RULES = ("oracle", "nested", "leave_one_language_out", "unsupervised")


def figure(value: float | None, spread: float | None = 0.1, n: int = 40, reason: str | None = None) -> dict[str, Any]:
    """A figure in its interval of value ± spread; without a value its reason."""
    if value is None:
        return {
            "value": None,
            "low": None,
            "high": None,
            "n": n,
            "n_unscored": 0,
            "reason": reason or "no human scores",
        }
    low, high = (None, None) if spread is None else (value - spread, value + spread)
    return {"value": value, "low": low, "high": high, "n": n, "n_unscored": 0}


def point(
    layers: list[int] | None, strength: float, pearson: float | None, gain: float | None = None, **changes: Any
) -> dict[str, Any]:
    names = ("spearman", "kendall", "within_system", "length_partial")
    others = {name: figure(None if pearson is None else pearson / 2) for name in names}
    score = {"mean_score": -3 + strength, "moved_sd": strength * 10, "broken": False, "n_unscored": 0, "gain": gain}
    return {"layers": layers, "strength": strength, **score, "pearson": figure(pearson), **others} | changes


def selected(
    value: float,
    unsteered: float,
    null: Sequence[float] | None = None,
    at: Sequence[tuple[list[int], float, float]] = (),
) -> dict[str, Any]:
    """What one rule selects: Pearson ``value``; with ``null`` the gains of null draws, of which as many as reach its own."""
    gain = value - unsteered
    beside = null and {
        "draws": len(null),
        "gains": list(null),
        "mean_gain": sum(null) / len(null),
        "p_value": (1 + sum(other >= gain for other in null)) / (1 + len(null)),
        "smallest_p": 1 / (1 + len(null)),
    }
    return {
        "chosen": [dict(zip(("layers", "strength", "share"), one, strict=True)) for one in at or [([0, 1], -0.1, 1.0)]],
        "pearson": figure(value),
        "gain": figure(gain, 0.05),
        "relative_improvement": gain / abs(unsteered) if unsteered else None,
        "null": beside or None,
        "note": "",
    }


def cell(
    language: str = "hi",
    dimension: str = "coherence",
    pearson: Mapping[float, float] | None = None,
    null: Sequence[float] | None = (0.01, 0.02, 0.06),
    **changes: Any,
) -> dict[str, Any]:
    """A cell of two layer sets. Unsteered Pearson .20; at −.1 it is .30 on both layers, at +.1 it is .10; a fifth of this on one.

    The oracle's gain of .10 beats all three null draws; nested selection keeps .05 of it.
    """
    values = pearson or {-0.1: 0.30, 0.0: 0.20, 0.1: 0.10}
    unsteered = values[0.0]
    steered = [
        point(layers, strength, unsteered + share * (value - unsteered), share * (value - unsteered))
        for layers, share in (([0, 1], 1.0), ([1], 0.2))
        for strength, value in values.items()
        if strength
    ]
    best = max(values.values())
    either = [([0, 1], -0.1, 0.8), ([1], 0.1, 0.2)]
    chosen = {
        "oracle": selected(best, unsteered, null),
        "nested": selected((best + unsteered) / 2, unsteered, null, either),
        "leave_one_language_out": {"reason": "one language only"},
        "unsupervised": selected(unsteered - 0.02, unsteered),
        "development": [
            {"size": size, "repeats": 100, "n_test": 40 - size, "gain": {"value": gain, "low": gain - 0.1, "high": gain + 0.1}}
            for size, gain in ((5, -0.02), (10, 0.01), (20, 0.04))
        ],
    }  # fmt: skip
    whole: dict[str, Any] = {
        "language": language,
        "dimension": dimension,
        "metric": "gptscore",
        "model": "models/pico",
        "pivot": "en",
        "method": "vector",
        "scale": "relative",
        "n": 42,
        "n_human": 40,
        "correlation": "rows pooled",
        "points": [point(None, 0.0, unsteered), *steered],
        "null_draws_left_out": 0,
        "ceiling": figure(0.5),
        "selection": chosen,
        "baselines": {name: {kind: figure(0.1) for kind in ("pearson", "spearman", "kendall")} for name in ("length", "chrf")},
    }  # fmt: skip
    return whole | changes


def unsteered_cell(language: str = "ja", **changes: Any) -> dict[str, Any]:
    """A cell without people's scores and without directions."""
    nothing = {rule: {"reason": "no human scores"} for rule in RULES} | {"development": []}
    settings = {"points": [point(None, 0.0, None)], "ceiling": figure(None), "selection": nothing, "n_human": 0}
    baselines = {
        name: {kind: figure(None) for kind in ("pearson", "spearman", "kendall")} for name in ("length", "chrf")
    }
    plain: dict[str, Any] = {"pivot": None, "method": None, "scale": None, "baselines": baselines, **settings}
    return cell(language, **plain | changes)


def strength_rows(cells: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows over cells of one metric, model and method: at −.1 on both layers, gains of .1 are half of .2, and so on."""
    first = next((one for one in cells if one["method"]), None)
    if first is None:
        return []
    shared = {name: first[name] for name in ("metric", "model", "pivot", "method", "scale")}
    means = ((0.1, 0.5, 1.0), (-0.1, -0.5, 0.0), (0.02, 0.1, 1.0), (-0.02, -0.1, 0.0))
    places = (([0, 1], -0.1), ([0, 1], 0.1), ([1], -0.1), ([1], 0.1))
    return [
        {**shared, "layers": layers, "strength": strength, "cells": len(cells), "broken": 0}
        | {"mean_gain": gain, "mean_relative_improvement": relative, "improved": share}
        for (layers, strength), (gain, relative, share) in zip(places, means, strict=True)
    ]


def metrics(*cells: dict[str, Any], notes: Sequence[str] = ()) -> dict[str, Any]:
    return {"cells": list(cells), "strengths": strength_rows(cells), "notes": list(notes)}


def summaries_run(folder: Path, *cells: dict[str, Any], notes: Sequence[str] = ()) -> Path:
    """A finished run folder of eval.summaries with these cells."""
    with Run(folder, "eval.summaries", {"model_name_or_path": "models/pico"}) as run:
        (run.path / "metrics.json").write_text(json.dumps(metrics(*cells, notes=notes)))
    return folder


def similarity_run(folder: Path, pivot: str = "en") -> Path:
    """A finished run folder of eval.vector_similarity: es and uk alike, yo apart, on two layers."""
    pairs = ((("es", "uk"), 0.9), (("es", "yo"), 0.3), (("uk", "yo"), 0.4))
    cosines = {
        layer: [{"languages": list(pair), "cosine": value - int(layer) / 10} for pair, value in pairs]
        for layer in ("0", "1")
    }
    with Run(folder, "eval.vector_similarity", {}) as run:
        found = {"languages": ["es", "uk", "yo"], "pivot": pivot, "cosines": cosines}
        (run.path / "similarity.json").write_text(json.dumps(found))
    return folder


def directions_run(folder: Path, held_out: bool = True, **changes: Any) -> Path:
    """A finished run folder of eval.directions (its facts alone): on layer 1 the vector brings sentences nearer, maps more."""
    measured = {
        str(layer): {
            method: {"retrieval": value, "cosine": value + 0.1, "explained_variance": value - 0.2}
            for method, value in (("none", 0.3), ("vector", 0.4 + layer / 10), ("ridge", 0.6 + layer / 10))
        }
        for layer in (0, 1)
    }
    facts = {"model": "models/pico", "source": "hi", "pivot": "en", "pairs": 60, "layers": [0, 1], "pooling": "mean"}
    measure = {"held_out_pairs": 40 if held_out else None, "held_out": measured if held_out else {}}
    with Run(folder, "eval.directions", {"model_name_or_path": "models/pico", "source": "hi", "pivot": "en"}) as run:
        (run.path / "directions.json").write_text(json.dumps(facts | measure | changes))
    return folder
