"""Cells of eval.summaries from score rows: points, every selection, null draws, strengths over cells, and their tables."""

import json
from typing import Any

import numpy as np
import pytest

from core.records import ScoreRow, SummaryRecord
from eval.steering.held_out import HeldOutMoves, Move
from eval.summary.metrics import cells, strengths, summary_metrics
from eval.summary.table import layers_in_short, markdown, table

STEERED = {"pivot": "en", "method": "vector", "scale": "relative"}
UNSTEERED = {"pivot": None, "method": None, "scale": None}
Columns = dict[tuple[tuple[int, ...] | None, float, int | None], list[float | None]]


def records(
    language: str = "fr", count: int = 5, rated: bool = True, dimension: str = "coherence"
) -> list[SummaryRecord]:
    return [
        SummaryRecord(
            id=f"{language}-{dimension}-{n}", language=language, dimension=dimension, system="ab"[n % 2],
            document_id=f"{language}-{n}", document="text", reference="a fair answer", summary="word " * (n % 3 + 1),
            human_scores=[n + 1.0, n + 2.0] if rated else [],
        )
        for n in range(count)
    ]  # fmt: skip


def rows(of: list[SummaryRecord], columns: Columns, **changes: Any) -> list[ScoreRow]:
    """``columns``: scores by layers, strength and draw; layers None are unsteered."""
    found = []
    for (layers, strength, draw), column in columns.items():
        shared: dict[str, Any] = {"metric": "gptscore", "model": "m", "strength": strength, "draw": draw}
        shared |= {**(UNSTEERED if layers is None else STEERED), "layers": None if layers is None else list(layers)}
        shared |= changes if layers is not None else {}
        for record, score in zip(of, column, strict=True):
            placed = {"language": record.language, "dimension": record.dimension, "document_id": record.document_id}
            found.append(ScoreRow(id=record.id, score=score, **placed, **shared))
    return found


def test_points_by_hand() -> None:
    """Human means 1.5 … 5.5. Unsteered −1 … −5: r −1, SD √2.5. At 1 the mean moves by 3: 1.897 SD; at 2 by 5: 3.162 SD, broken.

    Both steered columns order the summaries as people do, but the oracle passes over the broken one. Both systems' mean is 3.5.
    """
    known = records()
    columns: Columns = {
        (None, 0.0, None): [-1.0, -2.0, -3.0, -4.0, -5.0],
        ((0, 1), 1.0, None): [-2.0, -1.0, 0.0, 1.0, 2.0],
        ((0, 1), 2.0, None): [0.0, 1.0, 2.0, 3.0, 4.0],
        ((0, 1), 3.0, None): [None] * 5,
    }
    [cell] = cells(known, rows(known, columns), resamples=0, seed=0)
    unsteered, good, broken, lost = cell["points"]
    assert (unsteered["layers"], unsteered["strength"], good["layers"]) == (None, 0.0, [0, 1])
    assert (unsteered["mean_score"], unsteered["moved_sd"], unsteered["broken"]) == (-3.0, 0.0, False)
    assert unsteered["pearson"]["value"] == pytest.approx(-1)
    assert (good["moved_sd"], good["broken"]) == (pytest.approx(3 / 2.5**0.5), False)
    assert (broken["moved_sd"], broken["broken"]) == (pytest.approx(5 / 2.5**0.5), True)
    assert (lost["mean_score"], lost["moved_sd"], lost["broken"], lost["n_unscored"]) == (None, None, True, 5)
    assert lost["pearson"]["reason"] == "fewer than two scored rows"
    assert [point["gain"] for point in cell["points"]] == [None, pytest.approx(2), pytest.approx(2), None]
    assert (cell["method"], cell["scale"], cell["pivot"]) == ("vector", "relative", "en")
    assert (cell["n"], cell["n_human"]) == (5, 5)
    assert cell["baselines"]["system"]["pearson"]["reason"] == "constant scores"
    assert good["within_system"]["value"] == pytest.approx(1)
    # Ratings (n+1, n+2) against the other: pairs (n+1, n+2) and (n+2, n+1), n = 0 … 4, about 3.5: Σxx 22.5, Σxy 17.5.
    assert cell["ceiling"]["value"] == pytest.approx(17.5 / 22.5)
    oracle = cell["selection"]["oracle"]
    assert oracle["chosen"] == [{"layers": [0, 1], "strength": 1.0, "share": 1.0}]
    assert (oracle["pearson"]["value"], oracle["gain"]["value"]) == (pytest.approx(1), pytest.approx(2))
    assert (oracle["relative_improvement"], oracle["null"]) == (pytest.approx(2), None)
    assert cell["selection"]["nested"]["chosen"] == oracle["chosen"]
    assert cell["selection"]["leave_one_language_out"] == {"reason": "no other language is scored alike"}
    assert cell["selection"]["unsupervised"]["reason"].startswith("no held-out pairs are kept")
    assert cell["selection"]["development"] == []


