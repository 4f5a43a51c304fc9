"""The weights are mergekit's own, bit for bit: of its command for the recipes here, of its API for every method it has."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from mergekit.merge import run_merge
from mergekit.merge_methods import registered_methods
from mergekit.options import MergeOptions
from safetensors.torch import load_file

from core.config import load_yaml
from core.errors import ConfigError
from merge.recipe import MergeConfig, mergekit_config
from merge.run import main
from tests.conftest import REPO
from tests.merge.checkpoints import judge

# What a method needs besides a weight, or that it takes no weight and density, or how many experts it takes.
SETTINGS: dict[str, dict[str, Any]] = {
    "linear": {"density": None},
    "multislerp": {"density": None},
    "nuslerp": {"density": None},
    "karcher": {"weight": None, "density": None},
    "sce": {"weight": None, "density": None, "parameters": {"select_topk": 0.5}},
    "ram": {"weight": None, "density": None},
    "ramplus_tl": {"weight": None, "density": None},
    "model_stock": {"weight": None, "density": None},
    "slerp": {"weight": None, "density": None, "parameters": {"t": [0.2, 0.7]}, "of": 1},
    "nearswap": {"weight": None, "density": None, "parameters": {"t": 0.01}, "of": 1},
    "arcee_fusion": {"weight": None, "density": None, "of": 1},
    "passthrough": {"weight": None, "density": None, "parameters": {"scale": 0.5}, "of": 1},
    "breadcrumbs": {"parameters": {"gamma": 0.02}},
    "della": {"parameters": {"epsilon": 0.1, "lambda": 0.7}},
}
SHIPPED = ("linear", "ties", "dare_ties")


def folders(tmp_path: Path) -> dict[str, str]:
    return {name: str(judge(tmp_path / name, seed=seed)) for seed, name in enumerate(("base", "hi", "fr"))}


def recipe(method: str, tmp_path: Path, **changes: Any) -> MergeConfig:
    given = {"weight": 0.15, "density": 0.5, **SETTINGS.get(method, {}), **changes}
    models = folders(tmp_path)
    experts = {name: models[name] for name in ("hi", "fr")[: given.pop("of", 2)]}
    values = {"merge_method": method, "experts": experts, "base_model": models["base"], **given}
    return MergeConfig.model_validate({"output_dir": str(tmp_path / "ours"), **values})


def as_mergekit(config: MergeConfig, folder: Path) -> Path:
    """The merge by mergekit's own API."""
    experts = {name: Path(expert.model) for name, expert in config.experts.items()}
    plain = mergekit_config(config, {**experts, "base_model": Path(config.base_model or "")})
    run_merge(plain, str(folder), MergeOptions(random_seed=config.seed, write_model_card=False, quiet=True))
    return folder / "model.safetensors"


@pytest.mark.slow
@pytest.mark.parametrize("method", [known.spec.name for known in registered_methods()])
def test_every_method_goes_through_by_name(tmp_path: Path, method: str) -> None:
    config = recipe(method, tmp_path)
    main(config)
    ours = tmp_path / "ours" / "model.safetensors"
    assert ours.read_bytes() == as_mergekit(config, tmp_path / "theirs").read_bytes()
    name = "model.layers.0.mlp.up_proj.weight"
    assert not load_file(ours)[name].equal(load_file(tmp_path / "hi" / "model.safetensors")[name])


@pytest.mark.slow
@pytest.mark.parametrize("method", SHIPPED)
def test_the_shipped_recipes_are_those_of_mergekit_yaml(tmp_path: Path, method: str) -> None:
    """The real command, in another process with another hash seed and set order."""
    shipped = load_yaml(REPO / f"configs/merge/{method}.yaml")
    models = folders(tmp_path)
    settings = {name: shipped[name] for name in ("weight", "density") if name in shipped}
    theirs = {
        "merge_method": method,
        "models": [{"model": models[name], "parameters": settings} for name in ("hi", "fr")],
        "parameters": shipped["parameters"],
        "dtype": shipped["dtype"],
    }
    ours = {**shipped, "experts": {name: models[name] for name in ("hi", "fr")}, "output_dir": str(tmp_path / "ours")}
    if method != "linear":
        theirs["base_model"] = ours["base_model"] = models["base"]
    main(MergeConfig.model_validate(ours))
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(theirs), "utf-8")
    command = [
        str(Path(sys.executable).parent / "mergekit-yaml"),
        str(tmp_path / "recipe.yaml"),
        str(tmp_path / "theirs"),
    ]
    flags = ["--random-seed", str(shipped.get("seed", 42)), "--no-write-model-card"]
    env = {**os.environ, "PYTHONHASHSEED": "7", "OMP_NUM_THREADS": "1"}
    subprocess.run([*command, *flags], env=env, check=True, capture_output=True, timeout=300)
    assert (tmp_path / "ours/model.safetensors").read_bytes() == (tmp_path / "theirs/model.safetensors").read_bytes()


def test_random_methods_follow_their_seed(tmp_path: Path) -> None:
    made = []
    for run, seed in enumerate((7, 7, 8)):
        config = recipe("dare_ties", tmp_path, seed=seed, output_dir=str(tmp_path / f"dare{run}"))
        main(config)
        made.append(Path(config.output_dir, "model.safetensors").read_bytes())
        assert f"seed: {seed}" in Path(config.output_dir, "merge.yaml").read_text("utf-8")
    assert made[0] == made[1]
    assert made[0] != made[2]


def test_shards_are_of_the_size_asked_for(tmp_path: Path) -> None:
    main(recipe("linear", tmp_path, max_shard_size="10KB"))
    output = tmp_path / "ours"
    shards = sorted(output.glob("model-*.safetensors"))
    # Embeddings and head are larger than a shard may be, and stand alone.
    assert [shard.stat().st_size < 12_000 for shard in shards].count(False) == 2
    assert not (output / "model.safetensors").exists()
    weight_map = load_yaml(output / "model.safetensors.index.json")["weight_map"]
    assert {name: shard.name for shard in shards for name in load_file(shard)} == weight_map


def test_what_a_method_alone_knows_to_be_wrong_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"della: Epsilon must be chosen such that density .*; correct the recipe"):
        main(recipe("della", tmp_path, parameters={"epsilon": 0.6}))
    assert not (tmp_path / "ours").exists()
