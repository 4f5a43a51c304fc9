"""The recipe of a merge: which experts, on which base, by which method and with which weights.

mergekit's own description of each method says which parameters it takes, so a recipe is checked before anything loads.
"""

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from mergekit import merge_methods
from mergekit.common import ModelPath, ModelReference
from mergekit.config import ConditionalParameter, MergeConfiguration, ParameterSetting, evaluate_setting
from mergekit.merge_methods.base import BasePolicy, MergeMethodSpec, ParameterSpec
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, field_validator, model_validator

from core.config import CommandConfig, IfExists, check_known
from core.errors import ConfigError
from merge.device import Device
from merge.shards import ShardSize

BASE = "base_model"
# Fields that say how one merge is run, not what is merged.
_OF_THE_RUN = {"output_dir", "if_exists", "device", "require_stop", "max_new_tokens"}
Dtype = Literal["bfloat16", "float16", "float32"]


class Expert(BaseModel):
    """One input: a folder, Hub id (``id`` or ``id@revision``) or adapter folder. What it leaves out, the recipe gives."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())

    model: str
    weight: float | None = Field(None, strict=True, allow_inf_nan=False)
    density: float | None = Field(None, strict=True, gt=0, le=1)
    parameters: dict[str, Any] = Field(default_factory=dict)


def _expert(value: Any) -> Any:
    return {"model": value} if isinstance(value, str) else value


class MergeConfig(CommandConfig):
    """Config of merge.run."""

    merge_method: str = Field(description="linear, ties, dare_ties, or any other method of mergekit by its name")
    experts: dict[str, Annotated[Expert, BeforeValidator(_expert)]] = Field(
        description="language: folder, Hub id or adapter; or language: {model, weight, density, parameters}",
        min_length=1,
    )
    base_model: str | None = Field(
        None, description="the very checkpoint the experts were tuned from (TIES, DARE, ...)"
    )
    weight: float | None = Field(None, description="weight of each expert that names none", allow_inf_nan=False)
    density: float | None = Field(None, description="density of each expert that names none", gt=0, le=1)
    parameters: dict[str, Any] = Field(
        default_factory=dict, description="the method's own, such as normalize, int8_mask"
    )
    dtype: Dtype = Field("bfloat16", description="of the arithmetic, and of the output unless out_dtype is given")
    out_dtype: Dtype | None = Field(None, description="of the output where it is not that of the arithmetic")
    tokenizer_from: str | None = Field(
        None, description="expert whose tokenizer, chat template, generation config and judge.json are taken; first one"
    )
    device: Device = Field("cpu", description="where the arithmetic runs: cpu, cuda or auto")
    max_shard_size: ShardSize = Field("5GB", description="largest weight file of the output")
    require_stop: bool = Field(False, description="refuse a merge whose trial verdict does not end by itself")
    max_new_tokens: int | None = Field(
        None,
        ge=1,
        description="longest trial verdict, in tokens; null: a given one has to be ended, 512 with require_stop",
    )
    seed: int = Field(42, ge=0, lt=2**32, description="of methods that draw at random (DARE, DELLA)")
    output_dir: str = Field(description="folder of the merged model")
    if_exists: IfExists = Field("fail", description="what to do where output_dir exists")

    @field_validator("experts", mode="before")
    @classmethod
    def _names_are_text(cls, value: Any) -> Any:
        for name in value if isinstance(value, dict) else []:
            if not isinstance(name, str) or name == BASE:
                raise ValueError(f'an expert cannot be named {name} (YAML reads no as False: quote it, "no": FOLDER)')
            if not re.fullmatch(r"[^./\\][^/\\]*", name):  # a folder is named by it while an adapter is folded
                raise ValueError(f"an expert cannot be named {name!r}; leave out slashes and a dot at the start")
        return value

    @model_validator(mode="after")
    def _tokenizer_is_an_experts(self) -> "MergeConfig":
        if self.tokenizer_from is not None and self.tokenizer_from not in self.experts:
            raise ValueError(f"tokenizer_from {self.tokenizer_from!r} is no expert ({', '.join(self.experts)})")
        return self

    @property
    def donor(self) -> str:
        """Name of the expert whose tokenizer and side files are taken."""
        return self.tokenizer_from or next(iter(self.experts))

    def settings(self, name: str) -> dict[str, Any]:
        """Weight, density and parameters of an expert, its own or else the recipe's."""
        expert = self.experts[name]
        given = {
            "weight": self.weight if expert.weight is None else expert.weight,
            "density": self.density if expert.density is None else expert.density,
        }
        return {key: value for key, value in given.items() if value is not None} | expert.parameters

    @property
    def written_dtype(self) -> Dtype:
        return self.out_dtype or self.dtype


def check_method(config: MergeConfig) -> None:
    """Refuse what mergekit would ignore or find hours later: unknown method or parameter, no weight, no base, wrong count.

    Raises ConfigError.
    """
    takes = method_parameters(config.merge_method)
    for name in config.parameters:
        check_known(name, takes, f"parameters: {config.merge_method}'s ")
    for expert in config.experts:
        given = config.settings(expert)
        for name in config.experts[expert].parameters:
            check_known(name, takes, f"expert {expert}: parameters: {config.merge_method}'s ")
        if unknown := sorted(given.keys() - takes.keys()):
            raise ConfigError(f"{unknown[0]}: {config.merge_method} takes none; leave it out")
        everywhere = {
            name
            for settings in (given, config.parameters)
            for name, value in settings.items()
            if _check_value(config.merge_method, name, value, takes[name])
        }
        for name, parameter in takes.items():
            if parameter.required and name not in everywhere:
                where = "weight" if name == "weight" else f"parameters.{name}"
                lacks = "none for some tensors" if name in {**given, **config.parameters} else "none"
                raise ConfigError(f"{config.merge_method} needs {name} (expert {expert} has {lacks}); set {where}")
    normalized = config.parameters.get("normalize", "normalize" in takes and takes["normalize"].default)
    weights = [config.settings(expert).get("weight", 1.0) for expert in config.experts]
    if normalized and all(isinstance(weight, int | float) for weight in weights) and abs(math.fsum(weights)) < 1e-8:
        raise ConfigError(
            f"the weights sum to {math.fsum(weights):g} and cannot be normalised; set others, or normalize: false"
        )
    _check_inputs(config, _spec(config.merge_method))