def test_null_draws_go_through_the_same_selection() -> None:
    """The real point gains 1 − .7 = .3. Nulls: −1 (unsteered is kept: 0), 1 (.3), broken (0). p = (1 + 1) / 4.

    A draw that lacks the point is left out and counted.
    """
    known = records()
    alone: list[float | None] = [1.0, 2.0, 5.0, 3.0, 4.0]
    columns: Columns = {
        (None, 0.0, None): alone,
        ((3,), 0.5, None): [1.0, 2.0, 3.0, 4.0, 5.0],
        ((3,), 0.5, 0): [5.0, 4.0, 3.0, 2.0, 1.0],
        ((3,), 0.5, 1): [2.0, 4.0, 6.0, 8.0, 10.0],
        ((3,), 0.5, 2): [100.0, 200.0, 300.0, 400.0, 500.0],
        ((4,), 0.5, 3): [1.0, 2.0, 3.0, 4.0, 5.0],
    }
    [cell] = cells(known, rows(known, columns), resamples=0, seed=0)
    before = float(np.corrcoef(range(5), alone)[0, 1])  # type: ignore[arg-type]
    for name in ("oracle", "nested"):
        null = cell["selection"][name]["null"]
        assert (null["draws"], null["smallest_p"]) == (3, 0.25)
        assert null["p_value"] == 0.5
    null = cell["selection"]["oracle"]["null"]
    assert null["gains"] == pytest.approx([0, 1 - before, 0])
    assert null["mean_gain"] == pytest.approx((1 - before) / 3)
    assert cell["null_draws_left_out"] == 1


def test_other_languages_choose() -> None:
    """es and tr go up at .2, and that is what fr gets, though its own best is −.2. A raw scale does not compare.

    he, whose unsteered scores are all the same, has no say.
    """
    known = {code: records(code) for code in ("fr", "es", "tr", "he")}
    up, down = [1.0, 2.0, 3.0, 4.0, 5.0], [5.0, 4.0, 3.0, 2.0, 1.0]
    unsteered = [2.0, 1.0, 3.0, 5.0, 4.0]

    def found(scale: str) -> dict[str, Any]:
        given = []
        for code, of in known.items():
            at_plus, at_minus = (down, up) if code in ("fr", "he") else (up, down)
            columns: Columns = {
                (None, 0.0, None): [1.0] * 5 if code == "he" else [*unsteered],
                ((0,), 0.2, None): [*at_plus],
                ((0,), -0.2, None): [*at_minus],
            }
            given += rows(of, columns, scale=scale)
        everyone = [record for of in known.values() for record in of]
        return {cell["language"]: cell["selection"] for cell in cells(everyone, given, 0, 0)}

    chosen = found("relative")["fr"]["leave_one_language_out"]
    assert chosen["chosen"] == [{"layers": [0], "strength": 0.2, "share": 1.0}]
    assert chosen["pearson"]["value"] == pytest.approx(-1)
    assert found("relative")["fr"]["oracle"]["chosen"][0]["strength"] == -0.2
    assert "raw" in found("raw")["es"]["leave_one_language_out"]["reason"]


