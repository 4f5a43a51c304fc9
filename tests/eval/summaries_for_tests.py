"""Summaries, directions and runs of eval.summaries that its tests share."""

import json
from pathlib import Path
from typing import Any

import torch

from core.config import exit_status, parse_config
from core.records import ScoreRow, SummaryRecord, read_rows
from eval.directions import DirectionsConfig
from eval.directions import main as learn_directions
from eval.gptscore import GPTScore, PreparedSummary
from eval.steering.directions import Directions
from eval.summaries import SummariesConfig, main

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
    return write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def write_text(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def directions(folder: Path, source: str | None = "fr", **facts: Any) -> Path:
    draw = torch.Generator().manual_seed(1)
    vectors = {layer: torch.randn(32, generator=draw) for layer in (0, 1)}
    Directions.from_vectors(vectors, source=source, pivot="en", mean_norms={0: 5.0, 1: 5.0}, **facts).save(folder)
    return folder


def run(*words: Any) -> int:
    return exit_status(lambda: main(parse_config(SummariesConfig, [str(word) for word in words])))


def command(folder: Path, model: Path, rows: list[dict[str, Any]], *words: Any) -> list[Any]:
    given = ["--metric", "gptscore", "--model_name_or_path", model, "--input", write(folder / "in.jsonl", rows)]
    return [*given, "--output", folder / "out", "--resamples", "200", *words]


def prepared(metric: GPTScore, row: dict[str, Any]) -> PreparedSummary:
    found = metric.prepare(SummaryRecord(**row))
    assert isinstance(found, PreparedSummary)
    return found


def outcome(folder: Path) -> tuple[dict[tuple[str, float], ScoreRow], dict[str, Any]]:
    rows = read_rows(folder / "out" / "scores.jsonl", ScoreRow, unique=False)
    return {(row.id, row.strength): row for row in rows}, json.loads((folder / "out" / "metrics.json").read_text())


def learned(folder: Path, model: Path, source: str = "fr", *words: str) -> Path:
    """Directions that eval.directions learns from six pairs, two more held out."""
    pairs = [{"id": str(n), source: f"La réponse {n} est juste.", "en": f"The answer {n} is right."} for n in range(8)]
    given = ["--model_name_or_path", model, "--input", write(folder.parent / f"{source}.jsonl", pairs)]
    given += ["--source", source, "--output", folder, "--pairs", "6", "--held_out", "2", *words]
    assert exit_status(lambda: learn_directions(parse_config(DirectionsConfig, list(map(str, given))))) == 0
    return folder
