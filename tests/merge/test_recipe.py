"""The recipe: what an expert may be, what it inherits, and which mistakes are found before anything loads."""

from pathlib import Path
from typing import Any

import pytest

from core.config import parse_config, validate
from core.errors import ConfigError
from merge.recipe import BASE, MergeConfig, check_method, mergekit_config
from tests.conftest import REPO

TIES = {
    "merge_method": "ties",
    "base_model": "base",
    "experts": {"hi": "runs/hi", "fr": "runs/fr"},
    "weight": 0.15,
    "density": 0.5,
    "output_dir": "out",
}


def recipe(**changes: Any) -> MergeConfig:
    values = {name: value for name, value in {**TIES, **changes}.items() if value is not None}
    return validate(MergeConfig, values, "recipe.yaml")


def test_an_expert_is_a_name_or_a_name_with_its_own_settings() -> None:
    config = recipe(experts={"hi": {"model": "runs/hi", "weight": 0.3}, "fr": "runs/fr"})
    assert config.experts["fr"].model == "runs/fr"
    assert config.settings("hi") == {"weight": 0.3, "density": 0.5}
    assert config.settings("fr") == {"weight": 0.15, "density": 0.5}
    assert config.donor == "hi"
    assert recipe(tokenizer_from="fr").donor == "fr"


def test_mergekit_gets_the_base_only_where_the_method_reads_it() -> None:
    folders = {"hi": Path("a+b@c"), "fr": Path("runs/fr"), BASE: Path("base")}
    ties = mergekit_config(recipe(parameters={"normalize": False}), folders)
    assert str(ties.base_model) == "base"
    assert ties.models is not None
    # "+" and "@" in a folder's name are mergekit's marks for an adapter and a revision.
    assert [model.model.model.path for model in ties.models] == ["a+b@c", "runs/fr"]
    assert [model.parameters for model in ties.models] == [{"weight": 0.15, "density": 0.5}] * 2
    assert ties.parameters == {"normalize": False}
    linear = mergekit_config(recipe(merge_method="linear", density=None), folders)
    assert linear.base_model is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"merge_method": "tie"}, "did you mean ties"),
        ({"parameters": {"normalise": True}}, "did you mean normalize"),
        ({"base_model": None}, "needs base_model: the very checkpoint the experts were tuned from"),
        ({"weight": None}, "ties needs weight (expert hi has none); set weight"),
        ({"merge_method": "slerp", "weight": None, "density": None}, "slerp needs t (expert hi has none)"),
        ({"merge_method": "linear"}, "density: linear takes none"),
        ({"merge_method": "nuslerp", "density": None, "experts": {"hi": "a"}}, "at least 2 non-base inputs"),
        ({"experts": {"hi": {"model": "a", "weight": -0.15}, "fr": "b"}}, "the weights sum to 0"),
    ],
)
def test_what_mergekit_would_ignore_or_find_late_is_refused_early(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        check_method(recipe(**changes))
    assert message in str(refused.value)


def test_weights_may_cancel_where_they_are_not_normalised() -> None:
    check_method(recipe(experts={"hi": {"model": "a", "weight": -0.15}, "fr": "b"}, parameters={"normalize": False}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"experts": {False: "runs/nb"}}, "quote it"),
        ({"experts": {BASE: "runs/hi"}}, "cannot be named base_model"),
        ({"experts": {}}, "experts"),
        ({"experts": {"hi": {"model": "a", "wieght": 1}}}, "experts.hi.wieght"),
        ({"density": 1.5}, "density"),
        ({"tokenizer_from": "de"}, "'de' is no expert (hi, fr)"),
        ({"dtype": "int8"}, "dtype"),
    ],
)
def test_a_field_that_cannot_be_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        recipe(**changes)
    assert message in str(refused.value)


def test_experts_can_be_named_on_the_command_line() -> None:
    config = parse_config(
        MergeConfig,
        ["--config", str(REPO / "configs/merge/ties.yaml"), "--experts", "{hi: a, fr: {model: b}}", "--output_dir", "o",
         "--tokenizer_from", "fr"],
    )  # fmt: skip
    assert {name: expert.model for name, expert in config.experts.items()} == {"hi": "a", "fr": "b"}


@pytest.mark.parametrize(("name", "weight", "density"), [("linear", 1.0, None), ("ties", 0.15, 0.5)])
def test_the_paper_recipes_hold_the_papers_values(name: str, weight: float, density: float | None) -> None:
    config = parse_config(MergeConfig, ["--config", str(REPO / f"configs/merge/{name}.yaml"), "--output_dir", "out"])
    check_method(config)
    assert list(config.experts) == ["bn", "de", "fr", "hi", "te", "ur"]
    assert (config.weight, config.density, config.parameters) == (weight, density, {"normalize": True})
    assert config.base_model == ("meta-llama/Llama-3.1-8B-Instruct" if name == "ties" else None)
