"""Directions: what moves a model's hidden states from a source language toward a pivot, one vector or map a layer."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from core.errors import ConfigError, DataError, ModelError
from core.jsonl import write_json
from eval.steering.fingerprint import same_weights
from eval.steering.layers import HOOK_POINT, find_layers, width_of

WEIGHTS_FILE = "directions.safetensors"
FACTS_FILE = "directions.json"
# Where a metric with pooled sentence embeddings, such as COMET, is steered: they are its layer 0.
POOLED_EMBEDDING = "pooled sentence embedding"
HOOK_POINTS = (HOOK_POINT, POOLED_EMBEDDING)
_NAME = re.compile(r"vector\.(\d+)|map\.(\d+)\.(left|right|bias|identity)")


class LinearMap(NamedTuple):
    """h ↦ left · right · h (+ h) (+ bias) for hidden states h [d]: left [d, r], right [r, d], bias [d] or None, in float32.

    With ``identity`` h itself is added, so that a map near the identity needs no more than r dimensions either.
    """

    left: Tensor
    right: Tensor
    bias: Tensor | None = None
    identity: bool = False

    def __call__(self, hidden: Tensor) -> Tensor:
        mapped = hidden @ self.right.T @ self.left.T
        if self.identity:
            mapped = mapped + hidden
        return mapped if self.bias is None else mapped + self.bias

    def to(self, device: torch.device) -> "LinearMap":
        bias = None if self.bias is None else self.bias.to(device)
        return LinearMap(self.left.to(device), self.right.to(device), bias, self.identity)


class DirectionFacts(BaseModel):
    """directions.json: how directions were learned and on which model. None where it is not known.

    ``mean_norms``: by layer, the mean norm of the hidden states of the parallel sentences. ``fingerprint``: see
    eval.steering.fingerprint. ``map_fit``: by layer, pairs (n), rank and condition of the least-squares fit, ridge's λ
    (penalty), and agreement on the pairs it was learned from. ``held_out``: by layer and method (none, vector, the kinds of
    maps), agreement on ``held_out_pairs`` that nothing was learned from; see eval.steering.alignment.
    """

    model_config = ConfigDict(extra="forbid", protected_namespaces=())

    layers: list[int]
    hidden_size: int
    hook_point: str = HOOK_POINT
    model: str | None = None
    model_layers: int | None = None
    fingerprint: list[float] | None = None
    source: str | None = None
    pivot: str | None = None
    pooling: str | None = None
    pool_special_tokens: bool | None = None
    pairs: int | None = None
    mean_norms: dict[int, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = {}
    map_kind: str | None = None
    map_fit: dict[int, dict[str, int | float | None]] = {}
    held_out_pairs: int | None = None
    held_out: dict[int, dict[str, dict[str, float | None]]] = {}


@dataclass(frozen=True, eq=False)
class Directions:
    """Vectors v_l = mean(pivot) − mean(source) [d] by layer l, in float32 on the CPU, and maps where they were learned."""

    vectors: Mapping[int, Tensor]
    facts: DirectionFacts
    maps: Mapping[int, LinearMap] = field(default_factory=dict)

    @classmethod
    def from_vectors(
        cls, vectors: Mapping[int, Any], maps: Mapping[int, LinearMap] | None = None, **facts: Any
    ) -> "Directions":
        """Directions from {layer: vector}; ``facts`` are fields of DirectionFacts, such as source, pivot and mean_norms.

        Raises DataError for no layer, vectors or maps of different sizes, and values that are not finite.
        """
        stored = {int(layer): _float(vector) for layer, vector in sorted(vectors.items())}
        stored_maps = {
            int(layer): LinearMap(_float(left), _float(right), None if bias is None else _float(bias), bool(identity))
            for layer, (left, right, bias, identity) in sorted((maps or {}).items())
        }
        sizes = {tuple(vector.shape) for vector in stored.values()}
        sizes |= {(*linear.left.shape[:1],) for linear in stored_maps.values()}
        sizes |= {(*linear.right.shape[1:],) for linear in stored_maps.values()}
        sizes |= {tuple(linear.bias.shape) for linear in stored_maps.values() if linear.bias is not None}
        if len(sizes) != 1 or len(size := sizes.pop()) != 1:
            raise DataError(
                f"directions: {len(stored)} vectors that are not of one size; give one vector for each layer"
            )
        if any(linear.left.shape[1:] != linear.right.shape[:1] for linear in stored_maps.values()):
            raise DataError("directions: the two factors of a map are not of one rank; learn the map again")
        if extra := stored_maps.keys() - stored.keys():
            raise DataError(f"directions: layer {min(extra)} has a map and no vector; give both")
        tensors = _named(stored, stored_maps)
        if broken := [name for name, tensor in tensors.items() if not torch.isfinite(tensor).all()]:
            raise DataError(f"directions: {broken[0]} is not finite; learn it again in float32 or bfloat16")
        return cls(stored, DirectionFacts(layers=list(stored), hidden_size=size[0], **facts), stored_maps)

    @property
    def layers(self) -> list[int]:
        """The layers that are steered, counted from 0."""
        return self.facts.layers

    def save(self, folder: str | Path) -> None:
        """Write directions.safetensors and directions.json into a folder, which is made where it is missing."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        save_file(_named(self.vectors, self.maps), folder / WEIGHTS_FILE)
        write_json(self.facts.model_dump(mode="json"), folder / FACTS_FILE)

    @classmethod
    def load(cls, folder: str | Path) -> "Directions":
        """Read a folder that ``save`` wrote. Raises DataError for a missing or broken file, or an unknown hook point."""
        folder = Path(folder)
        try:
            facts = DirectionFacts.model_validate(json.loads((folder / FACTS_FILE).read_text(encoding="utf-8")))
            tensors = load_file(folder / WEIGHTS_FILE)
        except OSError as error:
            raise DataError(f"{folder} is no folder of directions ({error}); make one with eval.directions") from None
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            where = ".".join([FACTS_FILE, *map(str, fault["loc"])])
            raise DataError(f"{folder} holds broken directions ({where}: {fault['msg']}); learn them again") from None
        except (ValueError, SafetensorError) as error:
            raise DataError(f"{folder} holds broken directions ({error}); learn them again") from None
        if facts.hook_point not in HOOK_POINTS:
            known = " or ".join(map(repr, HOOK_POINTS))
            raise DataError(f"{folder} was learned at {facts.hook_point!r}, not {known}; learn it again")
        vectors, maps = _unnamed(tensors, folder)
        if sorted(vectors) != sorted(facts.layers):
            raise DataError(f"{folder}: {WEIGHTS_FILE} and {FACTS_FILE} differ in their layers; learn them again")
        try:
            return cls.from_vectors(vectors, maps, **facts.model_dump(exclude={"layers", "hidden_size"}))
        except DataError as error:
            raise DataError(f"{folder}: {error}") from None

    def at_layers(self, layers: Sequence[int]) -> "Directions":
        """The same directions at some of their layers. Raises ConfigError for no layer and for one that they lack."""
        wanted = sorted(set(layers))
        if not wanted or not set(wanted) <= set(self.layers):
            raise ConfigError(f"layers {list(layers)} are not all among those of the directions, {self.layers}")
        facts = self.facts.model_dump(exclude={"layers", "hidden_size"})
        for name in ("mean_norms", "map_fit", "held_out"):
            facts[name] = {layer: value for layer, value in facts[name].items() if layer in wanted}
        maps = {layer: linear for layer, linear in self.maps.items() if layer in wanted}
        return Directions.from_vectors({layer: self.vectors[layer] for layer in wanted}, maps, **facts)

    def check(self, model: nn.Module, allow_other_model: bool = False) -> None:
        """Raises ModelError where the model lacks a layer, has another width, or is not the one they were learned on."""
        count, width = len(find_layers(model).layers), width_of(model)
        self.check_fits(HOOK_POINT, count, width, lambda stored: same_weights(stored, model), allow_other_model)

    def check_fits(
        self, hook_point: str, layers: int, width: int, same: Callable[[list[float]], bool], allow_other_model: bool
    ) -> None:
        """Raises ModelError where they were learned at another hook point, layer, width or model than what is to be steered.

        ``layers``: how many it has; ``same``: whether a stored fingerprint is its own.
        """
        if self.facts.hook_point != hook_point:
            raise ModelError(
                f"directions were learned at {self.facts.hook_point!r}, but this model is steered at {hook_point!r}; "
                "learn them on it"
            )
        if max(self.layers) >= layers:
            raise ModelError(f"directions steer layer {max(self.layers)}, but the model's last layer is {layers - 1}")
        if self.facts.hidden_size != width:
            raise ModelError(f"directions have width {self.facts.hidden_size}, but the model has {width}")
        stored = self.facts.fingerprint
        if stored is not None and not allow_other_model and not same(stored):
            raise ModelError(
                f"directions were learned on another model ({self.facts.model or 'name unknown'}); learn them on this one, "
                "or pass allow_other_model: true, e.g. for a judge tuned from it"
            )


