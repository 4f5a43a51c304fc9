"""Tensors that no expert changed, such as the embeddings under LoRA: TIES need not sort them to drop half of nothing."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from safetensors import safe_open

from merge.headers import Header


def unchanged_filters(inputs: Sequence[Mapping[str, Header]]) -> list[str]:
    """Names of the tensors that are equal in all inputs (headers of the base and of every expert), usable as mergekit's filters.

    mergekit looks for a filter anywhere in a tensor's name, so a name that is part of a changed tensor's is left out.
    """
    first, *others = inputs
    equal = [name for name in first if all(_equal(first[name], other.get(name), name) for other in others)]
    changed = first.keys() - set(equal)
    return [name for name in equal if not any(name in other for other in changed)]


def _equal(one: Header, other: Header | None, name: str) -> bool:
    return other is not None and torch.equal(_read(one.file, name), _read(other.file, name))


def _read(file: Path, name: str) -> torch.Tensor:
    with safe_open(file, framework="pt") as tensors:
        return tensors.get_tensor(name)
