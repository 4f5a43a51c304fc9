"""Directions learned on COMET's pooled embeddings, and refused where they do not belong."""

from pathlib import Path

import pytest
import torch

from core.errors import DataError, ModelError
from eval.comet import Comet
from eval.comet.directions import check_directions, learn_comet
from eval.steering.directions import POOLED_EMBEDDING, Directions
from eval.steering.hooks import steer
from tests import pico
from tests.eval import comet_checkpoint
from tests.eval.comet_checkpoint import WIDTH

PAIRS = [("a bc", "éñ"), ("अकख", "ab c"), ("委员会", "k"), ("d e", "f gh"), ("i", "jj k"), ("lmn", "o p")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return comet_checkpoint.write(tmp_path_factory.mktemp("comet") / "checkpoint")


@pytest.fixture(scope="module")
def comet(folder: Path) -> Comet:
    return Comet.from_pretrained(folder, device="cpu")


def test_the_vector_is_the_difference_of_the_means(comet: Comet) -> None:
    learned = learn_comet(comet, [*PAIRS, PAIRS[0], ("a bc", "other")], "hi", "en", model_name="me/comet")
    source, pivot = (comet.embed([pair[side] for pair in PAIRS]) for side in (0, 1))
    found, facts = learned.directions, learned.directions.facts
    torch.testing.assert_close(found.vectors[0], pivot.mean(0) - source.mean(0))
    assert found.layers == [0]
    assert facts.mean_norms[0] == pytest.approx(float(torch.cat([source, pivot]).norm(dim=1).mean()))
    assert (facts.hook_point, facts.model, facts.pooling) == (POOLED_EMBEDDING, "me/comet", "avg")
    assert (facts.pairs, facts.source, facts.pivot, facts.model_layers) == (6, "hi", "en", 1)
    torch.testing.assert_close(learned.states.source[:, 0], source)
    assert not found.maps


def test_a_map_sends_the_pairs_to_their_pivots_and_held_out_pairs_measure_it(comet: Comet) -> None:
    learned = learn_comet(comet, PAIRS, "hi", "en", maps=True, held_out=[("ff", "g"), ("q r", "s")])
    source, pivot = (comet.embed([pair[side] for pair in PAIRS]) for side in (0, 1))
    # Six pairs in eight dimensions: the map of least norm fits them exactly.
    torch.testing.assert_close(learned.directions.maps[0](source), pivot, atol=1e-3, rtol=1e-3)
    facts = learned.directions.facts
    assert (facts.held_out_pairs, facts.map_kind, facts.map_fit[0]["rank"]) == (2, "minimum_norm", 6)
    assert {"none", "vector", "minimum_norm", "ridge"} <= facts.held_out[0].keys()
    assert learned.states.held_out_pivot.shape == (2, 1, WIDTH)


def test_they_are_saved_loaded_and_known_again(comet: Comet, folder: Path, tmp_path: Path) -> None:
    learn_comet(comet, PAIRS, "hi", "en").directions.save(tmp_path)
    loaded = Directions.load(tmp_path)
    check_directions(comet, loaded)
    check_directions(Comet.from_pretrained(folder, device="cpu"), loaded)


def test_no_pairs_teach_nothing(comet: Comet) -> None:
    with pytest.raises(DataError, match="no pairs of sentences"):
        learn_comet(comet, [], "hi", "en")


def test_sentences_that_are_cut_are_counted(comet: Comet, capsys: pytest.CaptureFixture[str]) -> None:
    learn_comet(comet, [*PAIRS, ("a" * 30, "b")], "hi", "en")
    assert "1 of 14 sentences are longer than 20 tokens and read up to there" in capsys.readouterr().err


class TestWhereTheyBelong:
    """By hook point and by fingerprint, both ways."""

    def test_comet_s_do_not_steer_a_language_model(self, comet: Comet) -> None:
        learned = learn_comet(comet, PAIRS, "hi", "en").directions
        model = pico.model()
        with (
            pytest.raises(ModelError, match="learned at 'pooled sentence embedding'"),
            steer(model, learned, 0.1, scale="relative"),
        ):
            pass

    def test_a_language_model_s_do_not_steer_comet(self, comet: Comet) -> None:
        found = Directions.from_vectors({0: torch.ones(WIDTH)}, mean_norms={0: 1.0})
        with pytest.raises(ModelError, match="but this model is steered at 'pooled sentence embedding'"):
            check_directions(comet, found)

    @pytest.mark.parametrize(
        "name",
        [
            "encoder.model.embeddings.word_embeddings.weight",
            "encoder.model.encoder.layer.1.output.dense.weight",
            "estimator.ff.0.weight",
            "layerwise_attention.scalar_parameters.1",
            "layerwise_attention.gamma",
        ],
    )
    def test_a_checkpoint_with_another_weight_is_another_one(self, comet: Comet, tmp_path: Path, name: str) -> None:
        learned = learn_comet(comet, PAIRS, "hi", "en").directions
        other = comet_checkpoint.write(tmp_path / "c")
        path = other / "checkpoints" / "model.ckpt"
        stored = torch.load(path, weights_only=True)
        stored["state_dict"][name] += 0.3
        torch.save(stored, path)
        with pytest.raises(ModelError, match="learned on another model"):
            check_directions(Comet.from_pretrained(other, device="cpu"), learned)

    def test_the_same_checkpoint_in_half_precision_is_the_same(self, comet: Comet, tmp_path: Path) -> None:
        learned = learn_comet(comet, PAIRS, "hi", "en").directions
        halved = comet_checkpoint.write(tmp_path / "c")
        path = halved / "checkpoints" / "model.ckpt"
        stored = torch.load(path, weights_only=True)
        stored["state_dict"] = {
            name: weight.bfloat16() if weight.is_floating_point() else weight
            for name, weight in stored["state_dict"].items()
        }
        torch.save(stored, path)
        check_directions(Comet.from_pretrained(halved, device="cpu"), learned)
