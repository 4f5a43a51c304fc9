"""eval.summaries: scores.jsonl and metrics.json of a pico model, with and without human scores and directions."""

import csv
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from core.config import exit_status, parse_config
from core.records import ScoreRow, SummaryRecord, read_rows
from eval.directions import DirectionsConfig
from eval.directions import main as learn_directions
from eval.gptscore import GPTScore
from eval.steering.directions import Directions
from eval.steering.pair_states import PairStates, null_directions
from eval.steering.sweep import UNSTEERED, Sweep
from eval.summaries import SummariesConfig
from eval.summary.sweeps import Sweeps, read_directions
from tests.conftest import REPO
from tests.eval.summaries_for_tests import (
    command,
    directions,
    learned,
    outcome,
    prepared,
    run,
    summaries,
    write,
)
from tests.pico import model as pico
from tests.pico import save as save_pico
from tests.pico import tokenizer


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_pico(tmp_path_factory.mktemp("model") / "pico", chat_template=None)


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
    for row in (unsteered, scores["fr-coherence-0", 0.0]):
        assert (row.pivot, row.method, row.scale, row.layers) == (None, None, None, None)
    assert all(
        scores[f"fr-coherence-{n}", s].score == scores[f"fr-completeness-{n}", s].score
        for n in range(5)
        for s in (-1.0, 2.0)
    )
    metric = GPTScore(pico(), tokenizer())
    for given in summaries():
        [[by_hand]] = metric.score([prepared(metric, given)], [UNSTEERED])
        assert [scores[given["id"], 0.0].score] == by_hand["gptscore"]
    rated, unrated, pivot = metrics["cells"]
    assert [point["strength"] for point in rated["points"]] == [0, -2, -1, 1, 2]
    assert all(-1 <= point["pearson"]["value"] <= 1 for point in rated["points"])
    best = max(point["pearson"]["value"] for point in rated["points"] if not point["broken"])
    assert rated["selection"]["oracle"]["pearson"]["value"] == pytest.approx(best)
    assert unrated["points"][0]["pearson"]["reason"] == "no human scores"
    assert unrated["selection"]["oracle"] == {"reason": "no human scores"}
    assert [point["strength"] for point in pivot["points"]] == [0]
    assert metrics["notes"] == ["en: no directions, scored unsteered"]
    told = capsys.readouterr().out
    assert "fr coherence, gptscore, relative vector → en: 5 summaries, 5 with human scores" in told
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
    score = GPTScore.score

    def counted(self: GPTScore, prepared: Any, sweeps: Any) -> Any:
        scored.append(len(sweeps))
        return score(self, prepared, sweeps)

    monkeypatch.setattr(GPTScore, "score", counted)
    assert run(*words, "--if_exists", "resume") == 0
    # Three rows a text: five whole rows are one text, and of the next its unsteered row and one of two steered ones.
    assert scored == [1, 2, 2, 2]
    assert file.read_text() == "".join(lines)
    assert outcome(tmp_path) == whole
    assert run(*words, "--if_exists", "resume") == 0
    assert scored == [1, 2, 2, 2]


def test_null_draws_of_one_cell(tmp_path: Path, model_folder: Path) -> None:
    rows = [*summaries(), *summaries(dimension="completeness")]
    folder = learned(tmp_path / "fr", model_folder)
    steering = ["--directions", folder, "--strengths", "-1", "1", "--null_draws", "3", "--null_dimension", "coherence"]
    assert run(*command(tmp_path, model_folder, rows, *steering)) == 0
    written = read_rows(tmp_path / "out" / "scores.jsonl", ScoreRow, unique=False)
    draws = Counter((row.dimension, row.draw) for row in written)
    assert draws == {("coherence", None): 15, ("completeness", None): 15} | {
        ("coherence", draw): 10 for draw in range(3)
    }
    metric, null = (
        GPTScore(pico(), tokenizer()),
        null_directions(found := Directions.load(folder), PairStates.load(folder, found), 2, 42),
    )
    sweep = Sweep(null, (-1.0, 1.0), "vector", "relative", 2)
    [[by_hand]] = metric.score([prepared(metric, rows[0])], [sweep])
    assert [row.score for row in written if row.id == rows[0]["id"] and row.draw == 2] == by_hand["gptscore"]
    _, metrics = outcome(tmp_path)
    nulls = [cell["selection"]["oracle"]["null"] for cell in metrics["cells"]]
    assert (nulls[0]["draws"], nulls[0]["smallest_p"], nulls[1]) == (3, 0.25, None)


