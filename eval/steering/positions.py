"""Which positions of a pass are steered, also where a KV cache makes each pass see only the newest token.

The prompt is what the first pass reads, the one whose cache is empty; later passes read what was generated.
- ``all``: every position of every pass.
- ``last_prompt``: the last token of each row's prompt, padding left or right of it.
- ``generated``: every position after the prompt.
- a list of spans, one a batch row: (start, stop) or (start, None) for no end, counted from 0 at the first position of the
  row, left padding included, and on through the cache; None leaves the row alone.
"""

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from core.errors import ConfigError

Span = tuple[int, int | None]
Positions = Literal["all", "last_prompt", "generated"] | Sequence[Span | None]
NAMES = ("all", "last_prompt", "generated")
_NO_END = 2**62


class SteeredPositions:
    """Follows the passes through the layers and gives the mask of the one under way.

    Raises ConfigError for positions that are unknown or do not fit the batch, and where a pass does not show where its
    prompt ends.
    """

    def __init__(self, positions: Positions) -> None:
        if isinstance(positions, str) and positions not in NAMES:
            raise ConfigError(f"positions {positions!r} are unknown; use {', '.join(NAMES)} or one span a batch row")
        self._positions = positions
        self._spans = None if isinstance(positions, str) else _spans(positions)
        self._start = 0
        self._attention: Any = None
        self._uncached = False

    def begin_pass(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A forward pre-hook, with kwargs, on the module that runs the layers."""
        cache = kwargs.get("cache", kwargs.get("past_key_values"))
        self._start = 0 if cache is None else int(cache.get_seq_length())
        self._attention = kwargs.get("attention_mask", args[1] if len(args) > 1 else None)
        self._uncached = cache is None and kwargs.get("use_cache") is False

    def mask(self, hidden: Tensor) -> Tensor:
        """True where hidden states [B, T, d] are steered: bool, [B, T, 1] or broadcast to it."""
        index = torch.arange(self._start, self._start + hidden.shape[1], device=hidden.device)[None, :, None]
        if self._spans is not None:
            spans = self._spans.to(hidden.device)
            if len(spans) != len(hidden):
                raise ConfigError(f"{len(spans)} spans for a batch of {len(hidden)}; give one for each row")
            return (spans[:, :1, None] <= index) & (index < spans[:, 1:, None])
        if self._positions == "all":
            return torch.ones_like(index, dtype=torch.bool)
        if self._uncached:
            raise ConfigError(
                f"positions {self._positions} need the KV cache to know the prompt's end; keep use_cache on"
            )
        if self._positions == "generated":
            return torch.full_like(index, self._start > 0, dtype=torch.bool)
        return self._last_of_prompt(hidden) == index

    def _last_of_prompt(self, hidden: Tensor) -> Tensor:
        """The position of each row's last prompt token, [B or 1, 1, 1]; −1 where the prompt was read before."""
        if self._start > 0:
            return torch.full((1, 1, 1), -1, device=hidden.device)
        length = hidden.shape[1]
        if self._attention is None:
            return torch.full((1, 1, 1), length - 1, device=hidden.device)
        if not isinstance(self._attention, Tensor) or self._attention.dim() != 2:
            raise ConfigError("positions last_prompt need an attention mask of rows by positions; give spans instead")
        attended = (self._attention != 0).to(hidden.device, torch.int64)
        return (length - 1 - attended.flip(1).argmax(1))[:, None, None]


def _spans(positions: Sequence[Span | None]) -> Tensor:
    """Start and stop of each row, [B, 2]."""
    rows = []
    for row, span in enumerate(positions):
        start, stop = (0, 0) if span is None else (span[0], _NO_END if span[1] is None else span[1])
        if start < 0 or stop < start:
            raise ConfigError(f"span {span} of batch row {row} is not start ≤ stop from 0; count from the row's start")
        rows.append((start, stop))
    return torch.tensor(rows, dtype=torch.int64).reshape(-1, 2)
