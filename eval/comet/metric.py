"""COMET as a metric of summaries: the summary against its reference, with an empty source (SteerEval, arXiv 2601.15809).

Steering moves the pooled sentence embeddings, so texts are embedded once and every strength is algebra on them.
"""

import math
from collections import OrderedDict
from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from core.errors import ConfigError
from core.jsonl import finite
from core.records import SummaryRecord
from eval.comet.directions import check_directions
from eval.comet.model import Comet
from eval.steering.hooks import changes, check_steerable
from eval.steering.sweep import Sweep
from eval.summary.metric import EMPTY, NO_REFERENCE, Scores

Steered = Literal["mt", "ref", "both"]
NAME, SOURCE = "comet", ""
# Embeddings kept, of texts seen last: some 130 MB of wmt22-comet-da's.
KEPT = 32_768


class CometPrepared(NamedTuple):
    """A summary and its reference; ``shortened`` where one of them is longer than COMET reads."""

    mt: str
    ref: str
    shortened: bool


class CometMetric:
    """Scores by a COMET checkpoint, ``steer`` saying which embeddings are moved: the summary's (mt), the reference's, both."""

    names: tuple[str, ...] = (NAME,)

    def __init__(self, comet: Comet, steer: Steered = "both", batch_size: int = 32) -> None:
        if steer not in ("mt", "ref", "both"):
            raise ConfigError(f"steer {steer!r} is unknown; use mt, ref or both")
        self.comet, self.steer, self.batch_size = comet, steer, batch_size
        self._embeddings: OrderedDict[str, Tensor] = OrderedDict()

    def key(self, record: SummaryRecord) -> tuple[str, ...]:
        """Language, summary and reference: COMET does not read the document."""
        return record.language, record.summary, record.reference or ""

    def prepare(self, record: SummaryRecord) -> CometPrepared | str:
        """The texts to score, or the reason why there is no score: an empty summary, or no reference."""
        if not record.summary.strip():
            return EMPTY
        if not (record.reference or "").strip():
            return NO_REFERENCE
        ref = str(record.reference)
        return CometPrepared(record.summary, ref, bool(self.comet.truncated([record.summary, ref])))

    def score(self, prepared: Sequence[CometPrepared], sweeps: Sequence[Sweep]) -> list[list[Scores]]:
        """The scores of each text under each sweep; each distinct text is embedded once for all of them.

        Raises ModelError for directions of another hook point or checkpoint, DataError where they lack what method and scale
        need, ConfigError for strengths that do not fit.
        """
        for sweep in sweeps:
            self._check(sweep)
        texts = [*(text.mt for text in prepared), *(text.ref for text in prepared), SOURCE]
        mt, ref, src = self._embedded(texts).split([len(prepared), len(prepared), 1])
        by_sweep = [self._scores(mt, ref, src, sweep).tolist() for sweep in sweeps]
        return [[{NAME: [finite(row[text]) for row in scores]} for scores in by_sweep] for text in range(len(prepared))]

    def _scores(self, mt: Tensor, ref: Tensor, src: Tensor, sweep: Sweep) -> Tensor:
        """Scores [k, n] at k strengths."""
        if sweep.directions is None:
            return self.comet.estimate(mt, ref, src)[None]
        if self.steer != "ref":
            mt = moved(mt, sweep)
        if self.steer != "mt":
            ref = moved(ref, sweep)
        return self.comet.estimate(mt, ref, src)

    def _embedded(self, texts: Sequence[str]) -> Tensor:
        """Embeddings [n, d], from those kept where the text was seen before."""
        kept = self._embeddings
        new = [text for text in dict.fromkeys(texts) if text not in kept]
        kept.update(zip(new, self.comet.embed(new), strict=True))
        for text in texts:
            kept.move_to_end(text)
        found = torch.stack([kept[text] for text in texts])
        while len(kept) > KEPT:
            kept.popitem(last=False)
        return found

    def _check(self, sweep: Sweep) -> None:
        if sweep.directions is None:
            return
        check_directions(self.comet, sweep.directions, sweep.allow_other_model)
        check_steerable(sweep.directions, sweep.method or "vector", sweep.scale or "relative")
        low, high = (0.0, 1.0) if sweep.method == "map" else (-math.inf, math.inf)
        if not all(low <= strength <= high and math.isfinite(strength) for strength in sweep.strengths):
            raise ConfigError(f"strengths {list(sweep.strengths)} do not fit method {sweep.method}; correct strengths")


def moved(embeddings: Tensor, sweep: Sweep) -> Tensor:
    """Embeddings [k, n, d] at k strengths, from embeddings [n, d]: as eval.steering.hooks has it of hidden states."""
    assert sweep.directions is not None
    change = changes(sweep.directions, sweep.method or "vector", sweep.scale or "relative")[0]
    return change(embeddings, torch.tensor(sweep.strengths)[:, None, None])
