"""GPTScore: how likely a language model finds a summary after its document (Fu et al. 2023, arXiv 2302.04166).

The score is the mean log-probability of the summary's tokens. Steering acts from the last prompt token, which predicts
the first summary token, to the last summary token but one. All before it is the same for every strength, so it is read
once and its KV cache shared, which is exact.
"""

import copy
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers import DynamicCache

from core.errors import ConfigError
from core.jsonl import finite
from core.length import count_tokens, shorten
from eval.steering.directions import Directions
from eval.steering.hooks import Method, Scale, steer
from eval.steering.layers import backbone

PROMPT = "{document}\n\nTL;DR:\n"
# A document that would have to be shorter than this is not shortened; its summary is unscored.
SHORTEST_DOCUMENT = 64
EMPTY, TOO_LONG, NOT_FINITE = "empty summary", "too long", "score not finite"


class Prompted(NamedTuple):
    """Token ids of the prompt and of the summary that is scored after it; ``shortened`` where the document was cut."""

    prompt: list[int]
    summary: list[int]
    shortened: bool


class GPTScore:
    """A causal language model as a metric of summaries. ``max_length`` bounds prompt and summary together, in tokens."""

    def __init__(self, model: Any, tokenizer: Any, max_length: int = 4096, batch_size: int = 8) -> None:
        self.model, self.tokenizer, self.batch_size = model, tokenizer, batch_size
        longest = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        self.max_length = min(max_length, longest or max_length)

    def prompted(self, document: str, summary: str) -> Prompted | str:
        """The tokens to score, or the reason why the summary is missing or does not fit.

        Prompt and summary are tokenized apart, so that no token spans their boundary.
        """
        target = self._ids(summary.strip())
        if not target:
            return EMPTY
        room = self.max_length - len(target)
        prompt = self._prompt(document)
        keep = length = count_tokens(document, self.tokenizer)
        # Tokens may merge unluckily at the cut: the next try is then one shorter.
        while len(prompt) > room and keep > SHORTEST_DOCUMENT:
            keep = max(SHORTEST_DOCUMENT, min(keep - 1, keep - (len(prompt) - room)))
            prompt = self._prompt(shorten(document, keep, self.tokenizer))
        return Prompted(prompt, target, keep < length) if len(prompt) <= room else TOO_LONG

    def scores(
        self,
        prompted: Prompted,
        strengths: Sequence[float] = (0.0,),
        directions: Directions | None = None,
        method: Method = "vector",
        scale: Scale = "relative",
        allow_other_model: bool = False,
    ) -> list[float | None]:
        """The score at each strength; None where it is not finite.

        Strength 0 is a pass of its own without hooks, so that it is the same to the bit whatever stands beside it.
        Raises ConfigError for another strength without directions, and as `steer` does.
        """
        if directions is None and any(strengths):
            raise ConfigError(f"strengths {list(strengths)} need directions; give some, or strength 0 alone")
        with torch.inference_mode():
            cache = DynamicCache(config=self.model.config)
            backbone(self.model)(input_ids=self._row(prompted.prompt[:-1]), cache=cache, use_cache=True)
            found: dict[float, float | None] = {}
            for group in _groups(strengths, self.batch_size):
                steered: Any = nullcontext()
                if directions is not None and group != [0.0]:
                    steered = steer(self.model, directions, group, method, "all", scale, allow_other_model)
                with steered:
                    values = self._after_prefix(prompted, cache, len(group))
                found |= dict(zip(group, map(finite, values), strict=True))
        return [found[strength] for strength in strengths]

    def _after_prefix(self, prompted: Prompted, prefix: DynamicCache, rows: int) -> list[float]:
        """Mean log-probability of the summary in each of ``rows`` copies of one pass over the last prompt token and it."""
        cache = copy.deepcopy(prefix)
        cache.batch_repeat_interleave(rows)
        ids = self._row([prompted.prompt[-1], *prompted.summary[:-1]]).expand(rows, -1)
        logits = self.model(input_ids=ids, cache=cache, use_cache=True).logits
        return [_mean_log_probability(row, prompted.summary) for row in logits]

    def _prompt(self, document: str) -> list[int]:
        special = self.tokenizer("")["input_ids"]
        bos = [self.tokenizer.bos_token_id] if self.tokenizer.bos_token_id in special else []
        return bos + self._ids(PROMPT.format(document=document))

    def _ids(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def _row(self, ids: list[int]) -> Tensor:
        return torch.tensor([ids], device=next(self.model.parameters()).device)


def _groups(strengths: Sequence[float], size: int) -> Iterator[list[float]]:
    if 0.0 in strengths:
        yield [0.0]
    steered = [strength for strength in dict.fromkeys(strengths) if strength != 0]
    for start in range(0, len(steered), size):
        yield steered[start : start + size]


def _mean_log_probability(logits: Tensor, target: list[int]) -> float:
    """Mean log-probability of T target tokens under logits [T, V]."""
    # A position at a time: the whole, over a vocabulary of 262k, falls out of the processor's cache and takes three times as long.
    positions = (row.float() for row in logits)
    found = [row[token] - row.logsumexp(0) for row, token in zip(positions, target, strict=True)]
    return float(torch.stack(found).mean())
