"""eval.directions and eval.summaries on a COMET checkpoint, from files to files."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from core.errors import ModelError
from core.jsonl import read_jsonl, write_jsonl
from eval.directions import DirectionsConfig
from eval.directions import main as learn
from eval.summaries import SummariesConfig
from eval.summaries import main as score
from tests import pico
from tests.eval import comet_checkpoint

LETTERS = comet_checkpoint.LETTERS[1:]
PAIRS, DOCUMENTS = 30, 16


def text(draw: Random, words: int = 3) -> str:
    return " ".join("".join(draw.choices(LETTERS, k=draw.randint(1, 4))) for _ in range(words))


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return comet_checkpoint.write(tmp_path_factory.mktemp("comet") / "checkpoint")


@pytest.fixture(scope="module")
def directions(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, draw = tmp_path_factory.mktemp("directions"), Random(1)
    rows = [{"id": str(n), "document_id": None, "es": text(draw), "en": text(draw)} for n in range(PAIRS)]
    write_jsonl(rows, folder / "parallel.jsonl")
    learn(
        DirectionsConfig(
            model_name_or_path=str(checkpoint),
            input=folder / "parallel.jsonl",
            source="es",
            output=folder / "es-en",
            pairs=24,
            held_out=6,
            maps=True,
            map_kind="ridge",
            device="cpu",
        )
    )
    return folder / "es-en"


@pytest.fixture(scope="module")
def summaries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two systems' summaries of each document, an empty one, one without a reference and one that is cut."""
    path, draw = tmp_path_factory.mktemp("summaries") / "summaries.jsonl", Random(2)
    rows: list[dict[str, Any]] = [
        {
            "id": f"{document}-{system}",
            "language": "es",
            "dimension": "coherence",
            "system": system,
            "document_id": str(document),
            "document": text(draw, 9),
            "reference": text(draw),
            "summary": text(draw),
            "human_scores": [draw.randint(1, 4), draw.randint(1, 4)],
        }
        for document in range(DOCUMENTS)
        for system in ("a", "b")
    ]
    rows[0]["summary"], rows[1]["reference"], rows[2]["summary"] = " ", None, "ab" * 20
    write_jsonl(rows, path)
    return path


def config(checkpoint: Path, summaries: Path, output: Path, **changes: Any) -> SummariesConfig:
    given: dict[str, Any] = {"metric": "comet", "model_name_or_path": str(checkpoint), "input": summaries}
    return SummariesConfig(**given | {"output": output, "device": "cpu", "resamples": 100} | changes)


@pytest.mark.parametrize(
    ("method", "strengths", "draws"),
    [
        ("map", [0.5, 1.0], 4),
        pytest.param("vector", [-0.3, -0.1, -0.03, 0.03, 0.1, 0.3], 199, marks=pytest.mark.slow),
        pytest.param("map", [0.25, 0.5, 0.75, 1.0], 199, marks=pytest.mark.slow),
    ],
)
def test_the_whole_grid_with_null_draws(
    checkpoint: Path, directions: Path, summaries: Path, tmp_path: Path, method: Any, strengths: list[float], draws: int
) -> None:
    changes = {"directions": [directions], "method": method, "strengths": strengths, "null_draws": draws}
    score(config(checkpoint, summaries, tmp_path / "run", **changes))
    rows = [row for _, row in read_jsonl(tmp_path / "run" / "scores.jsonl")]
    assert len(rows) == 2 * DOCUMENTS * (1 + len(strengths) * (1 + draws))
    assert {row["draw"] for row in rows} == {None, *range(draws)}
    assert {row["id"] for row in rows if row["score"] is None} == {"0-a", "0-b"}
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    [cell] = metrics["cells"]
    assert cell["selection"]["oracle"]["null"]["draws"] == draws
    assert cell["selection"]["oracle"]["null"]["smallest_p"] == pytest.approx(1 / (1 + draws))
    said = "\n".join(metrics["notes"])
    assert "1 empty summaries" in said
    assert "1 summaries without a reference" in said


def test_directions_of_a_language_model_are_refused_before_a_text_is_scored(
    checkpoint: Path, directions: Path, summaries: Path, tmp_path: Path
) -> None:
    facts = directions.parent / "of-lm"
    facts.mkdir()
    for name in ("directions.safetensors", "pairs.safetensors"):
        (facts / name).write_bytes((directions / name).read_bytes())
    stored = json.loads((directions / "directions.json").read_text())
    (facts / "directions.json").write_text(json.dumps(stored | {"hook_point": "residual stream after the layer"}))
    with pytest.raises(ModelError, match="but this model is steered at 'pooled sentence embedding'"):
        score(config(checkpoint, summaries, tmp_path / "run", directions=[facts]))
    assert not (tmp_path / "run" / "scores.jsonl").exists()


def test_comet_s_directions_are_refused_by_gptscore(directions: Path, summaries: Path, tmp_path: Path) -> None:
    model = pico.save(tmp_path / "llama")
    with pytest.raises(ModelError, match="learned at 'pooled sentence embedding'"):
        score(config(model, summaries, tmp_path / "run", metric="gptscore", directions=[directions]))
