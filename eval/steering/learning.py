"""Learning directions: parallel sentences through a frozen model, and what separates the two languages at each layer."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from core.errors import ConfigError, DataError
from core.joins import nfc
from core.progress import Progress
from eval.steering.fingerprint import weight_sums
from eval.steering.fitting import Encoded, Learned, fit_directions
from eval.steering.layers import LayerStack, backbone, find_layers, hidden_of
from eval.steering.maps import MapKind

Pooling = Literal["mean", "last"]


def learn(
    model: Any,
    tokenizer: Any,
    pairs: Sequence[tuple[str, str]],
    source: str,
    pivot: str,
    pooling: Pooling = "mean",
    layers: Sequence[int] | None = None,
    batch_size: int = 16,
    maps: bool = False,
    pool_special_tokens: bool = False,
    model_name: str | None = None,
    map_kind: MapKind = "minimum_norm",
    held_out: Sequence[tuple[str, str]] = (),
) -> Learned:
    """Directions from pairs of (source sentence, pivot sentence): v_l = mean(pivot) − mean(source) after each layer.

    A pair with a sentence that stood in an earlier pair is left out, of ``held_out`` too. Pooling is over a sentence's tokens
    without padding; special tokens are left out too unless asked for (a BOS state is often ten times as long as others, so
    its share in a mean tells the sentence's length). ``maps`` adds maps from source to pivot states; see
    eval.steering.maps. ``held_out`` pairs measure the vectors, and with ``maps`` every kind of map, and teach nothing.
    Raises ConfigError for layers that the model lacks, DataError for no pairs or states that are not finite.
    """
    stack = find_layers(model)
    chosen = sorted(set(range(len(stack.layers)) if layers is None else layers))
    if not chosen or not 0 <= chosen[0] <= chosen[-1] < len(stack.layers):
        raise ConfigError(f"layers {chosen} are not all from 0 to {len(stack.layers) - 1}, which is what the model has")
    count = len(distinct_pairs(pairs))
    if not count:
        raise DataError("no pairs of sentences to learn directions from; give at least one")
    distinct = distinct_pairs([*pairs, *held_out])
    encode = SentenceEncoder(model, tokenizer, chosen, pooling, batch_size, pool_special_tokens)
    at_source, at_pivot = encode([pair[0] for pair in distinct]), encode([pair[1] for pair in distinct])
    return fit_directions(
        at_source,
        at_pivot,
        count,
        chosen,
        map_kind if maps else None,
        model=model_name,
        model_layers=len(stack.layers),
        fingerprint=weight_sums(model).sums,
        source=source,
        pivot=pivot,
        pooling=pooling,
        pool_special_tokens=pool_special_tokens,
    )


def distinct_pairs(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs neither of whose sentences stood, on the same side, in an earlier one; texts are compared in NFC."""
    seen: tuple[set[str], set[str]] = (set(), set())
    distinct = []
    for pair in pairs:
        keys = [nfc(text.strip()) for text in pair]
        if not any(key in side for key, side in zip(keys, seen, strict=True)):
            distinct.append(pair)
        for key, side in zip(keys, seen, strict=True):
            side.add(key)
    return distinct


class SentenceEncoder:
    """Pooled hidden states of sentences after each chosen layer, taken where steering will apply."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        layers: Sequence[int],
        pooling: Pooling,
        batch_size: int,
        pool_special_tokens: bool = False,
    ) -> None:
        if pooling not in ("mean", "last"):
            raise ConfigError(f"pooling {pooling!r} is unknown; use mean or last")
        self.model, self.tokenizer, self.layers = model, tokenizer, list(layers)
        self.pooling, self.batch_size, self.pool_special_tokens = pooling, batch_size, pool_special_tokens

    def __call__(self, texts: Sequence[str]) -> Encoded:
        """Encode sentences. Raises DataError for one without tokens or longer than the model reads, and where a hidden state
        is not finite."""
        ids = [torch.tensor(row, dtype=torch.long) for row in self.tokenizer(list(texts))["input_ids"]]
        most = getattr(self.model.config.get_text_config(), "max_position_embeddings", None)
        if most and (longest := max(map(len, ids))) > most:
            raise DataError(f"a sentence has {longest} tokens, and the model reads {most}; split the row or remove it")
        by_length = sorted(range(len(ids)), key=lambda row: len(ids[row]))
        parts = []
        with Progress(len(ids), "encode") as progress, torch.inference_mode():
            for start in range(0, len(ids), self.batch_size):
                rows = by_length[start : start + self.batch_size]
                parts.append(self._encode([ids[row] for row in rows]))
                progress.update(len(rows))
        back = torch.tensor(by_length).argsort()
        states, norms = (torch.cat(part)[back] for part in zip(*parts, strict=True))
        broken = ~torch.isfinite(states).all(-1).all(0)
        if broken.any():
            layer = self.layers[int(broken.nonzero()[0])]
            raise DataError(f"hidden states after layer {layer} are not finite; load the model in float32 or bfloat16")
        return Encoded(states, norms)

    def _encode(self, ids: list[Tensor]) -> tuple[Tensor, Tensor]:
        # Padding stands on the right whatever the tokenizer's side: real tokens then keep the positions they have alone.
        tokens = pad_sequence(ids, batch_first=True)
        attention = pad_sequence([torch.ones_like(row) for row in ids], batch_first=True)
        wanted = attention if self.pool_special_tokens else attention * ~self._special(tokens)
        if not wanted.any(1).all():
            raise DataError("a sentence of the parallel text has no tokens of its own; remove the row")
        device = next(self.model.parameters()).device
        with captured(find_layers(self.model), self.layers) as outputs:
            backbone(self.model)(input_ids=tokens.to(device), attention_mask=attention.to(device), use_cache=False)
        pooled = [pool(outputs[layer], wanted, self.pooling) for layer in self.layers]
        states, norms = zip(*pooled, strict=True)
        return torch.stack(states, 1), torch.stack(norms, 1)

    def _special(self, tokens: Tensor) -> Tensor:
        return torch.isin(tokens, torch.tensor(self.tokenizer.all_special_ids, dtype=tokens.dtype))


@contextmanager
def captured(stack: LayerStack, layers: Sequence[int]) -> Iterator[dict[int, Tensor]]:
    """Hidden states after these layers, by layer, of the last pass inside the block."""
    outputs: dict[int, Tensor] = {}

    def keep(layer: int) -> Any:
        def hook(module: nn.Module, args: Any, output: Any) -> None:
            outputs[layer] = hidden_of(output)

        return hook

    handles = []
    try:
        handles += [stack.layers[layer].register_forward_hook(keep(layer)) for layer in layers]
        yield outputs
    finally:
        for handle in handles:
            handle.remove()


def pool(hidden: Tensor, wanted: Tensor, pooling: Pooling) -> tuple[Tensor, Tensor]:
    """States [B, d] and norms [B] pooled over the wanted positions (mask [B, T]) of hidden [B, T, d], on the CPU.

    ``mean`` averages states, and the norms of states, over positions; ``last`` takes the last wanted position, on
    whichever side the padding is.
    """
    hidden = hidden.float()
    mask = (wanted != 0).to(hidden.device)
    norms = hidden.norm(dim=-1)
    if pooling == "last":
        rows = torch.arange(len(hidden), device=hidden.device)
        at = hidden.shape[1] - 1 - mask.int().flip(1).argmax(1)
        return hidden[rows, at].cpu(), norms[rows, at].cpu()
    # where, not a product: a padding state may be infinite.
    count = mask.sum(1)
    states = torch.where(mask[..., None], hidden, 0).sum(1) / count[:, None]
    return states.cpu(), (torch.where(mask, norms, 0).sum(1) / count).cpu()
