"""eval.summaries: scores.jsonl and metrics.json of a pico model, with and without human scores and directions."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from core.config import exit_status, parse_config
from core.errors import ConfigError
from core.records import ScoreRow, SummaryRecord, read_rows
from eval.directions import DirectionsConfig
from eval.directions import main as learn_directions
from eval.gptscore import GPTScore
from eval.steering.directions import Directions
from eval.summaries import SummariesConfig, main
from eval.summary_metrics import cells
from tests.pico import model as pico
from tests.pico import save as save_pico
from tests.pico import tokenizer

TEXTS = ["the response meets the rubric", "a fair answer", "bad feedback", "good feedback that is complete", "score"]


def summaries(language: str = "fr", rated: bool = True, dimension: str = "coherence") -> list[dict[str, Any]]:
    return [
        {
            "id": f"{language}-{dimension}-{n}",
            "language": language,
            "dimension": dimension,
            "system": "ab"[n % 2],
            "document_id": f"{language}-{n}",
            "document": f"Judge the response by the rubric alone. {n}",
            "reference": "a fair answer that is complete",
            "summary": text,
            "human_scores": [float(n + 1), float(n + 2)] if rated else [],
        }
        for n, text in enumerate(TEXTS)
    ]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def directions(folder: Path, source: str | None = "fr", **facts: Any) -> Path:
    draw = torch.Generator().manual_seed(1)
    vectors = {layer: torch.randn(32, generator=draw) for layer in (0, 1)}
    Directions.from_vectors(vectors, source=source, pivot="en", mean_norms={0: 5.0, 1: 5.0}, **facts).save(folder)
    return folder


def run(*words: Any) -> int:
    return exit_status(lambda: main(parse_config(SummariesConfig, [str(word) for word in words])))


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_pico(tmp_path_factory.mktemp("model") / "pico", chat_template=None)


def command(folder: Path, model: Path, rows: list[dict[str, Any]], *words: Any) -> list[Any]:
    given = ["--metric", "gptscore", "--model_name_or_path", model, "--input", write(folder / "in.jsonl", rows)]
    return [*given, "--output", folder / "out", "--resamples", "200", *words]


def outcome(folder: Path) -> tuple[dict[tuple[str, float], ScoreRow], dict[str, Any]]:
    rows = read_rows(folder / "out" / "scores.jsonl", ScoreRow, unique=False)
    return {(row.id, row.strength): row for row in rows}, json.loads((folder / "out" / "metrics.json").read_text())


def test_steered_and_unsteered_with_and_without_human_scores(
    tmp_path: Path, model_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [*summaries(), *summaries(dimension="completeness", rated=False), *summaries("en")]
    steering = [
        "--directions",
        directions(tmp_path / "fr"),
        "--method",
        "vector",
        "--strengths",
        "-2",
        "-1",
        "0",
        "1",
        "2",
    ]
    assert run(*command(tmp_path, model_folder, rows, *steering)) == 0
    scores, metrics = outcome(tmp_path)
    assert len(scores) == 10 * 5 + 5
    first = scores["fr-coherence-0", 1.0]
    assert (first.metric, first.model, first.pivot, first.method, first.scale) == (
        "gptscore", "pico", "en", "vector", "relative",
    )  # fmt: skip
    assert (first.layers, first.draw, first.document_id) == ([0, 1], None, "fr-0")
    unsteered = scores["en-coherence-0", 0.0]
    assert (unsteered.pivot, unsteered.method, unsteered.scale, unsteered.layers) == (None, None, None, None)
    assert all(
        scores[f"fr-coherence-{n}", s].score == scores[f"fr-completeness-{n}", s].score
        for n in range(5)
        for s in (-1.0, 2.0)
    )
    metric = GPTScore(pico(), tokenizer())
    for n, row in enumerate(summaries()):
        by_hand = metric.scores(metric.prompted(row["document"], row["summary"]))  # type: ignore[arg-type]
        assert [scores[f"fr-coherence-{n}", 0.0].score] == by_hand
    rated, unrated, pivot = metrics["cells"]
    assert [point["strength"] for point in rated["points"]] == [-2, -1, 0, 1, 2]
    assert all(-1 <= point["pearson"]["value"] <= 1 for point in rated["points"])
    assert rated["points"][2]["moved_sd"] == 0
    assert rated["oracle"]["pearson"]["value"] == max(p["pearson"]["value"] for p in rated["points"] if not p["broken"])
    assert unrated["points"][0]["pearson"] == {
        "value": None, "low": None, "high": None, "n": 0, "n_unscored": 0, "reason": "no human scores",
    }  # fmt: skip
    assert unrated["oracle"]["strength"] is None
    assert [point["strength"] for point in pivot["points"]] == [0]
    assert metrics["notes"] == ["en: no directions, scored unsteered"]
    told = capsys.readouterr().out
    assert "fr coherence, gptscore vector toward en, relative: 5 summaries, 5 with human scores" in told
    assert "not a result" in told


def test_learned_directions_steer(tmp_path: Path, model_folder: Path) -> None:
    """The two commands one after the other, map and vector: the fingerprint holds, the scores move both ways."""
    pairs = [{"id": str(n), "fr": f"La réponse {n} est juste.", "en": f"The answer {n} is right."} for n in range(6)]
    words = ["--model_name_or_path", model_folder, "--input", write(tmp_path / "pairs.jsonl", pairs), "--source", "fr"]
    words += ["--output", tmp_path / "fr", "--pairs", "6", "--maps", "true"]
    assert exit_status(lambda: learn_directions(parse_config(DirectionsConfig, list(map(str, words))))) == 0
    for method, strengths in (("vector", ["-1", "1"]), ("map", ["1", "0.5"])):
        folder = tmp_path / method
        folder.mkdir()
        steering = ["--directions", tmp_path / "fr", "--method", method, "--strengths", *strengths]
        assert run(*command(folder, model_folder, summaries(), *steering)) == 0
        scores, metrics = outcome(folder)
        assert len({scores["fr-coherence-0", point["strength"]].score for point in metrics["cells"][0]["points"]}) == 3
        assert metrics["cells"][0]["scale"] == ("relative" if method == "vector" else None)


def test_without_directions_all_is_unsteered(tmp_path: Path, model_folder: Path) -> None:
    assert run(*command(tmp_path, model_folder, summaries(), "--language", "fr")) == 0
    scores, metrics = outcome(tmp_path)
    assert {strength for _, strength in scores} == {0.0}
    assert metrics["notes"] == []


def test_an_empty_summary_is_missing_and_a_long_document_shortened(tmp_path: Path, model_folder: Path) -> None:
    rows = summaries()
    rows[1]["summary"] = " "
    rows[2]["document"] = "the response meets the rubric well. " * 60
    rows[3]["summary"] = "the response meets the rubric well. " * 60
    assert run(*command(tmp_path, model_folder, rows, "--max_length", "128")) == 0
    scores, metrics = outcome(tmp_path)
    assert [scores[f"fr-coherence-{n}", 0.0].score is None for n in range(5)] == [False, True, False, True, False]
    point = metrics["cells"][0]["points"][0]
    assert (point["n_unscored"], point["pearson"]["n"], point["pearson"]["n_unscored"]) == (2, 3, 2)
    assert metrics["notes"] == [
        "fr: 1 documents were shortened to fit, visibly",
        "fr: 1 summaries are empty: missing, not scored",
        "fr: 1 summaries leave no room for their document: not scored",
    ]
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    counts = {"summaries": 5, "empty summary": 1, "shortened": 1, "too long": 1, "score not finite": 0}
    assert manifest["counts"]["fr"] == counts


def test_a_stopped_run_goes_on_where_it_stopped(
    tmp_path: Path, model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steering = ["--directions", directions(tmp_path / "fr"), "--strengths", "-1", "1"]
    words = command(tmp_path, model_folder, summaries(), *steering)
    assert run(*words) == 0
    whole = outcome(tmp_path)
    file, manifest = tmp_path / "out" / "scores.jsonl", tmp_path / "out" / "manifest.json"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:5]) + lines[5][:40])
    manifest.write_text(manifest.read_text().replace('"done"', '"failed"'))
    scored: list[int] = []
    scores = GPTScore.scores

    def counted(self: GPTScore, prompted: Any, strengths: Any, *rest: Any) -> Any:
        scored.append(len(strengths))
        return scores(self, prompted, strengths, *rest)

    monkeypatch.setattr(GPTScore, "scores", counted)
    assert run(*words, "--if_exists", "resume") == 0
    assert scored == [1, 3, 3, 3]
    resumed = outcome(tmp_path)
    assert resumed[0].keys() == whole[0].keys()
    assert [row.score for row in resumed[0].values()] == pytest.approx(
        [resumed_row.score for resumed_row in whole[0].values()]
    )
    assert run(*words, "--if_exists", "resume") == 0
    assert scored == [1, 3, 3, 3]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["--language", "xx"], "has no language 'xx'; it has fr"),
        (["--dimension", "style"], "has no dimension 'style'; it has coherence"),
        (["--metric", "comet"], "gptscore"),
        (["--strengths", "1"], "strengths need directions"),
        (["--directions", "DIR", "--method", "map"], "no maps"),
        (["--directions", "DIR", "--scale", "raw"], "give strengths"),
        (["--directions", "DIR", "--method", "map", "--strengths", "2"], "from 0 to 1"),
        (["--directions", "DIR", "--strengths", ".nan"], "correct strengths"),
        (["--directions", "DIR", "DIR"], "two folders of directions are for fr"),
        (["--directions", "OTHER"], "another model"),
        (["--directions", "NAMELESS"], "does not say its source language"),
        (["--directions", "absent"], "no folder of directions"),
        (["--model_name_or_path", "./absent"], "does not exist"),
    ],
)
def test_wrong_input(
    tmp_path: Path, model_folder: Path, capsys: pytest.CaptureFixture[str], changes: list[str], message: str
) -> None:
    folders = {
        "DIR": directions(tmp_path / "fr"),
        "OTHER": directions(tmp_path / "other", fingerprint=[1.0, 2.0]),
        "NAMELESS": directions(tmp_path / "nameless", source=None),
    }
    words = [folders.get(word, word) for word in changes]
    assert run(*command(tmp_path, model_folder, summaries(), *words)) == 2
    told = capsys.readouterr().err.strip().splitlines()[-1]
    assert told.startswith("error: ")
    assert message in told


def test_default_grids() -> None:
    given: dict[str, Any] = {"model_name_or_path": "m", "input": "i", "output": "o", "directions": ["d"]}
    assert SummariesConfig(**given).grid() == [-0.3, -0.1, -0.03, 0.0, 0.03, 0.1, 0.3]
    assert SummariesConfig(**given, method="map").grid() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert SummariesConfig(**given, strengths=[0.5, -0.5, 0.5]).grid() == [-0.5, 0.0, 0.5]


def score_rows(scores: dict[float, list[float | None]]) -> list[ScoreRow]:
    shared: dict[str, Any] = {
        "language": "fr",
        "dimension": "coherence",
        "metric": "gptscore",
        "model": "m",
        "pivot": "en",
    }
    shared |= {"method": "vector", "scale": "raw", "layers": [0], "draw": None}
    return [
        ScoreRow(id=f"fr-coherence-{n}", document_id=f"fr-{n}", strength=strength, score=score, **shared)
        for strength, column in scores.items()
        for n, score in enumerate(column)
    ]


def test_a_cell_by_hand() -> None:
    """Human means 1.5 … 5.5. Unsteered −1 … −5: r −1, SD √2.5. At 1 the mean moves by 3: 1.897 SD; at 2 by 5: 3.162 SD, broken.

    Both steered columns order the summaries as people do, but the oracle passes over the broken one.
    Both systems' mean is 3.5.
    """
    records = [SummaryRecord(**row) for row in summaries()]
    rows = score_rows({
        0.0: [-1.0, -2.0, -3.0, -4.0, -5.0],
        1.0: [-2.0, -1.0, 0.0, 1.0, 2.0],
        2.0: [0.0, 1.0, 2.0, 3.0, 4.0],
        3.0: [None] * 5,
    })  # fmt: skip
    [cell] = cells(records, rows, resamples=0, seed=0)
    unsteered, good, broken, lost = cell["points"]
    assert (unsteered["mean_score"], unsteered["moved_sd"], unsteered["broken"]) == (-3.0, 0.0, False)
    assert unsteered["pearson"]["value"] == pytest.approx(-1)
    assert (good["moved_sd"], good["broken"]) == (pytest.approx(3 / 2.5**0.5), False)
    assert (broken["moved_sd"], broken["broken"]) == (pytest.approx(5 / 2.5**0.5), True)
    assert (lost["mean_score"], lost["moved_sd"], lost["broken"], lost["n_unscored"]) == (None, None, True, 5)
    assert lost["pearson"]["reason"] == "fewer than two scored rows"
    assert (cell["oracle"]["strength"], cell["oracle"]["pearson"]["value"]) == (1.0, pytest.approx(1))
    assert cell["baselines"]["system"]["pearson"]["reason"] == "constant scores"


def test_grid_errors_are_config_errors() -> None:
    words = ["--model_name_or_path", "m", "--input", "i", "--output", "o", "--directions", "d", "--scale", "raw"]
    with pytest.raises(ConfigError, match="no default strengths"):
        parse_config(SummariesConfig, words)


@pytest.mark.real
@pytest.mark.slow
def test_real_summaries_with_the_embedded_model(tmp_path: Path, shared_data: Path, embedded_model: Path) -> None:
    """Six Turkish and Spanish summaries, steered with vectors from twenty real parallel sentences."""

    def rows_of(name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (shared_data / name).read_text(encoding="utf-8").splitlines()]

    write(tmp_path / "parallel.jsonl", rows_of("ntrex_15.jsonl")[:20])
    picked = [
        row for code in ("tr", "es") for row in [r for r in rows_of("scored_summaries.jsonl") if r["lang"] == code][:3]
    ]
    records = [
        {"id": row["id"], "language": row["lang"], "dimension": row["dimension"], "system": row["system"]}
        | {"document_id": row["id"], "document": row["document"], "summary": row["summary"]}
        | {"reference": row["reference"], "human_scores": [float(score) for score in row["scores"] if score > 0]}
        for row in picked
    ]
    shared = ["--model_name_or_path", embedded_model]
    for code in ("tr", "es"):
        words = [*shared, "--input", tmp_path / "parallel.jsonl", "--source", code, "--output", tmp_path / code]
        assert exit_status(lambda: learn_directions(parse_config(DirectionsConfig, list(map(str, words))))) == 0  # noqa: B023
    steering = ["--directions", tmp_path / "tr", tmp_path / "es", "--strengths", "-0.01", "0", "0.01"]
    steered, plain = tmp_path / "steered", tmp_path / "plain"
    steered.mkdir()
    plain.mkdir()
    assert run(*command(steered, embedded_model, records, *steering)) == 0
    assert run(*command(plain, embedded_model, records)) == 0
    scores, metrics = outcome(steered)
    unsteered, _ = outcome(plain)
    assert len(scores) == 18
    for (name, strength), row in scores.items():
        assert row.score is not None
        assert -15 < row.score < 0
        assert (row.score == unsteered[name, 0.0].score) == (strength == 0)
    assert [cell["language"] for cell in metrics["cells"]] == ["tr", "es"]
