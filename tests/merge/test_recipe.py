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
SLERP = {"merge_method": "slerp", "weight": None, "density": None}


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


def with_parameters(**given: Any) -> dict[str, Any]:
    return {"hi": {"model": "a", "parameters": given}, "fr": "b"}


def test_a_filter_may_leave_tensors_to_the_recipes_own_value() -> None:
    own = with_parameters(weight={"filter": "mlp", "value": 1})
    check_method(recipe(experts=own, weight=None, parameters={"weight": 0.15}))


@pytest.mark.parametrize(
    ("density", "expected"),
    [
        (0.5, [{"value": 0.5}]),
        ([0.3, 0.7], [{"value": [0.3, 0.7]}]),  # over the layers
        ({"filter": "mlp", "value": 0.3}, [{"filter": "mlp", "value": 0.3}]),
        ([{"filter": "mlp", "value": 0.3}, {"value": 0.5}], [{"filter": "mlp", "value": 0.3}, {"value": 0.5}]),
    ],
)
def test_unchanged_tensors_come_before_any_density_of_the_recipe(density: Any, expected: list[Any]) -> None:
    folders = {name: Path(name) for name in ("hi", "fr", BASE)}
    ties = mergekit_config(recipe(experts=with_parameters(density=density)), folders, ["lm_head.weight"])
    assert ties.models is not None
    given = ties.model_dump(exclude_none=True)["models"][0]["parameters"]["density"]
    assert given == [{"filter": "lm_head.weight", "value": 1.0}, *expected]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"merge_method": "tie"}, "did you mean ties"),
        ({"parameters": {"normalise": True}}, "did you mean normalize"),
        ({"base_model": None}, "needs base_model: the very checkpoint the experts were tuned from"),
        ({"weight": None}, "ties needs weight (expert hi has none); set weight"),
        (SLERP, "slerp needs t (expert hi has none)"),
        ({"merge_method": "linear"}, "density: linear takes none"),
        ({"merge_method": "nuslerp", "density": None, "experts": {"hi": "a"}}, "at least 2 non-base inputs"),
        ({"experts": {"hi": {"model": "a", "weight": -0.15}, "fr": "b"}}, "the weights sum to 0"),
        ({**SLERP, "parameters": {"t": 0.5}, "base_model": None}, "slerp merges exactly two models; name the second"),
        (
            {"experts": with_parameters(wieght=1)},
            "expert hi: parameters: ties's wieght is unknown; did you mean weight",
        ),
        ({"experts": with_parameters(weight=[])}, "ties needs weight (expert hi has none for some tensors)"),
        ({"experts": with_parameters(weight={"filter": "mlp", "value": 1})}, "has none for some tensors); set weight"),
        ({"experts": with_parameters(weight=[0.1, float("nan")])}, "which holds nan; give finite numbers"),
        ({"experts": with_parameters(weight=[{"filter": "mlp", "value": "x"}, {"value": 1}])}, "ties takes float"),
        ({"experts": with_parameters(density=[0.5, 2])}, "density is [0.5, 2]; it is a share"),
        ({"density": None, "parameters": {"density": -0.2}}, "density is -0.2; it is a share"),
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
        # Folded adapters lie in a folder of the expert's name: it must not lead out of the run.
        ({"experts": {"../hi": "runs/hi"}}, "cannot be named '../hi'; leave out slashes"),
        ({"experts": {"/tmp/hi": "runs/hi"}}, "cannot be named '/tmp/hi'; leave out slashes"),
        ({"experts": {"": "runs/hi"}}, "cannot be named ''"),
        ({"experts": {"hi": {"model": "a", "weight": True}}}, "experts.hi.weight"),
        ({"device": "tpu"}, "no device tpu; take cpu, cuda"),
        ({"device": "cuda:99"}, "no device cuda:99"),
        ({"max_shard_size": "0GB"}, "max_shard_size"),
        ({"seed": -1}, "seed"),
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
