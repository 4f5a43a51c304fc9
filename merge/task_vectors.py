"""What experts changed of their base, summed over its tensors: lengths, angles and signs of their task vectors.

A task vector is expert minus base (Ilharco et al. 2023, arXiv 2212.04089). All is read in pieces of a few million values and
kept as sums, so that memory does not grow with the models: six of 8B need less than a gigabyte.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open

from core.errors import ModelError
from merge.headers import Header

PIECE = 2**22  # values of one tensor of one model that are in memory at a time
_NUMBER = re.compile(r"\.(\d+)\.")


@dataclass
class Sums:
    """Sums over the parameters of one layer. Of n experts, ``dots`` [n, n] holds Σ δi·δj over all values; the counts are of
    the values that are left of each task vector after trimming: where both of a pair are not zero (``shared``), and of
    these where they have opposite signs (``opposed``) [n, n]; where at least two experts are not zero (``touched``), of
    these where both signs occur (``conflicts``), and how many would if signs were independent and even (``chance``).
    """

    experts: int
    parameters: int = 0
    base: float = 0.0
    touched: int = 0
    conflicts: int = 0
    chance: float = 0.0
    dots: torch.Tensor = field(init=False)
    shared: torch.Tensor = field(init=False)
    opposed: torch.Tensor = field(init=False)

    def __post_init__(self) -> None:
        shape = (self.experts, self.experts)
        self.dots, self.shared, self.opposed = (torch.zeros(shape, dtype=torch.float64) for _ in range(3))

    def add(self, base: torch.Tensor, changes: torch.Tensor, floors: torch.Tensor) -> None:
        """Add a piece: ``base`` [values], ``changes`` [experts, values], and ``floors`` [experts], the least magnitude that
        trimming leaves.
        """
        self.parameters += base.numel()
        self.base += float(base.double().square().sum())
        self.dots += _products(changes)
        signs = torch.where(changes.abs() >= floors[:, None], changes.sign(), 0)
        both, same = _products(signs.abs()), _products(signs)
        self.shared += both
        self.opposed += (both - same) / 2
        touching = signs.abs().sum(dim=0)
        several = touching >= 2
        self.touched += int(several.sum())
        self.conflicts += int((several & (signs.sum(dim=0).abs() < touching)).sum())
        self.chance += float((1 - torch.exp2(1 - touching[several].double())).sum())

    def plus(self, other: "Sums") -> "Sums":
        both = Sums(self.experts)
        for name in ("parameters", "base", "touched", "conflicts", "chance", "dots", "shared", "opposed"):
            setattr(both, name, getattr(self, name) + getattr(other, name))
        return both


def sums_by_layer(
    base: Mapping[str, Header],
    experts: Mapping[str, Mapping[str, Header]],
    density: float = 1.0,
    done: Callable[[int], None] = lambda values: None,
) -> dict[str, Sums]:
    """The sums of every layer, in the order of the model, from the headers of the base and of each expert by name.

    With ``density`` below 1 each tensor's task vectors are trimmed as TIES does (Yadav et al. 2023, arXiv 2306.01708) before
    signs are counted: only that share of their values is left, the largest. ``done`` is told of values as they are read.
    Raises ModelError for NaN or infinity.
    """
    layers: dict[str, Sums] = {}
    for name in sorted(base, key=_place):
        tied = any(name not in headers for headers in experts.values())  # a head that some store beside the embeddings
        if base[name].is_float and base[name].shape and not tied:
            sums = layers.setdefault(layer_of(name), Sums(len(experts)))
            _add_tensor(sums, name, [base[name], *(headers[name] for headers in experts.values())], density, done)
            if not math.isfinite(sums.base + float(sums.dots.sum())):
                raise ModelError(f"{name} holds NaN or infinity {_where(name, {'the base': base, **experts})}")
    return layers


def layer_of(tensor: str) -> str:
    """The number of the layer that a tensor belongs to, or its own name without ``.weight`` where it is in none."""
    number = _NUMBER.search(tensor)
    return number[1] if number else tensor.removesuffix(".weight")


def floor_of(pieces: Callable[[], Iterator[torch.Tensor]], keep: int) -> float:
    """The ``keep``-th largest magnitude of a tensor that comes in float32 pieces, exactly, without sorting or holding it.

    Floats of one sign are ordered as their bits are: the upper half of these is counted first, then the lower half of
    those that share the upper half sought.
    """
    upper, left = _bin_of((bits >> 16 for bits in _bits(pieces())), keep)
    lower, _ = _bin_of((bits[bits >> 16 == upper] & 0xFFFF for bits in _bits(pieces())), left)
    return float(torch.tensor(upper << 16 | lower, dtype=torch.int32).view(torch.float32))


def _add_tensor(sums: Sums, name: str, headers: Sequence[Header], density: float, done: Callable[[int], None]) -> None:
    base, *experts = headers
    spans = list(_spans(base.shape))

    def changes(expert: Header) -> Iterator[torch.Tensor]:
        for span in spans:
            yield _values(expert, name, span) - _values(base, name, span)

    keep = max(1, int(density * math.prod(base.shape)))
    floors = [floor_of(partial(changes, expert), keep) if density < 1 else 0.0 for expert in experts]
    for span in spans:
        values = _values(base, name, span)
        sums.add(
            values, torch.stack([_values(expert, name, span) for expert in experts]) - values, torch.tensor(floors)
        )
        done(values.numel() * len(headers))


def _spans(shape: tuple[int, ...]) -> Iterator[slice]:
    """Rows of a tensor, PIECE values or one row at a time."""
    rows = max(1, PIECE // max(1, math.prod(shape[1:])))
    for start in range(0, shape[0], rows):
        yield slice(start, min(start + rows, shape[0]))


def _values(header: Header, name: str, span: slice) -> torch.Tensor:
    with _opened(header.file) as tensors:  # anew each time: what is read stays mapped as long as its file is open
        return tensors.get_slice(name)[span].float().flatten()


def _bits(pieces: Iterator[torch.Tensor]) -> Iterator[torch.Tensor]:
    for piece in pieces:
        yield piece.abs().view(torch.int32)


def _bin_of(halves: Iterator[torch.Tensor], keep: int) -> tuple[int, int]:
    """The value that the ``keep``-th largest has, and how many of that value are among the ``keep`` largest."""
    counts = torch.zeros(2**16, dtype=torch.int64)
    for half in halves:
        counts += torch.bincount(half, minlength=2**16)
    from_top = counts.flip(0).cumsum(0)
    place = int(torch.searchsorted(from_top, keep))
    return 2**16 - 1 - place, keep - int(from_top[place - 1] if place else 0)


def _products(rows: torch.Tensor) -> torch.Tensor:
    """Σ over values of each pair of rows [n, n]; in blocks, so that float32 sums stay short and are added in float64."""
    total = torch.zeros(len(rows), len(rows), dtype=torch.float64)
    for block in rows.split(2**14, dim=1):
        total += (block @ block.T).double()
    return total


def _place(tensor: str) -> tuple[int, int, str]:
    """Embeddings, layers by number, then what follows them, as these are named in decoders."""
    number = _NUMBER.search(tensor)
    if number:
        return 1, int(number[1]), tensor
    return (0 if "emb" in tensor or "wte" in tensor or "wpe" in tensor else 2), 0, tensor


def _where(name: str, models: Mapping[str, Mapping[str, Header]]) -> str:
    for who, headers in models.items():
        with _opened(headers[name].file) as tensors:
            if not bool(tensors.get_tensor(name).isfinite().all()):
                return f"in {who} ({headers[name].file.parent}); train it again"
    return "as a difference of two models"


def _opened(file: Path) -> Any:
    return safe_open(file, framework="pt")
