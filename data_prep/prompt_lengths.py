"""How long a language's judge prompts are in one tokenizer, and what the length policy would do with them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.chat import encode_prompt
from core.length import VERDICT_TOKENS, fit
from core.prompt import build_messages
from core.prompt_spec import PromptSpec
from core.records import JudgeRecord

QUANTILES = (0.05, 0.5, 0.9, 0.95, 0.99, 1.0)


@dataclass(frozen=True)
class PromptLengths:
    """Tokens of whole prompts, before anything is shortened.

    ``quantiles`` are lengths that occur (of 1.0 the longest); ``over`` is the share of prompts longer than each limit;
    ``shortened`` and ``refused`` are the ids of the records that the length policy would shorten and would not take.
    """

    n: int
    quantiles: dict[float, int]
    over: dict[int, float]
    shortened: list[str]
    refused: list[str]


def prompt_lengths(
    records: Sequence[JudgeRecord], tokenizer: Any, spec: PromptSpec, limits: Sequence[int]
) -> PromptLengths:
    """Measure the prompts of records as ``core.chat`` encodes them.

    Raises DataError for a record without reference under a template with one.
    """
    lengths: list[int] = []
    shortened: list[str] = []
    refused: list[str] = []
    for record in records:
        prompt = encode_prompt(tokenizer, build_messages(record, spec.template, spec.with_reference))
        lengths.append(len(prompt))
        if len(prompt) > spec.max_length - VERDICT_TOKENS:
            fitted = fit(record, tokenizer, spec.max_length, spec.template, spec.with_reference)
            (refused if fitted.prompt is None else shortened).append(record.id)
    counts = np.array(lengths)
    quantiles = np.quantile(counts, QUANTILES, method="inverted_cdf")
    return PromptLengths(
        n=len(lengths),
        quantiles={level: int(length) for level, length in zip(QUANTILES, quantiles, strict=True)},
        over={limit: float((counts > limit).mean()) for limit in limits},
        shortened=shortened,
        refused=refused,
    )
