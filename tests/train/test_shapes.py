"""Stored shapes give the published numbers of parameters, and a folder's config.json the number that its model has."""

from pathlib import Path

import pytest

from core.errors import ModelError
from tests import pico
from train.load import load_model
from train.shapes import shape_of, stored_shapes

# As the safetensors files on the Hub count them.
PUBLISHED = {
    "meta-llama/Llama-3.1-8B-Instruct": 8_030_261_248,
    "meta-llama/Llama-3.2-3B-Instruct": 3_212_749_824,
    "google/gemma-1.1-7b-it": 8_537_680_896,
    "google/gemma-1.1-2b-it": 2_506_172_416,
    "google/gemma-2b": 2_506_172_416,
    "CohereForAI/aya-23-8B": 8_028_033_024,
    "CohereLabs/aya-expanse-8b": 8_028_033_024,
    "Qwen/Qwen3-4B-Instruct-2507": 4_022_468_096,
    "google/gemma-3-270m": 268_098_176,
}


@pytest.mark.parametrize("model", PUBLISHED)
def test_a_stored_shape_has_the_published_number_of_parameters(model: str) -> None:
    assert shape_of(model).parameters == PUBLISHED[model]


def test_only_sarvams_number_is_unconfirmed() -> None:
    assert set(stored_shapes()) - set(PUBLISHED) == {"sarvamai/sarvam-2b-v0.5"}
    assert shape_of("sarvamai/sarvam-2b-v0.5").parameters == pytest.approx(2.5e9, rel=0.02)


def test_lora_on_all_linear_projections_is_the_papers_half_percent() -> None:
    shape = shape_of("meta-llama/Llama-3.1-8B-Instruct", lora_r=16)
    # A layer's q and o are 4096 x 4096, k and v 4096 x 1024, gate, up and down 4096 x 14336; A and B add both sides.
    layer = 2 * (4096 + 4096) + 2 * (4096 + 1024) + 3 * (4096 + 14336)
    assert shape.trained == 32 * 16 * layer == 41_943_040
    assert shape.trained / (shape.parameters + shape.trained) == pytest.approx(0.0052, abs=5e-5)
    named = shape_of("meta-llama/Llama-3.1-8B-Instruct", 16, ["q_proj", "v_proj"])
    assert named.trained == 32 * 16 * (8192 + 5120)
    assert shape_of("meta-llama/Llama-3.1-8B-Instruct", 16, r".*\.q_proj").trained == 32 * 16 * 8192


@pytest.mark.parametrize("kind", ["llama", "gemma3", "bloom"])
def test_a_folder_is_measured_from_its_config(kind: str, tmp_path: Path) -> None:
    pico.save(tmp_path, kind)
    expected = sum(weight.numel() for weight in load_model(tmp_path, device="cpu").parameters())
    (tmp_path / "model.safetensors").unlink()
    assert shape_of(str(tmp_path)).parameters == expected


def test_an_unknown_model_without_a_hub_is_said_to_be_unknown() -> None:
    with pytest.raises(ModelError, match="the size of nobody/nothing is unknown"):
        shape_of("nobody/nothing")
