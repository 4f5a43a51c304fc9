"""What every backend gives back for a prompt: the text, and how likely each score was where a digit was written."""

from typing import NamedTuple


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
    """Generated text up to the first stop token, and its digits from 1 to 5 that are one token each."""

    text: str
    digits: list[DigitStep]

    def expected_score(self, offset: int | None) -> ExpectedScore | None:
        """The expected score at the verdict's digit; None without a verdict and where its digit is not one token."""
        for step in self.digits:
            if step.offset == offset:
                mass = sum(step.probabilities)
                return ExpectedScore(sum(s * p for s, p in enumerate(step.probabilities, start=1)) / mass, mass)
        return None
