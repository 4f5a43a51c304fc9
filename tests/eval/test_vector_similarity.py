"""eval.vector_similarity on vectors whose cosines are plain."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.config import exit_status, parse_config
from eval.steering.directions import Directions
from eval.vector_similarity import VectorSimilarityConfig, main


def folder(tmp_path: Path, source: str | None, vectors: dict[int, list[float]], **facts: Any) -> Path:
    path = tmp_path / (source or "unknown")
    Directions.from_vectors(vectors, **{"source": source, "pivot": "en", **facts}).save(path)
    return path


def run(tmp_path: Path, *folders: Path) -> int:
    words = ["--directions", *map(str, folders), "--output", str(tmp_path / "out")]
    return exit_status(lambda: main(parse_config(VectorSimilarityConfig, words)))


def test_cosines_by_layer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Layer 0: hi and fr point the same way, yo across. Layer 2: 3-4-5, 4-3-5 and their opposite."""
    folders = [
        folder(tmp_path, "hi", {0: [1.0, 0.0], 2: [3.0, 4.0]}),
        folder(tmp_path, "fr", {0: [5.0, 0.0], 2: [4.0, 3.0]}),
        folder(tmp_path, "yo", {0: [0.0, 2.0], 2: [-3.0, -4.0]}),
    ]
    assert run(tmp_path, *folders) == 0
    found = json.loads((tmp_path / "out" / "similarity.json").read_text())
    assert (found["languages"], found["pivot"]) == (["hi", "fr", "yo"], "en")
    assert [each["languages"] for each in found["cosines"]["0"]] == [["hi", "fr"], ["hi", "yo"], ["fr", "yo"]]
    assert [each["cosine"] for each in found["cosines"]["0"]] == pytest.approx([1, 0, 0])
    assert [each["cosine"] for each in found["cosines"]["2"]] == pytest.approx([0.96, -1, -0.96])
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    assert table[0] == ["layer", "hi", "fr", "yo"]
    # Means with the two others: (1 + 0) / 2, (.96 − 1) / 2, (.96 − .96) / 2, (−1 − .96) / 2.
    assert table[2:4] == [["0", "0.500", "0.500", "0.000"], ["2", "-0.020", "0.000", "-0.980"]]


@pytest.mark.parametrize(
    ("source", "vectors", "facts", "message"),
    [
        ("fr", {0: [1.0, 0.0]}, {"pivot": "hi"}, "differ in pivot"),
        ("fr", {1: [1.0, 0.0]}, {}, "differ in layers"),
        ("fr", {0: [1.0]}, {}, "differ in hidden_size"),
        ("fr", {0: [1.0, 0.0]}, {"fingerprint": [2.0]}, "differ in fingerprint"),
        ("fr", {0: [0.0, 0.0]}, {}, "the vector of layer 0 is zero"),
        (None, {0: [1.0, 0.0]}, {}, "does not say its source language"),
    ],
)
def test_what_does_not_compare_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], source: Any, vectors: Any, facts: Any, message: str
) -> None:
    first = folder(tmp_path, "hi", {0: [1.0, 0.0]})
    assert run(tmp_path, first, folder(tmp_path, source, vectors, **facts)) == 2
    assert message in capsys.readouterr().err
    assert run(tmp_path, first, first) == 2
    assert "hi has a folder already" in capsys.readouterr().err