def method_parameters(method: str) -> dict[str, ParameterSpec]:
    """What a method takes, by name. Raises ConfigError for an unknown method."""
    spec = _spec(method)
    return {parameter.name: parameter for parameter in (*spec.shared_parameters, *spec.input_parameters)}


def recipe_values(config: MergeConfig) -> dict[str, Any]:
    """The recipe as plain values that make the same one again, without the fields of one run."""
    values = config.model_dump(mode="json", exclude_none=True, include=set(MergeConfig.model_fields) - _OF_THE_RUN)
    for expert in values["experts"].values():
        if not expert["parameters"]:
            del expert["parameters"]
    return values


def base_is_second(config: MergeConfig) -> bool:
    """Whether ``base_model`` is the other of exactly two models (slerp) and not what the experts were tuned from."""
    return config.base_model is not None and _spec(config.merge_method).contract.max_inputs == 2


def uses_base(config: MergeConfig) -> bool:
    """Whether the method's arithmetic reads the base (linear does not)."""
    return config.base_model is not None and _spec(config.merge_method).contract.base is not BasePolicy.IGNORED


def mergekit_config(
    config: MergeConfig, folders: Mapping[str, Path], unchanged: Sequence[str] = ()
) -> MergeConfiguration:
    """The recipe as mergekit takes it; ``folders`` holds the local folder of every expert (and of the base, as BASE).

    Tensors named in ``unchanged`` get density 1: the same result where nothing changed, without the sort.
    """
    models = []
    for name in config.experts:
        settings: dict[str, Any] = config.settings(name)
        if unchanged and "density" in settings:
            whole = [{"filter": tensor, "value": 1.0} for tensor in unchanged]
            settings["density"] = [*whole, *_by_filter(settings["density"])]
        models.append({"model": _reference(folders[name]), "parameters": settings})
    return MergeConfiguration.model_validate(
        {
            "merge_method": config.merge_method,
            "models": models,
            "base_model": _reference(folders[BASE]) if uses_base(config) else None,
            "parameters": config.parameters or None,
            "dtype": config.dtype,
            "out_dtype": config.written_dtype,  # said in any case: some methods return float32
        }
    )


def _reference(folder: Path) -> ModelReference:
    # Given as parts: mergekit's own parser takes a "+" in a path for an adapter and an "@" for a revision.
    return ModelReference(model=ModelPath.model_validate({"path": str(folder)}))


def _spec(method: str) -> MergeMethodSpec:
    check_known(method, [known.spec.name for known in merge_methods.registered_methods()], "merge_method ")
    return merge_methods.get(method).spec


def _by_filter(setting: Any) -> list[Any]:
    """A parameter's value as mergekit's list of filters, of which it takes the first that fits."""
    filters = setting if isinstance(setting, list) else [setting]
    return filters if filters and all(isinstance(one, dict) for one in filters) else [{"value": setting}]


def _check_value(method: str, name: str, value: Any, parameter: ParameterSpec) -> bool:
    """Whether a value, which has to be of the method's kind and finite, holds for tensors that no filter names."""
    try:
        setting = TypeAdapter(ParameterSetting).validate_python(value)
        numbers = [parameter.validate(scalar) for scalar in _scalars(setting)]
        holds = evaluate_setting("", setting, validate=parameter.validate) is not None
    except (ValueError, RuntimeError):
        kind = getattr(parameter.value_type, "__name__", parameter.value_type)
        raise ConfigError(f"{name} is {value!r}; {method} takes {kind}, or a list of them over the layers") from None
    for number in numbers:
        if isinstance(number, float) and not math.isfinite(number):
            raise ConfigError(f"{name} is {value!r}, which holds {number}; give finite numbers")
        if name == "density" and not 0 < number <= 1:
            raise ConfigError(f"density is {value!r}; it is a share, above 0 and up to 1")
    return holds


def _scalars(setting: Any) -> list[Any]:
    """Every number or word of a parameter: those of all layers and all filters."""
    if isinstance(setting, ConditionalParameter):
        return _scalars(setting.value)
    return [one for part in setting for one in _scalars(part)] if isinstance(setting, list) else [setting]


def _check_inputs(config: MergeConfig, spec: MergeMethodSpec) -> None:
    if spec.contract.base is BasePolicy.REQUIRED and config.base_model is None:
        if spec.contract.max_inputs == 2:
            raise ConfigError(f"{config.merge_method} merges exactly two models; name the second as base_model")
        raise ConfigError(
            f"{config.merge_method} needs base_model: the very checkpoint the experts were tuned from "
            "(Llama-3.1-8B-Instruct, not the pretrained Llama-3.1-8B)"
        )
    base = BASE if uses_base(config) else None
    try:
        spec.contract.validate_ids([*config.experts, *([base] if base else [])], base)
    except ValueError as error:
        raise ConfigError(f"{config.merge_method}: {error}; correct experts or base_model") from None
