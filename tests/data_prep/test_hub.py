"""Hub data sets, over real HTTP to a server on loopback."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.prompt import build_messages
from core.records import read_parallel, read_records
from tests.conftest import REPO
from tests.core.records_for_tests import record
from tests.hub_server import HubServer


def card(*configs: str, split: str) -> bytes:
    listed = "".join(
        f"- config_name: {name}\n  data_files: [{{split: {split}, path: {name}.jsonl}}]\n" for name in configs
    )
    return f"---\nconfigs:\n{listed}---\n".encode()


def lines(*rows: dict[str, object]) -> bytes:
    return "\n".join(json.dumps(row) for row in rows).encode()


def run(module: str, output: Path, endpoint: str, *flags: str) -> subprocess.CompletedProcess[str]:
    settings = {
        "HF_ENDPOINT": endpoint,
        "HF_HOME": str(output.parent / "hf"),
        "HF_HUB_OFFLINE": "0" if endpoint else "1",
    }
    command = [sys.executable, "-m", f"data_prep.{module}", *flags, "--output", str(output)]
    return subprocess.run(
        command, cwd=REPO, env={**os.environ, **settings}, capture_output=True, text=True, timeout=120
    )


RECON = ("--config", "configs/data_prep/recon.yaml")
FLORES = ("--config", "configs/data_prep/flores.yaml", "--language", "en", "hi")


@pytest.mark.slow
def test_a_configuration_and_split_of_a_hub_data_set(tmp_path: Path) -> None:
    def judged(code: str) -> bytes:
        prompts = [build_messages(record(response=f"{code} {score}"), "hercule") for score in range(1, 6)]
        rows = [{"messages": m, "orig_score": n, "orig_feedback": f"f{n}"} for n, m in enumerate(prompts, start=1)]
        return lines(*rows)

    files = {"README.md": card("hi", "te", split="test"), "hi.jsonl": judged("hi"), "te.jsonl": judged("te")}
    with HubServer() as hub:
        hub.add("dataset", "ai4bharat/recon", files)
        done = run("convert", tmp_path / "te.jsonl", hub.endpoint, *RECON, "--language", "te")
        assert done.returncode == 0, done.stderr
        records = read_records(tmp_path / "te.jsonl")
        assert [(r.response, r.language, r.score) for r in records] == [(f"te {n}", "te", n) for n in range(1, 6)]
        assert {r.source for r in records} == {"recon"}

        wrong = run("convert", tmp_path / "fr.jsonl", hub.endpoint, *RECON, "--language", "fr")
        assert wrong.returncode == 2
        assert "BuilderConfig 'fr' not found. Available: ['hi', 'te']" in wrong.stderr
        assert not (tmp_path / "fr.jsonl").exists()


@pytest.mark.slow
def test_a_hub_id_offline_is_one_line(tmp_path: Path) -> None:
    done = run("convert", tmp_path / "hi.jsonl", "", *RECON, "--language", "hi")
    assert done.returncode == 2
    assert "data set ai4bharat/recon hi test cannot be loaded" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "hi.jsonl").exists()


@pytest.mark.slow
def test_flores_is_matched_by_id_whatever_the_order(tmp_path: Path) -> None:
    english = [{"id": n, "text": f"Sentence {n}.", "url": f"https://page/{n // 2}"} for n in range(4)]
    hindi = [{"id": n, "text": f"वाक्य {n}।", "url": f"https://page/{n // 2}"} for n in (2, 0, 3, 1)]
    files = {
        "README.md": card("eng_Latn", "hin_Deva", split="dev"),
        "eng_Latn.jsonl": lines(*english),
        "hin_Deva.jsonl": lines(*hindi),
    }
    with HubServer() as hub:
        repo = hub.add("dataset", "openlanguagedata/flores_plus", files)
        done = run("parallel", tmp_path / "flores.jsonl", hub.endpoint, *FLORES)
        assert done.returncode == 0, done.stderr
        rows = read_parallel(tmp_path / "flores.jsonl", ["en", "hi"])
        assert [(row["id"], row["en"], row["hi"]) for row in rows] == [
            (f"dev-{n}", f"Sentence {n}.", f"वाक्य {n}।") for n in range(4)
        ]
        # Two sentences a page, so two documents.
        assert [row["document_id"] for row in rows] == ["https://page/0"] * 2 + ["https://page/1"] * 2

        repo.gated = True
        refused = run("parallel", tmp_path / "gated" / "flores.jsonl", hub.endpoint, *FLORES)
        assert refused.returncode == 2
        error = refused.stderr.strip()
        assert len(error.splitlines()) == 1
        assert "accept its terms at https://huggingface.co/datasets/openlanguagedata/flores_plus" in error
        assert "hf auth login" in error
        assert "NTREX needs no login" in error
        assert not (tmp_path / "gated" / "flores.jsonl").exists()


@pytest.mark.slow
def test_flores_languages_that_differ_in_their_sentences_are_refused(tmp_path: Path) -> None:
    files = {
        "README.md": card("eng_Latn", "hin_Deva", split="dev"),
        "eng_Latn.jsonl": lines({"id": 1, "text": "One."}, {"id": 2, "text": "Two."}),
        "hin_Deva.jsonl": lines({"id": 1, "text": "एक।"}),
    }
    with HubServer() as hub:
        hub.add("dataset", "openlanguagedata/flores_plus", files)
        done = run("parallel", tmp_path / "flores.jsonl", hub.endpoint, *FLORES)
    assert done.returncode == 2
    assert "en: 1 rows have no counterpart in hi (2)" in done.stderr
