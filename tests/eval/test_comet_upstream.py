"""Scores beside those of unbabel-comet 2.2.7, in an environment of its own, on checkpoints that it trains and writes."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
import yaml

from eval.comet import Comet
from tests.environments import environment
from tests.eval.comet_texts import SENTENCES, rows

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("comet_reference.py")
# torch as ours: pip then takes its CPU build where the index has one.
UNBABEL = (
    "unbabel-comet==2.2.7",
    "transformers<5",
    "numpy<2",
    "setuptools<82",
    "sentencepiece==0.2.0",
    f"torch=={torch.__version__.partition('+')[0]}",
)
WMT22: dict[str, Any] = {
    "layer": "mix",
    "layer_transformation": "sparsemax",
    "layer_norm": False,
    "pool": "avg",
    "hidden_sizes": [48, 16],
    "activations": "Tanh",
    "final_activation": None,
    "learning_rate": 0.01,
    "batch_size": 4,
}
CHECKPOINTS = {
    "as wmt22-comet-da": WMT22,
    "softmax": {**WMT22, "layer_transformation": "softmax", "dropout": 0.0},
    "softmax, normed": {**WMT22, "layer_transformation": "softmax", "layer_norm": True},
    "sparsemax, normed, max": {**WMT22, "layer_norm": True, "pool": "max", "final_activation": "Sigmoid"},
    "softmax, cls": {**WMT22, "layer_transformation": "softmax", "pool": "cls", "hidden_sizes": [24]},
    "sparsemax_patch": {**WMT22, "layer_transformation": "sparsemax_patch"},
    "layer 2": {**WMT22, "layer": 2},
    "embeddings, max": {**WMT22, "layer": 0, "pool": "max", "activations": "Sigmoid"},
    "default pool": {**WMT22, "pool": "default"},
}
LONGEST = 510


class Reference(NamedTuple):
    """What unbabel-comet wrote: a folder a checkpoint, and its scores of the rows."""

    folder: Path
    scores: dict[str, list[float]]


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    folder = tmp_path_factory.mktemp("unbabel")
    plan = {
        "corpus": list(SENTENCES.values()),
        "train": [{**row, "score": place / 10} for place, row in enumerate(rows()[:8])],
        "rows": rows(),
        "checkpoints": CHECKPOINTS,
    }
    (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    python = environment("comet", UNBABEL)
    done = subprocess.run(
        [str(python), str(SCRIPT), str(folder / "plan.json"), str(folder)],
        capture_output=True,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return Reference(folder, json.loads((folder / "scores.json").read_text()))


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_scores_equal_unbabels(reference: Reference, name: str) -> None:
    expected = reference.scores[name]
    # Of another size than what may differ, or equality would say nothing.
    assert float(torch.tensor(expected).std()) > 1e-3
    comet = Comet.from_pretrained(reference.folder / name, device="cpu")
    assert comet.score(rows()).tolist() == pytest.approx(expected, abs=1e-5, rel=0)
    assert comet.max_length == LONGEST


def test_mixes_are_not_uniform_and_sparsemax_leaves_layers_out(reference: Reference) -> None:
    mix = Comet.from_pretrained(reference.folder / "as wmt22-comet-da", device="cpu").network.layerwise_attention
    assert 0 < int((mix.shares() == 0).sum()) < len(mix.shares()) - 1
    assert float(mix.gamma) != 1


def test_softmax_in_place_of_sparsemax_would_show(reference: Reference) -> None:
    comet = Comet.from_pretrained(reference.folder / "as wmt22-comet-da", device="cpu")
    comet.network.layerwise_attention.sparse = False
    differences = comet.score(rows()) - torch.tensor(reference.scores["as wmt22-comet-da"])
    assert float(differences.abs().max()) > 1e-3


def test_the_checkpoint_says_more_than_hparams_as_for_unbabel(
    reference: Reference, capsys: pytest.CaptureFixture[str]
) -> None:
    """unbabel-comet takes the class from hparams.yaml, all else from the checkpoint."""
    name = "softmax, cls"
    path = reference.folder / name / "hparams.yaml"
    hparams = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump({**hparams, "pool": "avg", "pretrained_model": "../encoder"}))
    try:
        scores = Comet.from_pretrained(reference.folder / name, device="cpu").score(rows())
    finally:
        path.write_text(yaml.safe_dump(hparams))
    assert scores.tolist() == pytest.approx(reference.scores[name], abs=1e-5, rel=0)
    assert "says pool avg, the checkpoint cls, which is used" in capsys.readouterr().err


def test_a_batch_of_one_scores_the_same(reference: Reference) -> None:
    comet = Comet.from_pretrained(reference.folder / "softmax, normed", device="cpu", batch_size=1)
    assert comet.score(rows()).tolist() == pytest.approx(reference.scores["softmax, normed"], abs=1e-5, rel=0)
