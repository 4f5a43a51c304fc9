"""The real prompt files of AI4Bharat/CIA go through the stages: kept parts are kept byte for byte, missing ones are made."""

import ast
import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from core.records import read_records
from data_prep.recon import main
from data_prep.recon_options import ReconConfig
from data_prep.recon_stages.prompts import RUBRIC, SCORES
from tests.data_prep.scripted_writer import write
from tests.scripted_server import Answers, ScriptedServer

pytestmark = pytest.mark.real
COLUMNS = {"instruction": "input", "rubric": "specific_rubric"}


def sources(shared_data: Path) -> list[Path]:
    return sorted((shared_data / "raw/cia_artifacts").glob("*.tsv"))


def originals(paths: list[Path]) -> dict[str, dict[str, str]]:
    csv.field_size_limit(2**31 - 1)
    rows: dict[str, dict[str, str]] = {}
    for path in paths:
        with open(path, encoding="utf-8", newline="") as handle:
            rows |= {row["id"]: row for row in csv.DictReader(handle, delimiter="\t")}
    return rows


def make(folder: Path, paths: list[Path], server: ScriptedServer, **fields: Any) -> Path:
    values = {"output": folder / "out", "store": folder / "store", "base_url": server.base_url, "model": "scripted"}
    main(ReconConfig(**{**values, "input": paths, "columns": COLUMNS, **fields}))
    return folder / "out"


def rows(path: Path) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())}


def test_whole_sources_lose_nothing_and_gain_what_they_lack(shared_data: Path, tmp_path: Path) -> None:
    paths = sources(shared_data)
    before = originals(paths)
    with ScriptedServer(Answers(write)) as server:
        out = make(tmp_path, paths, server, quoting="csv")
    # 60 prompts of the second file have no capability; 10 responses are empty at the source, one of them with feedback.
    assert Counter(body["temperature"] for body in server.bodies) == {0: 60, 0.5: 10}
    scored = rows(out / "responses.jsonl")
    assert len(scored) == 600
    assert Counter(tuple(row["made"]) for row in scored.values()) == {
        (): 590,
        ("response",): 1,
        ("response", "feedback"): 9,
    }
    for row in scored.values():
        for name in ("response", "feedback"):
            if name not in row["made"]:
                assert row[name] == before[row["item_id"]][f"score_{row['score']}_{name}"]
    made = read_records(out / "records-en.jsonl")
    assert Counter(row.score for row in made) == dict.fromkeys(SCORES, 24)
    for record in made:
        old = before[record.item_id]
        cell = old["specific_rubric"]
        rubric = json.loads(cell) if cell.startswith('{"') else ast.literal_eval(cell)
        assert {name: getattr(record, name) for name in RUBRIC} == {name: rubric[name] for name in RUBRIC}
        assert (record.instruction, record.reference_answer) == (old["input"], old["reference_answer"])
        assert (record.system_prompt or "", record.source) == (old["system_prompt"], old["source"])
        assert record.capability == (old["capability"] or "planning")
        assert record.extra["general_rubric"] == old["general_rubric"]
    assert rows(out / "rejected.jsonl") == {}


def test_parts_that_are_taken_out_are_made_and_the_rest_stays(shared_data: Path, tmp_path: Path) -> None:
    """Of 20 prompts every second has no rubric, every third no reference, every fifth no responses; bad answers share 10 %."""
    before = dict(list(originals(sources(shared_data)).items())[50:70])
    stripped = tmp_path / "stripped.jsonl"
    with open(stripped, "w", encoding="utf-8") as file:
        for place, row in enumerate(before.values()):
            gone = ["specific_rubric"] if place % 2 == 0 else []
            gone += ["reference_answer"] if place % 3 == 0 else []
            gone += [name for name in row if name.startswith("score_")] if place % 5 == 0 else []
            file.write(json.dumps({**row, **dict.fromkeys(gone)}) + "\n")
    with ScriptedServer(Answers(write, bad_share=0.1)) as server:
        out = make(tmp_path, [stripped], server, languages=["bn"], attempts=4)
    rubrics, references = rows(out / "rubrics.jsonl"), rows(out / "references.jsonl")
    scored = rows(out / "responses.jsonl")
    for place, (name, row) in enumerate(before.items()):
        assert bool(rubrics[name]["made"]) == (place % 2 == 0)
        assert references[name]["made"] == (["reference_answer"] if place % 3 == 0 else [])
        assert place % 3 == 0 or references[name]["reference_answer"] == row["reference_answer"]
        for score in SCORES:
            kept = place % 5 and row[f"score_{score}_response"]
            assert not kept or scored[f"{name}__s{score}"]["response"] == row[f"score_{score}_response"]
            assert kept or "response" in scored[f"{name}__s{score}"]["made"]
    english, bengali = (read_records(out / f"records-{code}.jsonl") for code in ("en", "bn"))
    assert [(row.item_id, row.score) for row in english] == [(row.item_id, row.score) for row in bengali]
    rejected = [row["stage"] for row in rows(out / "rejected.jsonl").values()]
    assert len(english) >= 20 - len(rejected)
    counts = Counter(row.score for row in english)
    assert max(counts.values()) - min(counts[score] for score in SCORES) <= 1
