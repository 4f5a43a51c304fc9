"""What eval.summaries asks of a metric: GPTScore, direct prompting, COMET."""

from collections.abc import Hashable, Sequence
from typing import Any, Protocol

from core.records import SummaryRecord
from eval.steering.sweep import Sweep

# Metric name → the score at each strength of a sweep, None where it is not finite or none was written.
Scores = dict[str, list[float | None]]

EMPTY, TOO_LONG, NO_REFERENCE, NO_SCORE = "empty summary", "too long", "no reference", "no score"


class Prepared(Protocol):
    """A text that can be scored."""

    @property
    def shortened(self) -> bool:
        """Whether something of it was cut, visibly."""


class Metric(Protocol):
    """Scores summaries with a frozen model, unsteered and steered.

    ``names`` of the scores it gives; ``batch_size`` texts are scored at once.
    """

    names: tuple[str, ...]
    batch_size: int

    def key(self, record: SummaryRecord) -> Hashable:
        """What decides a record's scores: records with the same key are scored once."""

    def prepare(self, record: SummaryRecord) -> Any:
        """A record as a ``Prepared``, or, as a str, the reason why it has no score."""

    def score(self, prepared: Sequence[Any], sweeps: Sequence[Sweep]) -> list[list[Scores]]:
        """The scores of each text under each sweep. What the sweeps of a text share is computed once."""