def test_layer_sets_are_points_of_one_grid(tmp_path: Path, model_folder: Path) -> None:
    steering = ["--directions", directions(tmp_path / "fr"), "--strengths", "1"]
    steering += ["--layer_sets", "[0]", "[1]", "[1, 0]", "[0, 1]", "[0, 0]"]  # the last two stand there already
    words = command(tmp_path, model_folder, summaries(), *steering)
    config = parse_config(SummariesConfig, list(map(str, words)))
    sweeps = Sweeps(config, read_directions(config.directions)).of(SummaryRecord(**summaries()[0]))
    assert [sweep.layers for sweep in sweeps] == [None, [0], [1], [0, 1]]
    assert run(*words) == 0
    written = read_rows(tmp_path / "out" / "scores.jsonl", ScoreRow, unique=False)
    assert [row.layers for row in written if row.id == "fr-coherence-0"] == [None, [0], [0, 1], [1]]
    assert len({row.score for row in written if row.id == "fr-coherence-0"}) == 4
    _, metrics = outcome(tmp_path)
    assert [point["layers"] for point in metrics["cells"][0]["points"]] == [None, [0], [0, 1], [1]]


def test_a_strength_chosen_on_other_summaries(tmp_path: Path, model_folder: Path) -> None:
    """The input has no human scores; its scores are those of the best point on the development set, and the unsteered."""
    dev = write(
        tmp_path / "dev.jsonl",
        [row | {"id": f"dev-{row['id']}", "human_scores": [9.0 - n]} for n, row in enumerate(summaries())],
    )
    steering = ["--directions", directions(tmp_path / "fr"), "--strengths", "-2", "-1", "1", "2", "--dev", dev]
    assert run(*command(tmp_path, model_folder, summaries(rated=False), *steering)) == 0
    scores, metrics = outcome(tmp_path)
    [cell] = metrics["dev"]
    best = max((p for p in cell["points"] if not p["broken"]), key=lambda point: point["pearson"]["value"])
    assert best["strength"] != 0
    assert {strength for _, strength in scores} == {0.0, best["strength"]}
    dev_rows = read_rows(tmp_path / "out" / "dev_scores.jsonl", ScoreRow, unique=False)
    assert len(dev_rows) == 25
    for row in dev_rows:
        if row.strength == best["strength"]:
            assert scores[row.id.removeprefix("dev-"), row.strength].score == row.score


def test_a_development_set_of_the_very_documents_is_told(tmp_path: Path, model_folder: Path) -> None:
    dev = write(tmp_path / "dev.jsonl", summaries()[:4])
    steering = ["--directions", directions(tmp_path / "fr"), "--strengths", "1", "--dev", dev]
    assert run(*command(tmp_path, model_folder, summaries(), *steering)) == 0
    assert "4 human-scored summaries are of documents that dev has" in outcome(tmp_path)[1]["notes"][0]


def test_a_table_in_and_out(tmp_path: Path, model_folder: Path) -> None:
    """What a spreadsheet has: summaries, nothing else."""
    with (tmp_path / "in.csv").open("w", newline="", encoding="utf-8") as handle:
        writer = csv.DictWriter(handle, ["id", "language", "dimension", "document_id", "document", "summary"])
        writer.writeheader()
        writer.writerows({name: row[name] for name in writer.fieldnames} for row in summaries())
    words = ["--model_name_or_path", model_folder, "--input", tmp_path / "in.csv", "--output", tmp_path / "out"]
    assert run(*words) == 0
    scores, _ = outcome(tmp_path)
    with (tmp_path / "out" / "scores.csv").open(newline="", encoding="utf-8") as handle:
        table = list(csv.DictReader(handle))
    assert {row["id"]: float(row["score"]) for row in table} == {name: row.score for (name, _), row in scores.items()}


def test_a_sample_keeps_the_documents_that_dimensions_share(tmp_path: Path, model_folder: Path) -> None:
    rows = [*summaries(), *summaries(dimension="completeness")]
    assert run(*command(tmp_path, model_folder, rows, "--max_per_cell", "2")) == 0
    scores, _ = outcome(tmp_path)
    documents = [
        {row.document_id for row in scores.values() if row.dimension == dimension}
        for dimension in ("coherence", "completeness")
    ]
    assert documents[0] == documents[1]
    assert len(scores) == 4


@pytest.mark.slow
def test_two_processes_write_what_one_writes(tmp_path: Path, model_folder: Path) -> None:
    rows = [*summaries(), *summaries("hi"), *summaries(dimension="completeness")]
    folder = learned(tmp_path / "fr", model_folder)
    launch = ["accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1"]
    launch += ["--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0", "-m"]
    for name, start in (("one", []), ("two", launch)):
        words = command(
            tmp_path, model_folder, rows, "--directions", folder, "--strengths", "-1", "1", "--null_draws", "2"
        )
        words[words.index(tmp_path / "out")] = tmp_path / name
        call = [sys.executable, "-m", *start, "eval.summaries", *map(str, words)]
        env = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(call, cwd=REPO, env=env, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("15 summaries scored") == 1  # only rank 0 speaks
    assert sorted(path.name for path in (tmp_path / "two").iterdir()) == sorted(
        path.name for path in (tmp_path / "one").iterdir()
    )
    for name in ("scores.jsonl", "metrics.json", "table.md"):
        assert (tmp_path / "two" / name).read_bytes() == (tmp_path / "one" / name).read_bytes()


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
