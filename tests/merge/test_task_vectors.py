"""Sums over task vectors read in pieces: equal to those of whole vectors, with the trim that TIES makes."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from core.errors import ModelError
from merge import task_vectors
from merge.headers import read_headers
from merge.task_vectors import Sums, floor_of, layer_of, sums_by_layer

SHAPES = {"model.embed_tokens.weight": (11, 5), "model.layers.0.up.weight": (7, 3), "model.norm.weight": (5,)}


def models(tmp_path: Path, count: int) -> list[dict[str, torch.Tensor]]:
    """A base and experts with random tensors, written as folders 0, 1, ..."""
    random = torch.Generator().manual_seed(0)
    made = [{name: torch.randn(shape, generator=random) for name, shape in SHAPES.items()} for _ in range(count + 1)]
    for at, tensors in enumerate(made):
        (tmp_path / str(at)).mkdir()
        save_file(tensors, tmp_path / str(at) / "model.safetensors", {"format": "pt"})
    return made


def summed(tmp_path: Path, count: int, density: float = 1.0) -> dict[str, Sums]:
    base, *experts = (read_headers(tmp_path / str(at)) for at in range(count + 1))
    return sums_by_layer(base, {str(at): headers for at, headers in enumerate(experts)}, density)


@pytest.mark.parametrize("piece", [4, 2**22])
def test_the_sums_are_those_of_whole_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    monkeypatch.setattr(task_vectors, "PIECE", piece)
    base, *experts = models(tmp_path, 3)
    layers = summed(tmp_path, 3)
    assert list(layers) == ["model.embed_tokens", "0", "model.norm"]
    for name in SHAPES:
        changes = torch.stack([(expert[name] - base[name]).flatten() for expert in experts]).double()
        sums = layers[layer_of(name)]
        assert sums.parameters == changes.shape[1]
        assert sums.base == pytest.approx(float(base[name].double().square().sum()))
        torch.testing.assert_close(sums.dots, changes @ changes.T, rtol=1e-5, atol=1e-5)
        opposed = (changes.sign()[:, None] * changes.sign()[None] < 0).sum(dim=2)
        assert torch.equal(sums.opposed, opposed.double())
        assert sums.touched == sums.parameters
        assert sums.conflicts == int((changes.sign().sum(dim=0).abs() < 3).sum())
        # Three values, all not zero: one in four draws of signs has all of them alike.
        assert sums.chance == pytest.approx(0.75 * sums.parameters)


def test_signs_are_counted_in_what_trimming_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_vectors, "PIECE", 4)
    base, *experts = models(tmp_path, 2)
    layers = summed(tmp_path, 2, density=0.4)
    for name in SHAPES:
        left = []
        for expert in experts:
            change = (expert[name] - base[name]).flatten()
            keep = change.abs().argsort(descending=True)[: int(0.4 * change.numel())]
            left.append(torch.zeros_like(change).index_copy(0, keep, change[keep]))
        both = (left[0] != 0) & (left[1] != 0)
        sums = layers[layer_of(name)]
        assert int(sums.shared[0, 1]) == sums.touched == int(both.sum())
        assert int(sums.opposed[0, 1]) == sums.conflicts == int((left[0] * left[1] < 0).sum())


@pytest.mark.parametrize("keep", [1, 2, 5, 9, 10])
def test_the_floor_is_the_magnitude_of_the_last_that_is_kept(keep: int) -> None:
    # 1 and 1 + 2^-20 share the upper half of their bits; -3 and 3 are one magnitude.
    values = torch.tensor([1.0, 1 + 2**-20, -3.0, 3.0, 0.0, -0.5, 7.0, 1e-30, -2.0, 2.5])
    pieces = [values[:4], values[4:5], values[5:]]
    assert floor_of(lambda: iter(pieces), keep) == float(values.abs().sort(descending=True).values[keep - 1])


@pytest.mark.parametrize(("who", "named"), [(0, "the base"), (2, "in 1 ")])
def test_a_value_that_is_no_number_names_tensor_and_model(tmp_path: Path, who: int, named: str) -> None:
    made = models(tmp_path, 2)
    made[who]["model.layers.0.up.weight"][2, 1] = float("nan")
    save_file(made[who], tmp_path / str(who) / "model.safetensors", {"format": "pt"})
    with pytest.raises(ModelError, match=rf"model\.layers\.0\.up\.weight holds NaN or infinity .*{named}"):
        summed(tmp_path, 2)
