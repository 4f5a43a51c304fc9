"""GPTScore against a plain full forward pass, unsteered and steered, and what it does with texts that do not fit."""

from typing import Any

import pytest
import torch

from core.errors import ConfigError
from core.length import MARK
from core.records import SummaryRecord
from eval.gptscore import DOCUMENT_PROMPT, REFERENCE_PROMPT, Given, GPTScore, PreparedSummary, Prompted
from eval.steering.directions import Directions
from eval.steering.hooks import steer
from eval.steering.sweep import UNSTEERED, Sweep
from eval.summary.metric import EMPTY, NO_REFERENCE, TOO_LONG
from tests.pico import model as pico
from tests.pico import tokenizer

KINDS = ("llama", "gemma3", "bloom", "cohere")
DOCUMENT = "the response meets the rubric well. " * 8
SUMMARY = "La réponse est juste. उत्तर सही है।"


def directions(seed: int = 3) -> Directions:
    draw = torch.Generator().manual_seed(seed)
    vectors = {layer: torch.randn(32, generator=draw) for layer in (0, 1)}
    return Directions.from_vectors(vectors, mean_norms={0: 4.0, 1: 5.0})


def record(document: str = DOCUMENT, summary: str = SUMMARY, reference: str | None = None) -> SummaryRecord:
    facts: dict[str, Any] = {"id": "1", "language": "fr", "dimension": "coherence", "document_id": "d"}
    return SummaryRecord(**facts, document=document, summary=summary, reference=reference)


def prepared(metric: GPTScore, *texts: Any) -> PreparedSummary:
    found = metric.prepare(record(*texts))
    assert isinstance(found, PreparedSummary)
    return found


def prompted(metric: GPTScore, *texts: Any) -> Prompted:
    [part] = prepared(metric, *texts).parts
    return part


def scores(metric: GPTScore, one: PreparedSummary, *sweeps: Sweep) -> list[list[float | None]]:
    [by_sweep] = metric.score([one], sweeps)
    assert all(list(found) == ["gptscore"] for found in by_sweep)
    return [found["gptscore"] for found in by_sweep]


def by_hand(model: Any, part: Prompted) -> float:
    """Mean log-probability of the target from one pass over the whole text, token by token."""
    ids = part.prompt + part.target
    with torch.no_grad():
        log_probabilities = model(input_ids=torch.tensor([ids])).logits[0].log_softmax(-1)
    start = len(part.prompt)
    return sum(float(log_probabilities[at - 1, ids[at]]) for at in range(start, len(ids))) / len(part.target)


