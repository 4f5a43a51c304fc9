"""Direct prompting: a language model is asked for a summary's score from 1 to 5, steered and not.

``direct`` is the expected score Σ s·p(s) / Σ p(s) over the tokens of 1 to 5 at the step that writes the score;
``direct_generated`` is the score that is written, greedily. A text without one score from 1 to 5, by the rule for
verdicts, has neither.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from core.chat import set_chat_template, stop_token_ids
from core.records import SummaryRecord
from core.verdict import MARKER, parse_verdict
from eval.backends.completion import Completion, DigitStep
from eval.backends.transformers import DigitRecorder, DigitTokens
from eval.steering.positions import Span
from eval.steering.prefix import Prefix, check_cache, over_strengths, row
from eval.steering.sweep import Sweep
from eval.summary.metric import EMPTY, TOO_LONG, Scores
from eval.summary.prompt_tokens import fit_text, longest_input, text_ids
from eval.summary.prompts import prompt_parts
from train.generation import decode, up_to_stop

EXPECTED, GENERATED = "direct", "direct_generated"
_OPENING = f"{MARKER} "  # what is written is read as what follows a verdict's marker
PromptLanguage = Literal["en", "target"]
SteeredPart = Literal["summary", "last_prompt", "generated", "all"]


class PreparedPrompt(NamedTuple):
    """Token ids of a prompt, where the summary stands in them, and whether the document was cut."""

    ids: list[int]
    summary: tuple[int, int]
    shortened: bool


class Written(NamedTuple):
    """A score as it is expected and as it was written; None where there is none."""

    expected: float | None
    generated: float | None


class Direct:
    """A causal language model asked for scores of summaries, one summary at a time, ``strengths_at_once`` strengths a pass.

    ``max_length`` bounds prompt and answer together, in tokens; the document is shortened for it. ``prompt_language``:
    English, or that of the summary. ``positions`` that are steered: the summary's tokens, the last of the prompt, those
    generated (which the first written token does not depend on), or all.
    """

    names: tuple[str, ...] = (EXPECTED, GENERATED)
    batch_size = 1

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        max_length: int = 4096,
        batch_size: int = 8,
        prompt_language: PromptLanguage = "en",
        positions: SteeredPart = "summary",
        max_new_tokens: int = 8,
    ) -> None:
        self.model, self.tokenizer, self.strengths_at_once = model, tokenizer, batch_size
        self.prompt_language, self.positions, self.max_new_tokens = prompt_language, positions, max_new_tokens
        check_cache(model)
        self.max_length = longest_input(model, max_length)
        if tokenizer.chat_template is not None:
            set_chat_template(tokenizer, None)  # of several templates the default one
        self._stops = _stops(tokenizer, model.generation_config)
        self._digits = DigitTokens(tokenizer)
        self._parts = lru_cache(lambda dimension, language: prompt_parts(tokenizer, dimension, language))

    def key(self, record: SummaryRecord) -> tuple[str, ...]:
        """Language, dimension, summary and document."""
        return record.language, record.dimension, record.summary, record.document

    def prepare(self, record: SummaryRecord) -> PreparedPrompt | str:
        """The prompt, or the reason why the summary has no score. Raises ConfigError for a language without a prompt."""
        language = "en" if self.prompt_language == "en" else record.language
        before, between, after = self._parts(record.dimension, language)
        summary = text_ids(record.summary.strip(), self.tokenizer)
        if not summary:
            return EMPTY
        room = self.max_length - self.max_new_tokens - sum(map(len, (before, between, summary, after)))
        document = fit_text(record.document, room, self.tokenizer, lambda text: text_ids(text, self.tokenizer))
        if document is None:
            return TOO_LONG
        opening = before + document.ids + between
        span = (len(opening), len(opening) + len(summary))
        return PreparedPrompt(opening + summary + after, span, document.shortened)

    def score(self, prepared: Sequence[PreparedPrompt], sweeps: Sequence[Sweep]) -> list[list[Scores]]:
        """The scores of each summary under each sweep, by name; None where no score was written.

        Raises ConfigError and others as `eval.steering.prefix.over_strengths` does.
        """
        with torch.inference_mode():
            return [[_by_name(written) for written in self._written(one, sweeps)] for one in prepared]

    def _written(self, prompt: PreparedPrompt, sweeps: Sequence[Sweep]) -> list[list[Written]]:
        last = len(prompt.ids) - 1
        spans: dict[str, Span] = {
            "summary": prompt.summary,
            "last_prompt": (last, last + 1),
            "generated": (last + 1, None),
            "all": (0, None),
        }
        span = spans[self.positions]
        shared = min(span[0], last)  # the last token of the prompt is read again, for its logits
        prefix = Prefix(self.model, prompt.ids[:shared])
        rest = row(self.model, prompt.ids[shared:])

        def answer(rows: int) -> list[Written]:
            return self._answer(prefix.rows(rows), rest.expand(rows, -1))

        return [over_strengths(self.model, sweep, self.strengths_at_once, answer, span) for sweep in sweeps]

    def _answer(self, cache: Any, ids: Tensor) -> list[Written]:
        """What is written after the cached prefix and ``ids`` [B, T], greedily."""
        recorder = DigitRecorder(self._digits, 0)
        written = ids[:, :0]
        stops = torch.tensor(self._stops, device=ids.device)
        for _ in range(self.max_new_tokens):
            logits = self.model(input_ids=ids, cache=cache, use_cache=True, logits_to_keep=1).logits[:, -1]
            recorder(written, logits)
            ids = logits.argmax(-1, keepdim=True)
            written = torch.cat([written, ids], 1)
            if torch.isin(written, stops).any(1).all():
                break
        recorder.settle(written)
        return [self._read(tokens, recorder.found[place]) for place, tokens in enumerate(written.tolist())]

    def _read(self, tokens: list[int], digits: dict[int, tuple[float, ...]]) -> Written:
        """The score in generated tokens, given the probabilities of 1 to 5 at the steps that wrote a digit."""
        told = up_to_stop(tokens, self._stops)
        text = decode(self.tokenizer, told)
        verdict = parse_verdict(_OPENING + text)
        if verdict.score is None or verdict.digit_offset is None:
            return Written(None, None)
        offset = verdict.digit_offset - len(_OPENING)
        if len(told) == len(tokens) and offset == len(text) - 1:
            return Written(None, None)  # cut off from what follows, it may be the first digit of several
        ends = {step: len(decode(self.tokenizer, told[: step + 1]).rstrip()) for step in digits if step < len(told)}
        written = Completion(text, [DigitStep(end - 1, digits[step]) for step, end in ends.items()])
        expected = written.expected_score(offset)
        return Written(None if expected is None else expected.value, float(verdict.score))


def _by_name(written: Sequence[Written]) -> Scores:
    return {EXPECTED: [one.expected for one in written], GENERATED: [one.generated for one in written]}


def _stops(tokenizer: Any, generation_config: Any) -> list[int]:
    """The tokens that end an answer; for a base model, which has no turns, those that end a text."""
    if tokenizer.chat_template is not None:
        return stop_token_ids(tokenizer, generation_config)
    configured = generation_config.eos_token_id
    listed = configured if isinstance(configured, list) else [configured]
    return sorted({token for token in (tokenizer.eos_token_id, *listed) if token is not None})
