"""What every backend gives back for a prompt: the text, and how likely each score was where a digit was written."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from core.length import Fitted
from core.prompt_spec import PromptSpec

# Why a text without a verdict has none, where its end says more than its words.
CUT = "cut at max_new_tokens"
SCORES = range(1, 6)


class Sampling(NamedTuple):
    """How to draw tokens where decoding is not greedy. ``seed`` (in process with a batch's number) fixes the draws."""

    temperature: float = 1.0
    top_p: float = 1.0
    seed: int = 42


class DigitStep(NamedTuple):
    """A digit that was generated as one token: where it stands in the text, and the probabilities of 1 to 5 at that step.

    The probabilities are over the whole vocabulary, from raw logits, so they sum to 1 or less.
    """

    offset: int
    probabilities: tuple[float, ...]


class ExpectedScore(NamedTuple):
    """Σ s·p(s) / Σ p(s) over the tokens of 1 to 5, and ``mass`` = Σ p(s)."""

    value: float
    mass: float


class Completion(NamedTuple):
    """Generated text up to the first stop token, and its digits from 1 to 5 that are one token each.

    ``failure`` is why the text holds no verdict, should it hold none; ``prompt_tokens`` is a server's count.
    """

    text: str
    digits: list[DigitStep]
    failure: str | None = None
    prompt_tokens: int | None = None

    def expected_score(self, offset: int | None) -> ExpectedScore | None:
        """The expected score at the verdict's digit; None without a verdict and where its digit is not one token."""
        for step in self.digits:
            if step.offset == offset:
                mass = sum(step.probabilities)
                value = sum(s * p for s, p in zip(SCORES, step.probabilities, strict=True)) / mass
                return ExpectedScore(min(5.0, max(1.0, value)), mass)  # 5p / p may be over 5 by rounding
        return None


class Backend(Protocol):
    """What a Judge needs of the model behind it. ``tokenizer`` is None where the judge's own is not at hand."""

    tokenizer: Any

    def plan(self, fitted: Sequence[Fitted], done: Collection[str] = ()) -> list[tuple[int, list[int]]]:
        """Positions of the prompts to answer together, each group with its number, without those that are ``done`` (ids)."""

    def answers(self, shown: Sequence[Fitted], spec: PromptSpec, number: int = 0) -> Iterator[tuple[int, Completion]]:
        """The completions of one group with their positions in it, as they come."""
