"""Directions on COMET's pooled sentence embeddings, which are its one layer, 0; and whether some belong to a checkpoint."""

from collections.abc import Sequence

from torch import Tensor

from core.errors import DataError
from core.progress import Progress, warn
from eval.comet.model import Comet
from eval.steering.directions import POOLED_EMBEDDING, Directions
from eval.steering.fitting import Encoded, Learned, fit_directions
from eval.steering.learning import distinct_pairs
from eval.steering.maps import MapKind


def learn_comet(
    comet: Comet,
    pairs: Sequence[tuple[str, str]],
    source: str,
    pivot: str,
    maps: bool = False,
    map_kind: MapKind = "minimum_norm",
    held_out: Sequence[tuple[str, str]] = (),
    model_name: str | None = None,
) -> Learned:
    """Directions from pairs of (source sentence, pivot sentence), as `eval.steering.learning.learn` has them of a layer.

    Raises DataError for no pairs, and where embeddings are not finite.
    """
    count = len(distinct_pairs(pairs))
    if not count:
        raise DataError("no pairs of sentences to learn directions from; give at least one")
    distinct = distinct_pairs([*pairs, *held_out])
    texts = [text for side in (0, 1) for text in (pair[side] for pair in distinct)]
    if cut := comet.truncated(texts):
        warn(f"{len(cut)} of {len(texts)} sentences are longer than {comet.max_length} tokens and read up to there")
    with Progress(len(set(texts)), "encode") as progress:
        embedded = comet.embed(texts, progress)
    at_source, at_pivot = (_one_layer(side) for side in embedded.split(len(distinct)))
    return fit_directions(
        at_source,
        at_pivot,
        count,
        [0],
        map_kind if maps else None,
        hook_point=POOLED_EMBEDDING,
        model=model_name,
        model_layers=1,
        fingerprint=comet.fingerprint.sums,
        source=source,
        pivot=pivot,
        pooling=comet.network.pool,
    )


def check_directions(comet: Comet, directions: Directions, allow_other_model: bool = False) -> None:
    """Raises ModelError for directions of another hook point, width or checkpoint."""
    directions.check_fits(POOLED_EMBEDDING, 1, comet.width, comet.fingerprint.same, allow_other_model)


def _one_layer(states: Tensor) -> Encoded:
    return Encoded(states[:, None], states.norm(dim=-1, keepdim=True))
