"""COMET: a trained metric that compares a text with its reference and its source, by their sentence embeddings.

Read from Unbabel's checkpoints (Rei et al. 2022, WMT22, wmt22-comet-da); scores equal those of unbabel-comet 2.2.7.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from core.errors import DataError
from core.progress import Progress, warn
from eval.comet.checkpoint import load_checkpoint
from eval.comet.network import CometNetwork
from eval.steering.fingerprint import SAMPLES, WeightSums

SIDES = ("mt", "ref", "src")
# XLM-R has two positions more than it reads, and unbabel-comet takes two off twice: 510 tokens of wmt22-comet-da's 514.
_POSITIONS_NOT_READ = 4
# Rows of features in memory at once: 100 MB of wmt22-comet-da's.
_ESTIMATED_AT_ONCE = 4096
_LISTED = 20


class Comet:
    """A COMET checkpoint. ``max_length`` counts tokens, ``<s>`` and ``</s>`` among them; longer texts are cut after it."""

    def __init__(self, network: CometNetwork, tokenizer: Any, device: str | None = None, batch_size: int = 16) -> None:
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self.network, self.tokenizer, self.batch_size = network.to(self.device), tokenizer, batch_size
        config = network.encoder.model.config
        self.width: int = config.hidden_size
        self.max_length: int = config.max_position_embeddings - _POSITIONS_NOT_READ

    @classmethod
    def from_pretrained(
        cls, name: str | Path, device: str | None = None, batch_size: int = 16, revision: str | None = None
    ) -> Self:
        """A checkpoint folder (hparams.yaml, checkpoints/model.ckpt) or Hub id; ``device`` None is the GPU where there is one.

        Raises ModelError for one that is not a regression metric on XLM-R, or cannot be loaded whole.
        """
        return cls(*load_checkpoint(name, revision), device, batch_size)

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Tensor:
        """Sentence embeddings, float32 [n, d] on the CPU. Equal texts are embedded once, texts of like length together.

        ``progress`` counts distinct texts. Raises DataError for None.
        """
        if None in texts:
            raise DataError("a text to embed is None; give '' for an empty one, or leave it out")
        ids = {text: self._ids(text) for text in texts}
        by_length = sorted(ids, key=lambda text: len(ids[text]))
        rows = torch.empty(len(ids), self.width)
        for start in range(0, len(by_length), self.batch_size):
            batch = by_length[start : start + self.batch_size]
            rows[start : start + len(batch)] = self._embedded([ids[text] for text in batch])
            if progress is not None:
                progress.update(len(batch))
        place = {text: row for row, text in enumerate(by_length)}
        return rows[[place[text] for text in texts]]

    def estimate(self, mt: Tensor, ref: Tensor, src: Tensor) -> Tensor:
        """Scores, float32 [n] on the CPU, from embeddings [n, d] of hypotheses, references and sources.

        Other leading dimensions than n are kept, and broadcast.
        """
        with torch.no_grad():
            sides = torch.broadcast_tensors(mt, ref, src)
            shape, width = sides[0].shape[:-1], sides[0].shape[-1]
            flat = [side.reshape(-1, width).split(_ESTIMATED_AT_ONCE) for side in sides]
            parts = [
                self.network.estimator(*(side.to(self.device) for side in part)) for part in zip(*flat, strict=True)
            ]
            return torch.cat(parts).cpu().reshape(shape)

    def score(self, rows: Sequence[Mapping[str, Any]]) -> Tensor:
        """Scores [n] of rows with src, mt and ref. An empty text is scored as unbabel-comet does; what is cut is warned of.

        Raises DataError for a row without one of them, None included.
        """
        for number, row in enumerate(rows):
            for side in SIDES:
                if not isinstance(row.get(side), str):
                    given = "is missing" if side not in row else f"is {row[side]!r}"
                    raise DataError(f"row {number}: {side} {given}; give its text, or '' for an empty one")
        texts = {side: [row[side] for row in rows] for side in SIDES}
        cut = [f"row {row} {side}" for side in SIDES for row in self.truncated(texts[side])]
        if cut:
            more = ", …" if len(cut) > _LISTED else ""
            warn(
                f"{len(cut)} of {len(SIDES) * len(rows)} texts are longer than {self.max_length} tokens and read up to there: "
                f"{', '.join(cut[:_LISTED])}{more}"
            )
        embedded = self.embed([text for side in SIDES for text in texts[side]])
        return self.estimate(*embedded.split(len(rows))) if rows else torch.empty(0)

    def truncated(self, texts: Sequence[str]) -> list[int]:
        """The places of the texts that are longer than ``max_length`` tokens."""
        counts = {text: len(self._all_ids(text)) for text in texts}
        return [row for row, text in enumerate(texts) if counts[text] > self.max_length]

    @cached_property
    def fingerprint(self) -> WeightSums:
        """As eval.steering.fingerprint has it of layers: a number for the embeddings, each layer of the encoder and the
        estimator; and gamma times the share of each mixed layer.
        """
        network = self.network
        encoder = network.encoder.model
        sampled = [_sample(block) for block in (encoder.embeddings, *encoder.encoder.layer, network.estimator)]
        sums, norms = [float(weights.sum()) for weights in sampled], [float(weights.norm()) for weights in sampled]
        if network.layer == "mix":
            mix = network.layerwise_attention
            shares = (mix.gamma * mix.shares()).tolist()
            sums, norms = sums + shares, norms + [abs(float(mix.gamma))] * len(shares)
        return WeightSums(sums, norms)

    def _ids(self, text: str) -> Tensor:
        ids = self._all_ids(text)
        # The end token stays.
        kept = ids if len(ids) <= self.max_length else [*ids[: self.max_length - 1], ids[-1]]
        return torch.tensor(kept)

    def _all_ids(self, text: str) -> list[int]:
        return list(self.tokenizer(text, verbose=False)["input_ids"])

    @torch.inference_mode()
    def _embedded(self, ids: Sequence[Tensor]) -> Tensor:
        pad_id = self.tokenizer.pad_token_id
        tokens = pad_sequence(list(ids), batch_first=True, padding_value=pad_id)
        attention = pad_sequence([torch.ones_like(row) for row in ids], batch_first=True)
        return self.network.embed(tokens.to(self.device), attention.to(self.device), pad_id).cpu()


def _sample(block: nn.Module) -> Tensor:
    matrices = [weights.detach().flatten() for weights in block.parameters() if weights.dim() > 1]
    return torch.cat([matrix[:: max(1, matrix.numel() // SAMPLES)][:SAMPLES] for matrix in matrices]).cpu()
