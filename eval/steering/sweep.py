"""A sweep: one set of directions, and the strengths at which a metric is steered with it."""

from typing import NamedTuple

from eval.steering.directions import Directions
from eval.steering.hooks import Method, Scale


class Sweep(NamedTuple):
    """Directions and strengths, none of them 0; or, without directions, the unsteered sweep of strength 0 alone.

    ``scale`` is that of a vector, None for a map. ``draw`` numbers a null draw; None are the real directions.
    """

    directions: Directions | None
    strengths: tuple[float, ...]
    method: Method | None = None
    scale: Scale | None = None
    draw: int | None = None
    allow_other_model: bool = False

    @property
    def layers(self) -> list[int] | None:
        """The layers steered, None where nothing is."""
        return None if self.directions is None else self.directions.layers


UNSTEERED = Sweep(None, (0.0,))