def test_held_out_sentences_choose() -> None:
    """Layer 0 gains 2s·.5 − s²·1: .25 at ½, 0 at 1. Layer 1 gains 2s·.2 − s²·.04: .19 at ½, .36 at 1, and is chosen."""
    known = records()
    one, other = [1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 1.0, 3.0, 5.0, 4.0]
    columns: Columns = {(None, 0.0, None): [*other]}
    columns |= {((layer,), strength, None): [*one] for layer in (0, 1) for strength in (0.5, 1.0)}
    moves = HeldOutMoves({0: Move(0.5, 1.0), 1: Move(0.2, 0.04)}, {}, {0: 1.0, 1: 1.0})
    [cell] = cells(known, rows(known, columns), 0, 0, {"fr": moves})
    chosen = cell["selection"]["unsupervised"]
    assert chosen["chosen"] == [{"layers": [1], "strength": 1.0, "share": 1.0}]
    away = HeldOutMoves({0: Move(-0.5, 1.0), 1: Move(-0.2, 1.0)}, {}, {0: 1.0, 1: 1.0})
    [cell] = cells(known, rows(known, columns), 0, 0, {"fr": away})
    assert cell["selection"]["unsupervised"]["chosen"][0] == {"layers": None, "strength": 0.0, "share": 1.0}
    [cell] = cells(known, rows(known, columns), 0, 0, {"fr": moves._replace(relative={0: 1.0})})
    assert cell["selection"]["unsupervised"] == {"reason": "the held-out pairs lack a layer that is steered"}


def test_what_cannot_be_had_says_why() -> None:
    """No human scores; a language scored unsteered only; unsteered scores that do not differ."""
    unrated, pivot, flat = records("fr", rated=False), records("en"), records("hi")
    steered: list[float | None] = [1.0, 2.0, 3.0, 5.0, 4.0]
    given = [
        *rows(unrated, {(None, 0.0, None): steered, ((0,), 1.0, None): steered}),
        *rows(pivot, {(None, 0.0, None): steered}),
        *rows(flat, {(None, 0.0, None): [1.0] * 5, ((0,), 1.0, None): steered}),
    ]
    found = {cell["language"]: cell for cell in cells([*unrated, *pivot, *flat], given, 0, 0)}
    for language, reason in (
        ("fr", "no human scores"), ("en", "scored unsteered only"), ("hi", "the unsteered scores are constant"),
    ):  # fmt: skip
        assert found[language]["selection"]["oracle"] == {"reason": reason}
        assert found[language]["selection"]["development"] == []
    assert found["fr"]["points"][0]["pearson"] == {
        "value": None, "low": None, "high": None, "n": 0, "n_unscored": 0, "reason": "no human scores",
    }  # fmt: skip
    assert (found["en"]["method"], len(found["en"]["points"])) == (None, 1)


def test_cells_by_metric_and_way_to_steer_share_the_unsteered_scores() -> None:
    known = records()
    columns: Columns = {(None, 0.0, None): [1.0, 2.0, 4.0, 3.0, 5.0], ((0,), 0.5, None): [1.0, 2.0, 3.0, 4.0, 5.0]}
    given = rows(known, columns)
    given += [row for row in rows(known, columns, method="map", scale=None) if row.method]
    given += [row.model_copy(update={"metric": "comet", "score": -(row.score or 0)}) for row in given]
    found = cells(known, given, 0, 0)
    assert [(cell["metric"], cell["method"]) for cell in found] == [
        ("gptscore", "vector"), ("gptscore", "map"), ("comet", "vector"), ("comet", "map"),
    ]  # fmt: skip
    unsteered = [cell["points"][0]["pearson"]["value"] for cell in found]
    assert unsteered == pytest.approx([0.9, 0.9, -0.9, -0.9])


