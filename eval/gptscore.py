"""GPTScore: how likely a language model finds a summary after its document (Fu et al. 2023, arXiv 2302.04166).

The score is the mean log-probability of the summary's tokens, or, with a reference, of one after the other. Steering acts
from the last prompt token, which predicts the first scored token, to the last scored token but one.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from core.jsonl import finite
from core.records import SummaryRecord
from eval.steering.prefix import Prefix, check_cache, over_strengths, row
from eval.steering.sweep import Sweep
from eval.summary.metric import EMPTY, NO_REFERENCE, TOO_LONG, Scores
from eval.summary.prompt_tokens import fit_text, longest_input, opening_ids, text_ids

NAME = "gptscore"
Given = Literal["document", "reference", "summary", "both"]
# What stands before the scored text; what is given takes the place of {text}.
DOCUMENT_PROMPT = "{text}\n\nTL;DR:\n"
REFERENCE_PROMPT = "{text}\n\nIn other words:\n"
CACHED = 2**18  # logits


class Prompted(NamedTuple):
    """Token ids of a prompt and of the text that is scored after it; ``shortened`` where what is given was cut."""

    prompt: list[int]
    target: list[int]
    shortened: bool


class PreparedSummary(NamedTuple):
    """One prompt, or one each way between summary and reference."""

    parts: tuple[Prompted, ...]

    @property
    def shortened(self) -> bool:
        """Whether a document, reference or summary was cut to fit, visibly."""
        return any(part.shortened for part in self.parts)


class GPTScore:
    """A causal language model as a metric of summaries, scored one at a time, ``strengths_at_once`` strengths a pass.

    ``max_length`` bounds prompt and scored text together, in tokens. ``given``: the summary is scored after the document
    (the paper's) or after its reference; or the reference after the summary; ``both`` is the mean of the last two.
    """

    names: tuple[str, ...] = (NAME,)
    batch_size = 1

    def __init__(
        self, model: Any, tokenizer: Any, max_length: int = 4096, batch_size: int = 8, given: Given = "document"
    ) -> None:
        self.model, self.tokenizer, self.strengths_at_once, self.given = model, tokenizer, batch_size, given
        check_cache(model)
        self.max_length = longest_input(model, max_length)

    def key(self, record: SummaryRecord) -> tuple[str, ...]:
        """Language, summary and what it is scored with."""
        other = record.document if self.given == "document" else record.reference or ""
        return record.language, record.summary, other

    def prepare(self, record: SummaryRecord) -> PreparedSummary | str:
        """The tokens to score, or the reason why the summary has no score."""
        summary, reference = record.summary.strip(), (record.reference or "").strip()
        if not summary:
            return EMPTY
        if self.given != "document" and not reference:
            return NO_REFERENCE
        pairs = {
            "document": [(DOCUMENT_PROMPT, record.document, summary)],
            "reference": [(REFERENCE_PROMPT, reference, summary)],
            "summary": [(REFERENCE_PROMPT, summary, reference)],
        }
        pairs["both"] = pairs["reference"] + pairs["summary"]
        parts = [self._prompted(*pair) for pair in pairs[self.given]]
        found = tuple(part for part in parts if part is not None)
        return PreparedSummary(found) if len(found) == len(parts) else TOO_LONG

    def score(self, prepared: Sequence[PreparedSummary], sweeps: Sequence[Sweep]) -> list[list[Scores]]:
        """The scores of each summary under each sweep, by name; None where one is not finite.

        Raises ConfigError and others as `eval.steering.prefix.over_strengths` does.
        """
        with torch.inference_mode():
            return [[{NAME: scores} for scores in self._scores(one, sweeps)] for one in prepared]

    def _scores(self, prepared: PreparedSummary, sweeps: Sequence[Sweep]) -> list[list[float | None]]:
        by_part = [self._part(part, sweeps) for part in prepared.parts]
        return [
            [finite(math.fsum(ways) / len(ways)) for ways in zip(*sweep, strict=True)]
            for sweep in zip(*by_part, strict=True)
        ]

    def _part(self, part: Prompted, sweeps: Sequence[Sweep]) -> list[list[float]]:
        """Mean log-probability of the target at each strength of each sweep."""
        prefix = Prefix(self.model, part.prompt[:-1])
        ids = row(self.model, [part.prompt[-1], *part.target[:-1]])

        def after_prefix(rows: int) -> list[float]:
            logits = self.model(input_ids=ids.expand(rows, -1), cache=prefix.rows(rows), use_cache=True).logits
            return [mean_log_probability(one, part.target) for one in logits]

        steered = (len(part.prompt) - 1, None)
        return [over_strengths(self.model, sweep, self.strengths_at_once, after_prefix, steered) for sweep in sweeps]

    def _prompted(self, prompt: str, text: str, target: str) -> Prompted | None:
        """None where it does not fit. Prompt and target are tokenized apart, so that no token spans their boundary."""
        opening, target_ids = opening_ids(self.tokenizer), text_ids(target, self.tokenizer)
        room = self.max_length - len(opening) - len(target_ids)
        fitted = fit_text(text, room, self.tokenizer, lambda given: text_ids(prompt.format(text=given), self.tokenizer))
        return None if fitted is None else Prompted(opening + fitted.ids, target_ids, fitted.shortened)


def mean_log_probability(logits: Tensor, target: Sequence[int]) -> float:
    """Mean log-probability of T target tokens under logits [T, V]."""
    length, vocabulary = logits.shape
    # Some positions at a time: all of them, over a vocabulary of 262k, fall out of a CPU's cache and take three times as long.
    at_once = max(1, CACHED // vocabulary) if logits.device.type == "cpu" else length
    blocks = logits.split(at_once)
    normalisers = torch.cat([block.float().logsumexp(1) for block in blocks])
    found = logits[torch.arange(length), torch.as_tensor(target)].float() - normalisers
    return float(found.mean())