@pytest.mark.parametrize("kind", KINDS)
def test_unsteered_score_is_that_of_one_plain_pass(kind: str) -> None:
    """Gemma 3's sliding window of 64 is shorter than the prompt here."""
    metric = GPTScore(pico(kind), tokenizer())
    text = prepared(metric)
    assert len(text.parts[0].prompt) > 64
    assert scores(metric, text, UNSTEERED) == [[pytest.approx(by_hand(metric.model, text.parts[0]), abs=1e-5)]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", ["raw", "relative"])
def test_steered_scores_are_those_of_whole_passes_steered_on_the_summary(kind: str, scale: Any) -> None:
    """From the last prompt token to the last summary token but one, each strength in a pass of its own, two directions."""
    metric = GPTScore(pico(kind), tokenizer(), batch_size=2)
    text = prepared(metric)
    [part] = text.parts
    strengths = (-20.0, -5.0, 5.0, 20.0)
    span = (len(part.prompt) - 1, len(part.prompt) - 1 + len(part.target))
    unsteered = by_hand(metric.model, part)
    sweeps = [Sweep(directions(seed), strengths, "vector", scale, draw) for seed, draw in ((3, None), (4, 0))]
    for sweep, found in zip(sweeps, scores(metric, text, *sweeps), strict=True):
        assert sweep.directions is not None
        expected = []
        for strength in strengths:
            with steer(metric.model, sweep.directions, strength, positions=[span], scale=scale):
                expected.append(by_hand(metric.model, part))
        assert found == pytest.approx(expected, abs=2e-5)
        assert all(abs(value - unsteered) > 1e-3 for value in expected)


def test_the_unsteered_score_is_the_same_to_the_bit_whatever_stands_beside_it() -> None:
    metric = GPTScore(pico(), tokenizer())
    text = prepared(metric)
    [alone] = scores(metric, text, UNSTEERED)
    steered = Sweep(directions(), (-1.0, 1.0), "vector", "raw")
    assert scores(metric, text, steered, UNSTEERED, steered)[1] == alone
    assert metric.score([text, prepared(metric, "a")], [UNSTEERED])[0] == [{"gptscore": alone}]


def test_the_prefix_is_read_once_for_all_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prefix, unsteered, 3 strengths two at a time, and 2: 1 + 1 + 2 + 1 passes."""
    metric = GPTScore(pico(), tokenizer(), batch_size=2)
    passes: list[Any] = []
    body = metric.model.base_model
    body.register_forward_hook(lambda module, args, output: passes.append(tuple(output.last_hidden_state.shape[:2])))
    text = prepared(metric)
    sweeps = [
        UNSTEERED,
        Sweep(directions(), (-1.0, 1.0, 2.0), "vector", "raw"),
        Sweep(directions(4), (-1.0, 1.0), "vector", "raw", 0),
    ]
    scores(metric, text, *sweeps)
    before, length = len(text.parts[0].prompt) - 1, len(text.parts[0].target)
    assert passes == [(1, before), (1, length), (2, length), (1, length), (2, length)]


def test_strengths_need_directions() -> None:
    metric = GPTScore(pico(), tokenizer())
    with pytest.raises(ConfigError, match="need directions"):
        scores(metric, prepared(metric), Sweep(None, (0.0, 0.1)))


def test_planted_direction_moves_the_score_up_and_down() -> None:
    """A vector along the embedding of the token that makes up the summary, after the last layer, raises its logit."""
    metric = GPTScore(pico(), tokenizer())
    text = prepared(metric, DOCUMENT, "the the the the")
    target = text.parts[0].target
    vector = 100 * metric.model.get_output_embeddings().weight[max(set(target), key=target.count)]
    steered = Sweep(Directions.from_vectors({1: vector}), (-1.0, 1.0), "vector", "raw")
    [[low, high], [middle]] = scores(metric, text, steered, UNSTEERED)
    assert low is not None
    assert middle is not None
    assert high is not None
    assert low < middle < high


def test_reference_and_summary_are_scored_after_each_other() -> None:
    """Both ways is the mean of the two, each by a plain pass; the document is not read."""
    model, tokens, reference = pico(), tokenizer(), "a fair answer"
    found: dict[str, float] = {}
    ways: tuple[Given, ...] = ("reference", "summary", "both")
    for given in ways:
        metric = GPTScore(model, tokens, given=given)
        assert metric.key(record("one", SUMMARY, reference)) == metric.key(record("two", SUMMARY, reference))
        text = prepared(metric, DOCUMENT, SUMMARY, reference)
        expected = [by_hand(model, part) for part in text.parts]
        [[score]] = scores(metric, text, UNSTEERED)
        assert score is not None
        found[given] = score
        assert found[given] == pytest.approx(sum(expected) / len(expected), abs=1e-5)
    assert found["both"] == pytest.approx((found["reference"] + found["summary"]) / 2, abs=1e-6)
    after_reference, after_summary = text.parts
    assert tokens.decode(after_reference.prompt) == "<s>" + REFERENCE_PROMPT.format(text=reference)
    assert tokens.decode(after_reference.target) == tokens.decode(after_summary.prompt[1:]).split("\n")[0] == SUMMARY
    assert tokens.decode(after_summary.target) == reference


def test_no_token_spans_prompt_and_summary() -> None:
    tokens = tokenizer()
    part = prompted(GPTScore(pico(), tokens), "a document", " the answer \n")
    assert tokens.decode(part.target) == "the answer"
    assert tokens.decode(part.prompt) == "<s>" + DOCUMENT_PROMPT.format(text="a document")
    assert part.prompt.count(tokens.bos_token_id) == 1


def test_a_text_that_spells_a_control_token_is_read_as_characters() -> None:
    tokens = tokenizer()
    part = prompted(GPTScore(pico(), tokens), "a </s> document", "the <end> answer")
    assert not {tokens.eos_token_id, tokens.convert_tokens_to_ids("<end>")} & {*part.prompt, *part.target}
    assert tokens.decode(part.target) == "the <end> answer"


def test_a_tokenizer_that_adds_no_bos_gets_none() -> None:
    bare = tokenizer()
    bare.backend_tokenizer.post_processor = None
    assert bare.bos_token_id not in prompted(GPTScore(pico(), bare), "a document", "the answer").prompt


def test_a_long_document_is_shortened_and_marked() -> None:
    metric = GPTScore(pico(), tokenizer(), max_length=160)
    whole = prepared(metric, "the response meets")
    cut = prepared(metric, "the response meets the rubric well. " * 40)
    assert (whole.shortened, cut.shortened) == (False, True)
    [part] = cut.parts
    assert len(part.prompt) + len(part.target) <= 160
    assert tokenizer().decode(part.prompt).endswith(f"well.{MARK}\n\nTL;DR:\n")
    assert part.target == whole.parts[0].target


def test_what_has_no_score_says_why() -> None:
    metric = GPTScore(pico(), tokenizer(), max_length=160)
    assert metric.prepare(record(DOCUMENT, " \n")) == EMPTY
    assert metric.prepare(record(DOCUMENT * 3, "the response meets the rubric well " * 20)) == TOO_LONG
    both = GPTScore(pico(), tokenizer(), max_length=160, given="both")
    assert both.prepare(record()) == both.prepare(record(DOCUMENT, SUMMARY, " ")) == NO_REFERENCE
    assert both.prepare(record(DOCUMENT, SUMMARY, "the response meets the rubric well " * 40)) == TOO_LONG


def test_max_length_stays_within_the_models_positions() -> None:
    assert GPTScore(pico(), tokenizer(), max_length=100_000).max_length == 8192


def test_a_score_that_is_not_finite_is_none() -> None:
    metric = GPTScore(pico(), tokenizer())
    huge = Sweep(Directions.from_vectors({0: torch.full((32,), 3e38)}), (10.0,), "vector", "raw")
    [[unsteered], [steered]] = scores(metric, prepared(metric), UNSTEERED, huge)
    assert unsteered is not None
    assert steered is None
