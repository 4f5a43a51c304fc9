"""COMET from a checkpoint folder: scores beside a forward pass in numpy, what is cut, what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from core.errors import DataError
from eval.comet import Comet
from eval.comet.network import sparsemax
from tests.eval import comet_checkpoint
from tests.eval.comet_checkpoint import ByHand

# POSITIONS of 24, less four.
LONGEST = 20
TEXTS = ["a bc", "éñ", "अकखग घ आ", "委员会开 ab", "kkkk lm"]
ROWS = [
    {"mt": TEXTS[0], "ref": TEXTS[1], "src": TEXTS[2]},
    {"mt": TEXTS[3], "ref": TEXTS[4], "src": ""},
    {"mt": "", "ref": TEXTS[2], "src": TEXTS[1]},
    {"mt": "", "ref": "", "src": ""},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return comet_checkpoint.write(tmp_path_factory.mktemp("comet") / "checkpoint")


@pytest.fixture(scope="module")
def comet(folder: Path) -> Comet:
    return Comet.from_pretrained(folder, device="cpu")


VARIANTS: list[dict[str, Any]] = [
    {},
    {"layer_norm": True},
    {"layer_transformation": "softmax"},
    {"layer_transformation": "softmax", "layer_norm": True, "pool": "max"},
    {"layer_transformation": "sparsemax_patch", "pool": "cls"},
    {"pool": "default"},
    {"layer": 0, "hidden_sizes": [5]},
    {"layer": 2, "pool": "max"},
]


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_scores_are_those_of_the_pass_by_hand(tmp_path: Path, changes: dict[str, Any]) -> None:
    written = comet_checkpoint.write(tmp_path / "c", seed=3, **changes)
    by_hand = ByHand(written)
    expected = [by_hand.score(**row) for row in ROWS]
    assert np.ptp(expected) > 1e-3
    assert Comet.from_pretrained(written, device="cpu").score(ROWS).tolist() == pytest.approx(expected, abs=1e-5)


def test_sparsemax_of_three() -> None:
    # Both of the first two are in: τ = (0.9 + 0.5 − 1) / 2 = 0.2, and 0.1 is below it.
    assert sparsemax(torch.tensor([0.5, 0.1, 0.9])).tolist() == pytest.approx([0.3, 0.0, 0.7])
    # One leads by more than 1 and takes all.
    assert sparsemax(torch.tensor([2.0, 0.5, 0.0])).tolist() == [1.0, 0.0, 0.0]
    assert sparsemax(torch.zeros(4)).tolist() == [0.25] * 4


def test_a_final_activation_is_the_last_step(tmp_path: Path, folder: Path, comet: Comet) -> None:
    with_sigmoid = comet_checkpoint.write(tmp_path / "c", final_activation="Sigmoid")
    scores = Comet.from_pretrained(with_sigmoid, device="cpu").score(ROWS)
    torch.testing.assert_close(scores, comet.score(ROWS).sigmoid())


def test_embeddings_keep_the_order_of_texts_and_repeats(folder: Path, comet: Comet) -> None:
    texts = ["kkkk lm", "a", "", "a", "अकखग घ आ"]
    embedded = comet.embed(texts)
    assert embedded.shape == (5, comet.width)
    assert embedded.dtype == torch.float32
    by_hand = np.stack([ByHand(folder).embed(text) for text in texts])
    assert embedded.numpy() == pytest.approx(by_hand, abs=1e-5)
    assert torch.equal(embedded[1], embedded[3])


def test_batches_of_one_give_what_padded_batches_give(folder: Path, comet: Comet) -> None:
    alone = Comet.from_pretrained(folder, device="cpu", batch_size=1)
    torch.testing.assert_close(alone.embed(TEXTS), comet.embed(TEXTS), atol=1e-5, rtol=0)


def test_the_estimate_is_of_embeddings_and_broadcasts_a_constant_source(comet: Comet) -> None:
    mt, ref, src = comet.embed(TEXTS[:2]), comet.embed(TEXTS[2:4]), comet.embed([""])
    rows = [{"mt": TEXTS[n], "ref": TEXTS[2 + n], "src": ""} for n in range(2)]
    torch.testing.assert_close(comet.estimate(mt, ref, src.expand(2, -1)), comet.score(rows))
    torch.testing.assert_close(comet.estimate(mt, ref, src), comet.score(rows))
    both = comet.estimate(torch.stack([mt, ref]), ref, src)
    assert both.shape == (2, 2)
    torch.testing.assert_close(both[0], comet.score(rows))


def test_no_rows_have_no_scores(comet: Comet) -> None:
    assert comet.score([]).tolist() == []


def test_weights_of_half_precision_are_read_in_float32(tmp_path: Path, comet: Comet) -> None:
    halved = comet_checkpoint.write(tmp_path / "c")
    path = halved / "checkpoints" / "model.ckpt"
    stored = torch.load(path, weights_only=True)
    stored["state_dict"] = {k: v.half() if v.is_floating_point() else v for k, v in stored["state_dict"].items()}
    torch.save(stored, path)
    scores = Comet.from_pretrained(halved, device="cpu").score(ROWS)
    assert scores.dtype == torch.float32
    assert scores.tolist() == pytest.approx(comet.score(ROWS).tolist(), abs=0.02)


class TestLongTexts:
    """Case 18: what is past the limit tells nothing, so texts that are cut there are counted and listed."""

    @pytest.fixture
    def long(self) -> str:
        # <s> ▁ and </s> leave 17 letters of the 20 tokens.
        return "a" * 17

    def test_a_text_of_just_the_limit_is_whole(self, comet: Comet, long: str) -> None:
        assert comet.max_length == LONGEST
        assert comet.truncated(["b", long, long + "b", "c" * 40]) == [2, 3]

    def test_what_is_past_the_limit_changes_nothing_and_is_warned_of(
        self, comet: Comet, long: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        rows = [{"mt": long + rest, "ref": "ab", "src": ""} for rest in ("", "bbb", "cd")]
        scores = comet.score([*rows, {"mt": "ab", "ref": long + "b", "src": ""}])
        assert scores[0] == scores[1] == scores[2] != scores[3]
        assert capsys.readouterr().err == (
            "warning: 3 of 12 texts are longer than 20 tokens and read up to there: row 1 mt, row 2 mt, row 3 ref\n"
        )

    def test_the_end_token_stays(self, folder: Path, comet: Comet, long: str) -> None:
        assert comet.embed([long + "bcd"])[0].numpy() == pytest.approx(ByHand(folder).embed(long), abs=1e-5)


class TestMissingTexts:
    """Case 18: None is not the text "None", and not the empty text either."""

    @pytest.mark.parametrize("side", ["mt", "ref", "src"])
    def test_none_is_refused(self, comet: Comet, side: str) -> None:
        with pytest.raises(DataError, match=f"row 1: {side} is None; give its text, or '' for an empty one"):
            comet.score([ROWS[0], {**ROWS[0], side: None}])

    def test_none_has_no_embedding(self, comet: Comet) -> None:
        with pytest.raises(DataError, match="a text to embed is None"):
            comet.embed(["a", None])  # type: ignore[list-item]

    def test_a_missing_side_is_refused(self, comet: Comet) -> None:
        with pytest.raises(DataError, match="row 0: src is missing"):
            comet.score([{"mt": "a", "ref": "b"}])

    def test_an_empty_text_has_a_score_of_its_own(self, comet: Comet) -> None:
        empty, spelled = comet.score([{"mt": text, "ref": "ab", "src": "ab"} for text in ("", "none")])
        assert empty != spelled
