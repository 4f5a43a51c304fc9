"""GPTScore against a plain full forward pass, unsteered and steered, and what it does with texts that do not fit."""

from typing import Any

import pytest
import torch

from core.errors import ConfigError
from core.length import MARK
from eval.gptscore import EMPTY, PROMPT, TOO_LONG, GPTScore, Prompted
from eval.steering.directions import Directions
from eval.steering.hooks import steer
from tests.pico import model as pico
from tests.pico import tokenizer

KINDS = ("llama", "gemma3", "bloom")
DOCUMENT = "the response meets the rubric well. " * 8
SUMMARY = "La réponse est juste. उत्तर सही है।"


def directions() -> Directions:
    draw = torch.Generator().manual_seed(3)
    vectors = {layer: torch.randn(32, generator=draw) for layer in (0, 1)}
    return Directions.from_vectors(vectors, mean_norms={0: 4.0, 1: 5.0})


def by_hand(model: Any, prompted: Prompted) -> float:
    """Mean log-probability of the summary from one pass over the whole text, token by token."""
    ids = prompted.prompt + prompted.summary
    with torch.no_grad():
        log_probabilities = model(input_ids=torch.tensor([ids])).logits[0].log_softmax(-1)
    start = len(prompted.prompt)
    return sum(float(log_probabilities[at - 1, ids[at]]) for at in range(start, len(ids))) / len(prompted.summary)


@pytest.mark.parametrize("kind", KINDS)
def test_unsteered_score_is_that_of_one_plain_pass(kind: str) -> None:
    """Gemma 3's sliding window of 64 is shorter than the prompt here."""
    metric = GPTScore(pico(kind), tokenizer())
    prompted = metric.prompted(DOCUMENT, SUMMARY)
    assert isinstance(prompted, Prompted)
    assert len(prompted.prompt) > 64
    assert metric.scores(prompted) == [pytest.approx(by_hand(metric.model, prompted), abs=1e-5)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", ["raw", "relative"])
def test_steered_scores_are_those_of_whole_passes_steered_on_the_summary(kind: str, scale: Any) -> None:
    """From the last prompt token to the last summary token but one, each strength in a pass of its own."""
    metric = GPTScore(pico(kind), tokenizer(), batch_size=2)
    prompted = metric.prompted(DOCUMENT, SUMMARY)
    assert isinstance(prompted, Prompted)
    strengths = [-20.0, -5.0, 0.0, 5.0, 20.0]
    last = len(prompted.prompt) - 1
    expected = []
    for strength in strengths:
        span = (last, last + len(prompted.summary))
        with steer(metric.model, directions(), strength, positions=[span], scale=scale):
            expected.append(by_hand(metric.model, prompted))
    scores = metric.scores(prompted, strengths, directions(), scale=scale)
    assert scores == pytest.approx(expected, abs=2e-5)
    assert all(abs(expected[at] - expected[2]) > 1e-3 for at in (0, 1, 3, 4))


def test_strength_zero_is_the_unsteered_score_to_the_bit_whatever_stands_beside_it() -> None:
    metric = GPTScore(pico(), tokenizer())
    prompted = metric.prompted(DOCUMENT, SUMMARY)
    assert isinstance(prompted, Prompted)
    [unsteered] = metric.scores(prompted)
    assert metric.scores(prompted, [-1.0, 0.0, 1.0], directions())[1] == unsteered
    assert metric.scores(prompted, [0.0], directions(), method="vector", scale="raw") == [unsteered]


def test_strengths_need_directions() -> None:
    metric = GPTScore(pico(), tokenizer())
    prompted = metric.prompted(DOCUMENT, SUMMARY)
    assert isinstance(prompted, Prompted)
    with pytest.raises(ConfigError, match="need directions"):
        metric.scores(prompted, [0.0, 0.1])


def test_planted_direction_moves_the_score_up_and_down() -> None:
    """A vector along the embedding of the token that makes up the summary, after the last layer, raises its logit."""
    metric = GPTScore(pico(), tokenizer())
    prompted = metric.prompted(DOCUMENT, "the the the the")
    assert isinstance(prompted, Prompted)
    row = metric.model.get_output_embeddings().weight[max(set(prompted.summary), key=prompted.summary.count)]
    low, middle, high = metric.scores(prompted, [-1.0, 0.0, 1.0], Directions.from_vectors({1: 100 * row}), scale="raw")
    assert low is not None
    assert middle is not None
    assert high is not None
    assert low < middle < high


def test_no_token_spans_prompt_and_summary() -> None:
    metric = GPTScore(pico(), tokenizer())
    prompted = metric.prompted("a document", " the answer \n")
    assert isinstance(prompted, Prompted)
    tokens = tokenizer()
    assert tokens.decode(prompted.summary) == "the answer"
    assert tokens.decode(prompted.prompt) == "<s>" + PROMPT.format(document="a document")
    assert prompted.prompt.count(tokens.bos_token_id) == 1


def test_a_tokenizer_that_adds_no_bos_gets_none() -> None:
    bare = tokenizer()
    bare.backend_tokenizer.post_processor = None
    prompted = GPTScore(pico(), bare).prompted("a document", "the answer")
    assert isinstance(prompted, Prompted)
    assert bare.bos_token_id not in prompted.prompt


def test_a_long_document_is_shortened_and_marked() -> None:
    metric = GPTScore(pico(), tokenizer(), max_length=160)
    whole = metric.prompted("the response meets", SUMMARY)
    cut = metric.prompted("the response meets the rubric well. " * 40, SUMMARY)
    assert isinstance(whole, Prompted)
    assert isinstance(cut, Prompted)
    assert (whole.shortened, cut.shortened) == (False, True)
    assert len(cut.prompt) + len(cut.summary) <= 160
    assert tokenizer().decode(cut.prompt).endswith(f"well.{MARK}\n\nTL;DR:\n")
    assert cut.summary == whole.summary


def test_what_has_no_score_says_why() -> None:
    metric = GPTScore(pico(), tokenizer(), max_length=160)
    assert metric.prompted(DOCUMENT, " \n") == EMPTY
    assert metric.prompted(DOCUMENT * 3, "the response meets the rubric well " * 20) == TOO_LONG


def test_max_length_stays_within_the_models_positions() -> None:
    assert GPTScore(pico(), tokenizer(), max_length=100_000).max_length == 8192


def test_a_score_that_is_not_finite_is_none() -> None:
    model = pico()
    prompted = GPTScore(model, tokenizer()).prompted(DOCUMENT, SUMMARY)
    assert isinstance(prompted, Prompted)
    huge = Directions.from_vectors({0: torch.full((32,), 3e38)})
    scores = GPTScore(model, tokenizer()).scores(prompted, [0.0, 10.0], huge, scale="raw")
    assert scores[0] is not None
    assert scores[1] is None
