"""COMET as a metric of summaries: steering is algebra on the embeddings, texts are embedded once."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from core.errors import ConfigError, DataError, ModelError
from core.progress import Progress
from core.records import SummaryRecord
from eval.comet import Comet
from eval.comet.metric import CometMetric, CometPrepared
from eval.steering.directions import POOLED_EMBEDDING, Directions, LinearMap
from eval.steering.sweep import UNSTEERED, Sweep
from eval.summary.metric import EMPTY, NO_REFERENCE, Metric
from tests.eval import comet_checkpoint
from tests.eval.comet_checkpoint import WIDTH, ByHand

MT, REF = "a bc", "éñ ab"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return comet_checkpoint.write(tmp_path_factory.mktemp("comet") / "checkpoint", layer_norm=True)


class CountingComet(Comet):
    """A Comet that notes which texts it embeds."""

    embedded: list[str]

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Tensor:
        self.embedded = [*getattr(self, "embedded", []), *texts]
        return super().embed(texts, progress)


@pytest.fixture
def comet(folder: Path) -> CountingComet:
    return CountingComet.from_pretrained(folder, device="cpu")


def directions(comet: Comet, seed: int = 5, **changes: Any) -> Directions:
    """A vector and an affine map on the pooled embedding, with all that ties them to the checkpoint."""
    draw = np.random.default_rng(seed)
    left, right, bias = (torch.from_numpy(draw.normal(size=shape)) for shape in ((WIDTH, 3), (3, WIDTH), (WIDTH,)))
    facts: dict[str, Any] = {"hook_point": POOLED_EMBEDDING, "fingerprint": comet.fingerprint.sums} | changes
    vector = torch.from_numpy(draw.normal(size=WIDTH))
    return Directions.from_vectors({0: vector}, {0: LinearMap(left, right, bias)}, mean_norms={0: 2.5}, **facts)


def record(summary: str = MT, reference: str | None = REF, **changes: Any) -> SummaryRecord:
    given: dict[str, Any] = {"id": "1", "language": "es", "dimension": "coherence", "document_id": "d", "document": "x"}
    return SummaryRecord(**given | {"summary": summary, "reference": reference} | changes)


def test_it_is_a_metric(comet: Comet) -> None:
    metric: Metric = CometMetric(comet, batch_size=7)
    assert (metric.names, metric.batch_size) == (("comet",), 7)


def test_unsteered_scores_are_comet_s_own(comet: Comet) -> None:
    texts = [CometPrepared(MT, REF, False), CometPrepared(REF, "a", False)]
    scores = CometMetric(comet).score(texts, [UNSTEERED])
    expected = comet.score([{"mt": text.mt, "ref": text.ref, "src": ""} for text in texts]).tolist()
    assert [text[0]["comet"] for text in scores] == [[pytest.approx(score, abs=1e-6)] for score in expected]


def shift_of(found: Directions, by: float, sweep: Sweep, states: np.ndarray) -> np.ndarray:
    """What steering adds to an embedding, from the definitions of rule 8."""
    vector = found.vectors[0].numpy()
    if sweep.method == "map":
        left, right, bias = (np.asarray(part) for part in found.maps[0][:3])
        mapped = left @ (right @ states) + bias
        return by * (mapped - states)
    return by * vector * (2.5 / np.linalg.norm(vector) if sweep.scale == "relative" else 1)


@pytest.mark.parametrize("steer", ["mt", "ref", "both"])
@pytest.mark.parametrize(
    ("method", "scale", "strengths"),
    [("vector", "raw", (-2.0, 0.5)), ("vector", "relative", (-0.3, 0.1)), ("map", None, (0.25, 1.0))],
)
def test_steering_moves_the_embedding_that_is_asked_for(
    comet: Comet, folder: Path, steer: Any, method: Any, scale: Any, strengths: tuple[float, ...]
) -> None:
    found = directions(comet)
    sweep = Sweep(found, strengths, method, scale)
    scores = CometMetric(comet, steer).score([CometPrepared(MT, REF, False)], [sweep])[0][0]["comet"]
    by_hand = ByHand(folder)
    mt, ref, src = (by_hand.embed(text) for text in (MT, REF, ""))
    for by, score in zip(strengths, scores, strict=True):
        moved_mt = mt + (shift_of(found, by, sweep, mt) if steer != "ref" else 0)
        moved_ref = ref + (shift_of(found, by, sweep, ref) if steer != "mt" else 0)
        assert score == pytest.approx(by_hand.estimate(moved_mt, moved_ref, src), abs=1e-4)


def test_strength_moves_toward_the_pivot(comet: Comet) -> None:
    """A raw vector at strength 1 carries the source's mean embedding to the pivot's."""
    source, pivot = comet.embed(["a"]), comet.embed(["éñ"])
    found = Directions.from_vectors({0: (pivot - source)[0]}, hook_point=POOLED_EMBEDDING)
    scores = CometMetric(comet, "mt").score([CometPrepared("a", REF, False)], [Sweep(found, (1.0,), "vector", "raw")])
    assert scores[0][0]["comet"][0] == pytest.approx(
        float(comet.score([{"mt": "éñ", "ref": REF, "src": ""}])), abs=1e-6
    )


def test_each_text_is_embedded_once_for_all_sweeps_and_batches(comet: CountingComet) -> None:
    metric = CometMetric(comet)
    sweeps = [UNSTEERED, *(Sweep(directions(comet, seed), (-0.1, 0.1), "vector", "relative") for seed in range(3))]
    metric.score([CometPrepared(MT, REF, False), CometPrepared("ab", REF, False)], sweeps)
    metric.score([CometPrepared(MT, "ab", False)], sweeps)
    assert sorted(comet.embedded) == sorted([MT, "ab", REF, ""])


def test_forgotten_embeddings_are_made_again(comet: CountingComet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eval.comet.metric.KEPT", 3)
    metric = CometMetric(comet)
    first = metric.score([CometPrepared(MT, REF, False)], [UNSTEERED])
    metric.score([CometPrepared("ab", "bb", False)], [UNSTEERED])
    assert metric.score([CometPrepared(MT, REF, False)], [UNSTEERED])[0][0]["comet"] == pytest.approx(
        first[0][0]["comet"]
    )
    assert comet.embedded.count(MT) == 2
    assert comet.embedded.count("") == 1


def test_the_unsteered_score_is_the_same_whatever_stands_beside_it(comet: Comet) -> None:
    text = [CometPrepared(MT, REF, False)]
    alone = CometMetric(comet).score(text, [UNSTEERED])[0][0]
    beside = CometMetric(comet).score(text, [Sweep(directions(comet), (0.2,), "vector", "relative"), UNSTEERED])[0]
    assert beside[1] == alone
    assert beside[0] != alone


def test_a_score_that_is_not_finite_is_none(comet: Comet) -> None:
    found = directions(comet)
    sweep = Sweep(found, (1e38, 0.1), "vector", "raw")
    scores = CometMetric(comet).score([CometPrepared(MT, REF, False)], [sweep])[0][0]["comet"]
    assert scores[0] is None
    assert scores[1] is not None


class TestPrepare:
    """What is scored, and why not."""

    @pytest.mark.parametrize("summary", ["", " \n"])
    def test_an_empty_summary_is_missing(self, comet: Comet, summary: str) -> None:
        assert CometMetric(comet).prepare(record(summary)) == EMPTY

    @pytest.mark.parametrize("reference", [None, "", "  "])
    def test_a_summary_without_a_reference_has_no_score(self, comet: Comet, reference: str | None) -> None:
        assert CometMetric(comet).prepare(record(reference=reference)) == NO_REFERENCE

    def test_what_is_cut_is_told(self, comet: Comet) -> None:
        metric = CometMetric(comet)
        assert metric.prepare(record()) == CometPrepared(MT, REF, shortened=False)
        assert metric.prepare(record("a" * 30)) == CometPrepared("a" * 30, REF, shortened=True)
        assert metric.prepare(record(reference="a" * 30)) == CometPrepared(MT, "a" * 30, shortened=True)

    def test_records_that_differ_in_document_or_dimension_share_their_score(self, comet: Comet) -> None:
        metric = CometMetric(comet)
        assert metric.key(record()) == metric.key(record(document="y", dimension="completeness", id="2"))
        keys = {metric.key(record()), metric.key(record(reference="b")), metric.key(record("b"))}
        assert len(keys | {metric.key(record(language="tr"))}) == 4


class TestRefusals:
    """Directions that are not this checkpoint's, and strengths that do not fit."""

    def refused(self, comet: Comet, found: Directions, **changes: Any) -> str:
        sweep = Sweep(found, (0.1,), "vector", "relative")._replace(**changes)
        with pytest.raises((ModelError, DataError, ConfigError)) as error:
            CometMetric(comet).score([CometPrepared(MT, REF, False)], [sweep])
        return str(error.value)

    def test_directions_of_a_language_model(self, comet: Comet) -> None:
        found = Directions.from_vectors({0: torch.ones(WIDTH)}, mean_norms={0: 1.0})
        assert "learned at 'residual stream after the layer'" in self.refused(comet, found)

    def test_directions_of_another_checkpoint(self, comet: Comet, tmp_path: Path) -> None:
        other = Comet.from_pretrained(comet_checkpoint.write(tmp_path / "c", seed=1), device="cpu")
        assert "learned on another model" in self.refused(comet, directions(other))
        allowed = Sweep(directions(other), (0.1,), "vector", "relative", allow_other_model=True)
        assert CometMetric(comet).score([CometPrepared(MT, REF, False)], [allowed])

    def test_another_width(self, comet: Comet) -> None:
        found = Directions.from_vectors({0: torch.ones(WIDTH + 1)}, mean_norms={0: 1.0}, hook_point=POOLED_EMBEDDING)
        assert f"have width {WIDTH + 1}, but the model has {WIDTH}" in self.refused(comet, found)

    def test_another_layer(self, comet: Comet) -> None:
        found = Directions.from_vectors({1: torch.ones(WIDTH)}, mean_norms={1: 1.0}, hook_point=POOLED_EMBEDDING)
        assert "steer layer 1, but the model's last layer is 0" in self.refused(comet, found)

    def test_maps_that_are_not_there(self, comet: Comet) -> None:
        found = Directions.from_vectors({0: torch.ones(WIDTH)}, mean_norms={0: 1.0}, hook_point=POOLED_EMBEDDING)
        assert "has no map" in self.refused(comet, found, method="map", scale=None)

    @pytest.mark.parametrize("strength", [-0.1, 1.1, float("nan")])
    def test_strengths_of_a_map_beyond_its_ends(self, comet: Comet, strength: float) -> None:
        message = self.refused(comet, directions(comet), method="map", scale=None, strengths=(0.5, strength))
        assert message.startswith("strengths [0.5, ")

    def test_an_unknown_side(self, comet: Comet) -> None:
        with pytest.raises(ConfigError, match="steer 'src' is unknown; use mt, ref or both"):
            CometMetric(comet, "src")  # type: ignore[arg-type]
