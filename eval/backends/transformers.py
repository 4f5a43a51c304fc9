"""Judging with transformers in process: batches of prompts of like length in, their completions out."""

import gc
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import torch
from transformers import LogitsProcessor, LogitsProcessorList

from core.chat import stop_token_ids
from core.errors import ModelError
from core.length import Fitted
from core.progress import warn
from core.prompt_spec import PromptSpec
from eval.backends.completion import CUT, SCORES, Completion, DigitStep, Sampling
from train.generation import batches, decode, decoding, generate, up_to_stop

TOKEN_BUDGET = 32_768


class TransformersBackend:
    """Greedy (or sampled) generation with a causal language model that stops where the chat template ends a turn.

    A batch has at most ``batch_size`` prompts and ``token_budget`` tokens, padding and new ones counted.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        max_new_tokens: int = 512,
        sampling: Sampling | None = None,
        batch_size: int = 8,
        token_budget: int = TOKEN_BUDGET,
    ) -> None:
        self.model, self.tokenizer = model, tokenizer
        self.max_new_tokens, self.batch_size, self.token_budget = max_new_tokens, batch_size, token_budget
        self._stops = stop_token_ids(tokenizer, model.generation_config)
        self._digits = DigitTokens(tokenizer)
        self._sampling = sampling
        self._most: float = float("inf")  # tokens of a batch that memory was seen to hold
        drawing = {"temperature": sampling.temperature, "top_p": sampling.top_p, "top_k": 0} if sampling else {}
        self._decoding = decoding(tokenizer, self._stops, max_new_tokens, **drawing)

    def plan(self, fitted: Sequence[Fitted], done: Collection[str] = ()) -> list[tuple[int, list[int]]]:
        """Batches by length. One that is done in part stays whole: its make-up, on which rounding and draws hang, does not
        change when a run goes on."""
        made = enumerate(batches(fitted, self.batch_size, self.token_budget, self.max_new_tokens))
        return [(number, rows) for number, rows in made if any(fitted[row].record.id not in done for row in rows)]

    def answers(self, shown: Sequence[Fitted], spec: PromptSpec, number: int = 0) -> Iterator[tuple[int, Completion]]:
        """The completions of one batch; its number fixes the draws."""
        return enumerate(self.complete([one.prompt or [] for one in shown], number))

    def complete(self, prompts: Sequence[Sequence[int]], number: int = 0) -> list[Completion]:
        """Generate after each prompt (token ids), as one batch. Where memory runs out, in halves, and later ones of that
        size too. Raises ModelError where one prompt alone does not fit."""
        longest = max(map(len, prompts)) + self.max_new_tokens
        if len(prompts) == 1 or len(prompts) * longest <= self._most:
            try:
                return self._generate(prompts, number)
            except RuntimeError as error:
                if not _is_out_of_memory(error):
                    raise
            self._make_room(len(prompts), longest)  # here, for the error holds what the attempt had allocated
        half = (len(prompts) + 1) // 2
        others = number + len(prompts) * 2**32  # a seed of their own
        return self.complete(prompts[:half], number) + self.complete(prompts[half:], others)

    def _make_room(self, prompts: int, longest: int) -> None:
        if prompts == 1:
            raise ModelError(
                f"memory runs out at one prompt of {longest} tokens, new ones counted; lower max_length or max_new_tokens, "
                "or use a smaller dtype or a larger device (what was judged is kept: --if_exists resume)"
            )
        self._most = (prompts + 1) // 2 * longest
        gc.collect()
        if torch.accelerator.is_available():
            torch.accelerator.empty_cache()
        warn(
            f"out of memory at {prompts} prompts of up to {longest} tokens, new ones counted; going on with half of them "
            f"at a time (--token_budget {self._most} from the start saves the attempt)"
        )

    def _generate(self, prompts: Sequence[Sequence[int]], number: int) -> list[Completion]:
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
        return Completion(text, digits, CUT if len(written) == len(tokens) else None)


def _is_out_of_memory(error: RuntimeError) -> bool:
    """On a GPU, and on a CPU, where it is a plain RuntimeError."""
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)


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
