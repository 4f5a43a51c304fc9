"""Judging with transformers in process: one batch of prompts in, their completions out."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from transformers import LogitsProcessor, LogitsProcessorList

from core.chat import stop_token_ids
from eval.backends.completion import Completion, DigitStep
from train.generation import decode, decoding, generate, up_to_stop

SCORES = range(1, 6)


class Sampling(NamedTuple):
    """How to draw tokens where decoding is not greedy. ``seed`` with a batch's number fixes its draws."""

    temperature: float = 1.0
    top_p: float = 1.0
    seed: int = 42


class TransformersBackend:
    """Greedy (or sampled) generation with a causal language model that stops where the chat template ends a turn."""

    def __init__(self, model: Any, tokenizer: Any, max_new_tokens: int = 512, sampling: Sampling | None = None) -> None:
        self.model, self.tokenizer = model, tokenizer
        self._stops = stop_token_ids(tokenizer, model.generation_config)
        self._digits = DigitTokens(tokenizer)
        self._sampling = sampling
        drawing = {"temperature": sampling.temperature, "top_p": sampling.top_p, "top_k": 0} if sampling else {}
        self._decoding = decoding(tokenizer, self._stops, max_new_tokens, **drawing)

    def complete(self, prompts: Sequence[Sequence[int]], number: int = 0) -> list[Completion]:
        """Generate after each prompt (token ids), as one batch; ``number`` is the batch's own, for its seed."""
        longest = max(map(len, prompts))
        recorder = DigitRecorder(self._digits, longest)
        if self._sampling:
            torch.manual_seed(self._sampling.seed + number)
        processors = LogitsProcessorList([recorder])
        with torch.inference_mode():
            sequences = generate(self.model, self._decoding, prompts, self.model.device, logits_processor=processors)
        recorder.settle(sequences)
        generated = sequences[:, longest:].tolist()
        return [self._completion(tokens, recorder.found[row]) for row, tokens in enumerate(generated)]

    def _completion(self, tokens: list[int], found: dict[int, tuple[float, ...]]) -> Completion:
        written = up_to_stop(tokens, self._stops)
        text = decode(self.tokenizer, written)
        digits = []
        for step, probabilities in found.items():
            before = decode(self.tokenizer, tokens[: step + 1]).rstrip()
            if step < len(written) and text.startswith(before):
                digits.append(DigitStep(len(before) - 1, probabilities))
        return Completion(text, digits)


class DigitTokens:
    """Which tokens stand for a single digit from 1 to 5, and which five are its alternatives of the same form."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._known: dict[int, list[int] | None] = {}

    def alternatives(self, token: int) -> list[int] | None:
        """The tokens of 1 to 5 in the form (leading space, script) of this one; None where it is no digit from 1 to 5,
        or where one of the five is not a single token."""
        if token not in self._known:
            self._known[token] = self._look_up(token)
        return self._known[token]

    def _look_up(self, token: int) -> list[int] | None:
        digit = self._text(token)
        if len(digit) != 1 or not digit.isdecimal() or int(digit) not in SCORES:
            return None
        zero = ord(digit) - int(digit)
        piece = self._tokenizer.convert_ids_to_tokens(token)
        five = [self._tokenizer.convert_tokens_to_ids(piece.replace(digit, chr(zero + score))) for score in SCORES]
        same = all(
            other is not None and self._text(other) == chr(zero + score)
            for score, other in zip(SCORES, five, strict=True)
        )
        return five if same else None

    def _text(self, token: int) -> str:
        return str(self._tokenizer.decode([token])).strip()


class DigitRecorder(LogitsProcessor):
    """Sees the raw logits of every step and keeps, where a digit was then generated, the probabilities of 1 to 5.

    Keeping all logits would take steps × batch × vocabulary numbers. Which token a step chose is known at the next one,
    so a step's logits are held until then; ``settle`` closes the last. ``found[row][step]`` are the probabilities.
    """

    def __init__(self, digits: DigitTokens, prompt_length: int) -> None:
        self.found: dict[int, dict[int, tuple[float, ...]]] = defaultdict(dict)
        self._digits, self._prompt_length = digits, prompt_length
        self._logits: torch.Tensor | None = None

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        self.settle(input_ids)
        self._logits = scores
        return scores

    def settle(self, sequences: torch.Tensor) -> None:
        """Keep what the held logits say of the last token of each sequence [batch, length]."""
        if self._logits is None:
            return
        step = sequences.shape[1] - self._prompt_length - 1
        for row, token in enumerate(sequences[:, -1].tolist()):
            five = self._digits.alternatives(token)
            if five is not None:
                logits = self._logits[row].float()
                self.found[row][step] = tuple((logits[five] - logits.logsumexp(0)).exp().tolist())
