"""eval.summaries: input that is wrong, told in one line before anything is scored, or missing; the grids of fields."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.config import parse_config
from core.errors import ConfigError
from eval.steering.directions import Directions
from eval.steering.pair_states import PairStates
from eval.summaries import SummariesConfig
from tests.eval.summaries_for_tests import (
    command,
    directions,
    learned,
    outcome,
    run,
    summaries,
    write,
    write_text,
)
from tests.pico import save as save_pico


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_pico(tmp_path_factory.mktemp("model") / "pico", chat_template=None)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["--language", "xx"], "has no language 'xx'; it has fr"),
        (["--dimension", "style"], "has no dimension 'style'; it has coherence"),
        (["--metric", "bleu"], "gptscore"),
        (["--metric", "comet"], "hparams"),
        (["--strengths", "1"], "strengths needs directions"),
        (["--null_draws", "2"], "null_draws needs directions"),
        (["--given", "document", "--metric", "direct", "--positions", "all", "--comet_steer", "mt"], "only counts for"),
        (["--directions", "DIR", "--layer_sets", "[0, 7]"], "names layer 7"),
        (["--directions", "DIR", "--null_draws", "2"], "keep_pairs: true"),
        (["--directions", "DIR", "--null_language", "fr"], "set null_draws"),
        (["--directions", "DIR", "--dev", "IN", "--null_draws", "2"], "leave out dev or null_draws"),
        (["--directions", "DIR", "--dev", "absent.jsonl"], "cannot be read"),
        (["--directions", "DIR", "--dev", "UNRATED"], "no human-scored fr summary on coherence"),
        (["--directions", "DIR", "--dev", "OTHER_CELL"], "no human-scored fr summary on coherence"),
        (["--directions", "DIR", "--null_draws", "2", "--null_language", "hi"], "null_language: hi is unknown"),
        (["--directions", "KEPT", "--null_draws", "2", "--null_dimension", "coherense"], "did you mean coherence?"),
        (["--directions", "FOREIGN", "--null_draws", "2"], "other pairs than taught the vector"),
        (["--directions", "FOREIGN"], "other pairs than taught the vector"),
        (["--metric", "direct", "--prompt_language", "target", "--input", "SWAHILI"], "no prompt is written in 'sw'"),
        (["--directions", "DIR", "--method", "map"], "has no map"),
        (["--directions", "DIR", "--scale", "raw"], "give strengths"),
        (["--directions", "DIR", "--method", "map", "--strengths", "2"], "from 0 to 1"),
        (["--directions", "DIR", "--method", "map", "--scale", "raw"], "scale raw is of a vector"),
        (["--directions", "DIR", "--strengths", ".nan"], "correct strengths"),
        (["--directions", "DIR", "--strengths", "1e39"], "correct strengths"),
        (["--directions", "DIR", "DIR"], "two folders of directions are for fr"),
        (["--directions", "OTHER"], "other: directions were learned on another model"),
        (["--directions", "NAMELESS"], "does not say its source language"),
        (["--directions", "absent"], "no folder of directions"),
        (["--model_name_or_path", "./absent"], "does not exist"),
        (["--device", "tape"], "no device tape"),
        (["--input", "HEADER"], "header.csv holds no rows"),
        (["--input", "HALF"], "half of a character ('fr-coherence-0')"),
    ],
)
def test_wrong_input(
    tmp_path: Path, model_folder: Path, capsys: pytest.CaptureFixture[str], changes: list[str], message: str
) -> None:
    folders = {
        "DIR": directions(tmp_path / "fr"),
        "OTHER": directions(tmp_path / "other", fingerprint=[1.0, 2.0]),
        "NAMELESS": directions(tmp_path / "nameless", source=None),
        "IN": tmp_path / "in.jsonl",
        "HALF": write_text(tmp_path / "half.jsonl", json.dumps(summaries()[0] | {"summary": "a\ud800"}) + "\n"),
        "UNRATED": write(tmp_path / "unrated.jsonl", summaries(rated=False)),
        "OTHER_CELL": write(tmp_path / "other.jsonl", summaries(dimension="completeness")),
        "HEADER": write_text(tmp_path / "header.csv", "id,language\n"),
        "SWAHILI": write(tmp_path / "sw.jsonl", [*summaries(), *summaries("sw")]),
    }
    if "KEPT" in changes or "FOREIGN" in changes:
        folders |= {name: learned(tmp_path / name, model_folder) for name in ("KEPT", "FOREIGN")}
        states = PairStates.load(folders["KEPT"], Directions.load(folders["KEPT"]))
        states._replace(source=states.source.flip(2)).save(folders["FOREIGN"])
    words = [folders.get(word, word) for word in changes]
    assert run(*command(tmp_path, model_folder, summaries(), *words)) == 2
    assert not (tmp_path / "out" / "scores.jsonl").exists()
    told = capsys.readouterr().err.strip().splitlines()[-1]
    assert told.startswith("error: ")
    assert message in told


def test_default_grids() -> None:
    given: dict[str, Any] = {"model_name_or_path": "m", "input": "i", "output": "o", "directions": ["d"]}
    assert SummariesConfig(**given).grid() == [-0.3, -0.1, -0.03, 0.0, 0.03, 0.1, 0.3]
    assert SummariesConfig(**given, method="map").grid() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert SummariesConfig(**given, strengths=[0.5, -0.5, 0.5]).grid() == [-0.5, 0.0, 0.5]


def test_grid_errors_are_config_errors() -> None:
    words = ["--model_name_or_path", "m", "--input", "i", "--output", "o", "--directions", "d", "--scale", "raw"]
    with pytest.raises(ConfigError, match="no default strengths"):
        parse_config(SummariesConfig, words)


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
    assert [note.partition(" ")[2] for note in metrics["notes"]] == [
        "1 empty summaries: missing, not scored: fr-coherence-1",
        "1 summaries with texts longer than the model reads (documents shortened visibly; by COMET, read up to its limit): fr-coherence-2",
        "1 summaries that leave no room for their document: not scored: fr-coherence-3",
    ]
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    counts = {"summaries": 5, "empty summary": 1, "shortened": 1, "too long": 1}
    assert manifest["counts"]["fr"] == counts