def _float(value: Any) -> Tensor:
    return torch.as_tensor(value).detach().to("cpu", torch.float32, copy=True).contiguous()


def _named(vectors: Mapping[int, Tensor], maps: Mapping[int, LinearMap]) -> dict[str, Tensor]:
    tensors = {f"vector.{layer}": vector for layer, vector in vectors.items()}
    for layer, linear in maps.items():
        tensors |= {f"map.{layer}.left": linear.left, f"map.{layer}.right": linear.right}
        if linear.bias is not None:
            tensors[f"map.{layer}.bias"] = linear.bias
        if linear.identity:
            tensors[f"map.{layer}.identity"] = torch.tensor(True)
    return tensors


def _unnamed(tensors: Mapping[str, Tensor], folder: Path) -> tuple[dict[int, Tensor], dict[int, LinearMap]]:
    vectors: dict[int, Tensor] = {}
    parts: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        match = _NAME.fullmatch(name)
        if match is None:
            raise DataError(f"{folder / WEIGHTS_FILE} holds an unknown tensor {name!r}; learn the directions again")
        if match[1]:
            vectors[int(match[1])] = tensor
        else:
            parts.setdefault(int(match[2]), {})[match[3]] = tensor
    if halves := [layer for layer, found in parts.items() if not {"left", "right"} <= found.keys()]:
        raise DataError(f"{folder / WEIGHTS_FILE}: map of layer {halves[0]} lacks a factor; learn the directions again")
    maps = {
        layer: LinearMap(found["left"], found["right"], found.get("bias"), bool(found.get("identity", False)))
        for layer, found in parts.items()
    }
    return vectors, maps
