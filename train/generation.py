"""Writing on after prompts, as judging and the validation during training both do it.

Left padding, greedy unless told otherwise, and a stop where the chat template ends a turn. What else a model's own
generation config asks for, such as a repetition penalty, is left out.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from peft import PeftModel
from torch.distributed.fsdp import FSDPModule
from transformers import GenerationConfig

from core.length import Fitted
from core.records import Prediction
from core.verdict import Verdict


def decoding(tokenizer: Any, stops: list[int], max_new_tokens: int, **drawing: Any) -> GenerationConfig:
    """Greedy decoding up to one of ``stops``; ``drawing`` (temperature, top_p, top_k) draws instead."""
    return GenerationConfig(
        max_new_tokens=max_new_tokens,
        eos_token_id=stops,
        pad_token_id=tokenizer.pad_token_id,
        do_sample=bool(drawing),
        use_cache=True,  # a training turns it off in the model's config
        **drawing,
    )


def generate(
    model: Any, config: GenerationConfig, prompts: Sequence[Sequence[int]], device: Any, **kwargs: Any
) -> torch.Tensor:
    """Prompts and what is written after them, as one batch: token ids [batch, longest prompt + steps], padded left.

    ``kwargs`` go to the model's ``generate``. The model keeps its mode and its own generation config.
    """
    longest = max(map(len, prompts))
    padded = [[config.pad_token_id] * (longest - len(prompt)) + list(prompt) for prompt in prompts]
    mask = [[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts]
    with _decoding_by(config, model):
        sequences: torch.Tensor = model.generate(
            input_ids=torch.tensor(padded, device=device), attention_mask=torch.tensor(mask, device=device), **kwargs
        )
    return sequences


def up_to_stop(tokens: list[int], stops: Sequence[int]) -> list[int]:
    """The tokens before the first stop; all of them where there is none."""
    return tokens[: next((step for step, token in enumerate(tokens) if token in stops), len(tokens))]


def decode(tokenizer: Any, tokens: list[int]) -> str:
    """Generated tokens as the text they stand for, special tokens and spaces kept."""
    return str(tokenizer.decode(tokens, skip_special_tokens=False, clean_up_tokenization_spaces=False))


def batches(fitted: Sequence[Fitted], size: int, budget: int | None = None, new_tokens: int = 0) -> list[list[int]]:
    """Positions in batches of prompts of like length, the longest first, so that memory runs out early or never.

    A batch has at most ``size`` prompts and at most ``budget`` tokens, each prompt padded to the longest and with
    ``new_tokens`` to come; a prompt that is over it by itself is a batch of its own.
    """
    order = sorted(range(len(fitted)), key=lambda row: -fitted[row].tokens)
    made: list[list[int]] = []
    room = 0
    for row in order:
        if not made or len(made[-1]) == room:
            longest = fitted[row].tokens + new_tokens
            room = size if budget is None else max(1, min(size, budget // longest))
            made.append([])
        made[-1].append(row)
    return made


def prediction(
    fitted: Fitted,
    judge: str,
    template: str,
    verdict: Verdict,
    raw: str,
    expected_score: float | None = None,
    score_mass: float | None = None,
) -> Prediction:
    """The row that a judge's verdict on one prompt makes; ``raw`` is its text as generated."""
    record = fitted.record
    return Prediction(
        id=record.id,
        item_id=record.item_id,
        language=record.language,
        system=record.system,
        judge=judge,
        template=template,
        gold=record.gold,
        score=verdict.score,
        expected_score=expected_score,
        score_mass=score_mass,
        failure=verdict.failure,
        feedback=verdict.feedback,
        raw=raw,
        prompt_tokens=fitted.tokens,
        shortened=fitted.shortened,
    )


@contextmanager
def whole_root(model: Any) -> Iterator[None]:
    """Gather what FSDP2 shards at the outermost module: ``generate`` of an adapter calls a module within it.

    The layers gather their own weights. Without FSDP2 nothing happens.
    """
    if not isinstance(model, FSDPModule):
        yield
        return
    model.unshard()
    try:
        yield
    finally:
        model.reshard()


@contextmanager
def _decoding_by(config: GenerationConfig, model: Any) -> Iterator[None]:
    # generate() fills whatever its caller leaves open from the model's own config, so that is what is replaced.
    generating = model.get_base_model() if isinstance(model, PeftModel) else model
    own = generating.generation_config
    generating.generation_config = config
    try:
        yield
    finally:
        generating.generation_config = own
