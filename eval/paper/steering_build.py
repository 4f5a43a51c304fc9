"""SteerEval's tables with what was measured beside what was published: the content of tables.json."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from eval.paper.spec import shell
from eval.paper.steering_spec import SteeringPaper, SteeringRow, SteeringSetting
from eval.paper.steering_values import Place, SteeringMeasured, Way, averages, unsteered
from eval.reporting.runs import RunRead
from eval.reporting.steering import similarity

ABSENT: dict[str, Any] = {"value": None, "low": None, "high": None, "n": 0, "n_unscored": 0, "reason": "not measured"}
SHOWN_RULES = ("oracle", "nested")


def build(paper: SteeringPaper, runs: Sequence[RunRead]) -> dict[str, Any]:
    """{"title", "remarks", "tables": {dimension: {"columns", "blocks"}}, "strengths", "similarity", "alignment", "missing", "notes"}.

    A block is a metric on a model: its unsteered Pearson by language beside the published one, then for each way to steer
    the oracle's and the nested selection's, each with its gain and its null's p. Models and languages that the paper has not
    stand after those that it has.
    """
    measured = SteeringMeasured([run for run in runs if run.command == "eval.summaries"])
    rows = [*paper.rows, *_other_rows(paper, measured)]
    similar = {run.metrics["pivot"] for run in runs if run.command == "eval.vector_similarity"}
    languages = [*paper.languages, *_besides(paper.languages, (place.language for place in measured.places))]
    dimensions = [*paper.dimensions, *_besides(paper.dimensions, (place.dimension for place in measured.places))]
    return {
        "title": paper.title,
        "remarks": paper.remarks,
        "tables": {
            name: {"columns": languages, "blocks": list(_blocks(rows, name, languages, measured))}
            for name in dimensions
        },
        "strengths": [_strengths(way, found) for way, found in averages(measured.cells).items()],
        "similarity": [
            {"run": run.name, **similarity(run.metrics)} for run in runs if run.command == "eval.vector_similarity"
        ],
        "alignment": [found for run in runs if run.command == "eval.directions" if (found := _alignment(run))],
        "missing": list(_missing(paper, measured, similar)),
        "notes": list(
            dict.fromkeys([*measured.notes, *(note for run in runs for note in run.metrics.get("notes", ()))])
        ),
    }


def _besides(known: Sequence[str], found: Iterator[str]) -> list[str]:
    return [one for one in dict.fromkeys(found) if one not in known]


def _other_rows(paper: SteeringPaper, measured: SteeringMeasured) -> list[SteeringRow]:
    named = {(score, row.model) for row in paper.rows for score in row.score_names}
    found = dict.fromkeys((place.metric, place.model) for place in measured.places)
    return [
        SteeringRow(label=_last(model), metric=metric, name="", model=model)
        for metric, model in found
        if (metric, model) not in named
    ]


def _last(path: str) -> str:
    return path.rstrip("/").rsplit("/", 1)[-1]


def _blocks(
    rows: Sequence[SteeringRow], dimension: str, languages: Sequence[str], measured: SteeringMeasured
) -> Iterator[dict[str, Any]]:
    for row in rows:
        for score in row.score_names:
            places = {code: Place(score, row.model, code, dimension) for code in languages}
            found = any(measured.unsteered(place) for place in places.values())
            if not found and score != row.score_names[0]:
                continue  # a second score of the metric stands where it was measured
            cells = {code: _unsteered(places[code], row, measured) for code in languages}
            yield {
                "metric": score,
                "label": row.label,
                "model": row.model,
                "unsteered": cells,
                "published_steered": {code: row.steered.get(dimension, {}).get(code) for code in languages},
                "steered": list(_steered(places, measured)),
            }


def _unsteered(place: Place, row: SteeringRow, measured: SteeringMeasured) -> dict[str, Any]:
    cell = measured.unsteered(place)
    figure = ABSENT if cell is None else unsteered(cell.content) | {"run": cell.run}
    published = row.unsteered.get(place.dimension, {}).get(place.language)
    both = published is not None and figure["value"] is not None
    return figure | {"published": published, "difference": figure["value"] - published if both else None}


def _steered(places: Mapping[str, Place], measured: SteeringMeasured) -> Iterator[dict[str, Any]]:
    for way in measured.ways:
        cells = {code: cell for code, place in places.items() if (cell := measured.steered(place, way))}
        if cells:
            yield way._asdict() | {
                "label": way.label,
                "cells": {
                    code: {"run": cell.run, **{rule: cell.content["selection"][rule] for rule in SHOWN_RULES}}
                    for code, cell in cells.items()
                },
            }


def _strengths(way: Way, found: Mapping[float, Mapping[str, Any]]) -> dict[str, Any]:
    metrics = list(dict.fromkeys(metric for by_metric in found.values() for metric in by_metric))
    if len(metrics) == 2:
        metrics.remove("all")  # of one metric they are its own
    return way._asdict() | {
        "label": way.label,
        "metrics": metrics,
        "rows": [
            {"strength": strength, "means": {name: by_metric[name]._asdict() for name in metrics if name in by_metric}}
            for strength, by_metric in found.items()
        ],
    }


def _alignment(run: RunRead) -> dict[str, Any] | None:
    """Held-out agreement of one language at the layer where the vector serves best, and over all; None where none was held out."""
    facts = run.metrics
    held_out = facts["held_out"]
    if not held_out:
        return None
    best = max(held_out, key=lambda layer: held_out[layer]["vector"]["retrieval"])
    methods = list(held_out[best])
    return {
        "run": run.name,
        "model": facts["model"],
        "source": facts["source"],
        "pivot": facts["pivot"],
        "pairs": facts["pairs"],
        "held_out_pairs": facts["held_out_pairs"],
        "layer": int(best),
        "at_layer": held_out[best],
        "mean_retrieval": {
            method: fmean(layer[method]["retrieval"] for layer in held_out.values()) for method in methods
        },
    }


def _missing(paper: SteeringPaper, measured: SteeringMeasured, similar: set[str]) -> Iterator[dict[str, Any]]:
    """What is missing and how to make it: the data, then each row's pivots and settings, then the vectors' similarity."""
    lacking = [(row, found) for row in paper.rows if (found := _lacking(paper, row, measured))]
    if lacking:
        yield _entry("the data", paper.languages, shell(paper.data, paper.languages))
    for row, settings in lacking:
        ways = ", ".join(f"{one.name} → {pivot}" for pivot, wanted in settings.items() for one in wanted)
        commands = shell(list(paper.commands(row, settings)), paper.languages)
        yield _entry(f"{row.metric}, {row.label}: {ways}", paper.languages, commands)
    for pivot in paper.pivots:
        if pivot not in similar:
            row = paper.rows[0]
            commands = shell(paper.similarity_commands(row, pivot), paper.languages)
            yield _entry(f"similarity of vectors toward {pivot}, {row.label}", paper.languages, commands)


def _entry(what: str, languages: Sequence[str], commands: Sequence[str]) -> dict[str, Any]:
    return {"what": what, "languages": list(languages), "notes": [], "commands": list(commands)}


def _lacking(paper: SteeringPaper, row: SteeringRow, measured: SteeringMeasured) -> dict[str, list[SteeringSetting]]:
    """By pivot, the settings in which a language or a dimension of the paper was not measured."""
    places = [
        Place(score, row.model, code, dimension)
        for score in row.score_names[:1]
        for code in paper.languages
        for dimension in paper.dimensions
    ]
    found = {
        pivot: [
            one
            for one in paper.settings
            if not all(measured.steered(place, Way(pivot, one.method, one.scale)) for place in places)
        ]
        for pivot in paper.pivots
    }
    return {pivot: settings for pivot, settings in found.items() if settings}