def test_strengths_over_cells_by_hand() -> None:
    """Gains .2 and −.1 on unsteered .4 and −.5: mean .05, relative (.5 − .2) / 2, half improved. One from 0 has no relative gain."""

    def cell(*points: tuple[float, float, bool]) -> dict[str, Any]:
        found = [{"layers": None, "strength": 0.0, "gain": None}]
        for gain, before, broken in points:
            found.append({"layers": [0], "strength": 0.1, "gain": gain, "broken": broken})
            found[-1]["pearson"] = {"value": before + gain}
        return {"metric": "comet", "model": "m", **STEERED, "points": found}

    [row] = strengths([cell((0.2, 0.4, False)), cell((-0.1, -0.5, True))])
    assert (row["layers"], row["strength"], row["cells"], row["broken"]) == ([0], 0.1, 2, 1)
    assert (row["mean_gain"], row["mean_relative_improvement"]) == (pytest.approx(0.05), pytest.approx(0.15))
    assert row["improved"] == 0.5
    [row] = strengths([cell((0.2, 0.0, False))])
    assert (row["mean_gain"], row["mean_relative_improvement"]) == (0.2, None)


def simulated(summaries: int, draws: int) -> tuple[list[SummaryRecord], list[ScoreRow]]:
    rng = np.random.default_rng(0)
    known, given = [], []
    for code in ("fr", "es"):
        of = records(code, summaries)
        unsteered = rng.normal(size=summaries)
        columns: Columns = {(None, 0.0, None): unsteered.tolist()}
        for draw in (None, *range(draws)):
            along = rng.normal(size=summaries)
            columns |= {((0, 1, 2), s, draw): (unsteered + s * along).tolist() for s in (-0.3, -0.1, 0.1, 0.3)}
        known += of
        given += rows(of, columns)
    return known, given


def test_tables_hold_every_selection_beside_its_null() -> None:
    known, given = simulated(24, 19)
    metrics = summary_metrics(known, given, 200, 0) | {"notes": ["fr: 1 summaries are empty"]}
    json.dumps(metrics, allow_nan=False)
    text = markdown(metrics)
    heads = [cell.strip() for cell in text.splitlines()[0].split("|")[1:-1]]
    first = dict(zip(heads, (cell.strip() for cell in text.splitlines()[2].split("|")[1:-1]), strict=True))
    cell = metrics["cells"][0]
    assert (first["language"], first["metric"], first["n"]) == ("fr", "gptscore, relative vector → en", "24")
    oracle, nested = cell["selection"]["oracle"], cell["selection"]["nested"]
    assert first["unsteered"] == f"{cell['points'][0]['pearson']['value']:.3f}"
    assert first["oracle"] == f"{oracle['pearson']['value']:.3f} ({oracle['gain']['value']:+.3f})"
    assert first["p nested"] == f"{nested['null']['p_value']:.3f} (≥ 0.050)"
    assert first["unsupervised"] == "–"
    assert "| 0–2 |" in text.replace("   ", " ").replace("  ", " ")
    lines = table(metrics)
    assert lines[: len(text.splitlines())] == text.splitlines()
    assert lines[-1] == "note: fr: 1 summaries are empty"
    assert any("not a result" in line for line in lines)
    assert any("chosen on 5 documents: gain" in line for line in lines)


def test_a_table_without_human_scores() -> None:
    known = records(rated=False)
    metrics = summary_metrics(known, rows(known, {(None, 0.0, None): [1.0, 2.0, 3.0, None, 5.0]}), 0, 0) | {"notes": []}
    assert markdown(metrics) == "No summary has a human score."
    assert any("5 summaries, 0 with human scores" in line for line in table(metrics))


def test_layers_in_short() -> None:
    assert layers_in_short([0, 1, 2, 3, 7, 9, 10]) == "0–3, 7, 9–10"
    assert (layers_in_short(None), layers_in_short([4])) == ("–", "4")
