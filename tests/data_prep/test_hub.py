"""Hub data sets, over real HTTP to a server on loopback."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.prompt import build_messages
from core.records import read_records
from tests.conftest import REPO
from tests.core.records_for_tests import record
from tests.data_prep.hub_server import serve

CARD = b"""---
configs:
- config_name: hi
  data_files: [{split: test, path: hi.jsonl}]
- config_name: te
  data_files: [{split: test, path: te.jsonl}]
---
"""


def convert(output: Path, endpoint: str, *flags: str) -> subprocess.CompletedProcess[str]:
    given = ["--config", str(REPO / "configs/data_prep/recon.yaml"), "--output", str(output), *flags]
    settings = {
        "HF_ENDPOINT": endpoint,
        "HF_HOME": str(output.parent / "hf"),
        "HF_HUB_OFFLINE": "0" if endpoint else "1",
    }
    command = [sys.executable, "-m", "data_prep.convert", *given]
    return subprocess.run(
        command, cwd=REPO, env={**os.environ, **settings}, capture_output=True, text=True, timeout=120
    )


@pytest.mark.slow
def test_a_configuration_and_split_of_a_hub_data_set(tmp_path: Path) -> None:
    def lines(code: str) -> bytes:
        prompts = [build_messages(record(response=f"{code} {score}"), "hercule") for score in range(1, 6)]
        rows = [{"messages": m, "orig_score": n, "orig_feedback": f"f{n}"} for n, m in enumerate(prompts, start=1)]
        return "\n".join(json.dumps(row) for row in rows).encode()

    files = {"README.md": CARD, "hi.jsonl": lines("hi"), "te.jsonl": lines("te")}
    with serve("ai4bharat/recon", files) as endpoint:
        done = convert(tmp_path / "te.jsonl", endpoint, "--language", "te")
        assert done.returncode == 0, done.stderr
        records = read_records(tmp_path / "te.jsonl")
        assert [(r.response, r.language, r.score) for r in records] == [(f"te {n}", "te", n) for n in range(1, 6)]
        assert {r.source for r in records} == {"recon"}

        wrong = convert(tmp_path / "fr.jsonl", endpoint, "--language", "fr")
        assert wrong.returncode == 2
        assert "BuilderConfig 'fr' not found. Available: ['hi', 'te']" in wrong.stderr
        assert not (tmp_path / "fr.jsonl").exists()


@pytest.mark.slow
def test_a_hub_id_offline_is_one_line(tmp_path: Path) -> None:
    done = convert(tmp_path / "hi.jsonl", "", "--language", "hi")
    assert done.returncode == 2
    assert "data set ai4bharat/recon hi test cannot be loaded" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "hi.jsonl").exists()
