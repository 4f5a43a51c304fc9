"""Direct prompting against plain whole passes of a model that writes a line break, a digit and then its end."""

from typing import Any

import pytest
import torch
from torch import Tensor

from core.chat import encode_prompt
from core.errors import ConfigError
from core.length import MARK
from core.records import SummaryRecord
from eval.direct import Direct, PreparedPrompt
from eval.steering.directions import Directions
from eval.steering.hooks import steer
from eval.steering.sweep import UNSTEERED, Sweep
from eval.summary.metric import EMPTY, TOO_LONG
from eval.summary.prompts import prompt_parts, wording
from eval.summary.wordings import WORDINGS
from tests.pico import CHAT_TEMPLATE, NO_SYSTEM_TEMPLATE, tokenizer
from tests.pico import model as pico

KINDS = ("llama", "gemma3", "bloom", "cohere")
DOCUMENT = "the response meets the rubric well. " * 4
SUMMARY = "La réponse est juste. उत्तर सही है।"
STRENGTHS = (-20.0, -5.0, 5.0, 20.0)
TOKENS = tokenizer(None)
BREAK, *DIGITS = TOKENS.convert_tokens_to_ids(["Ċ", "1", "2", "3", "4", "5"])


def writer(kind: str = "llama", then: int | None = None) -> Any:
    """A pico model that after anything writes a line break, after that a digit of its own choice, after that ``then`` (EOS)."""
    model = pico(kind, initializer_range=0.2)
    after_digit = TOKENS.eos_token_id if then is None else then

    def prefer(module: Any, args: Any, given: dict[str, Any], output: Any) -> Any:
        for place, last in enumerate(given["input_ids"][:, -1].tolist()):
            wanted = DIGITS if last == BREAK else [after_digit] if last in DIGITS else [BREAK]
            output.logits[place, -1, wanted] += 1000.0
        return output

    model.register_forward_hook(prefer, with_kwargs=True)
    return model


def directions(seed: int = 3) -> Directions:
    draw = torch.Generator().manual_seed(seed)
    vectors = {layer: torch.randn(32, generator=draw) for layer in (0, 1)}
    return Directions.from_vectors(vectors, mean_norms={0: 4.0, 1: 5.0})


def record(document: str = DOCUMENT, summary: str = SUMMARY, **changes: Any) -> SummaryRecord:
    facts = {"id": "1", "language": "fr", "dimension": "coherence", "document_id": "d"} | changes
    return SummaryRecord(**facts, document=document, summary=summary)


def prepared(metric: Direct, **changes: Any) -> PreparedPrompt:
    found = metric.prepare(record(**changes))
    assert isinstance(found, PreparedPrompt)
    return found


def by_hand(model: Any, prompt: PreparedPrompt, positions: str, strength: float, chosen: Directions) -> tuple[Any, ...]:
    """Expected and generated score from whole passes without a cache, the text one token longer each time."""
    length = len(prompt.ids)
    spans = {
        "summary": prompt.summary, "last_prompt": (length - 1, length), "generated": (length, None), "all": (0, None),
    }  # fmt: skip
    ids = list(prompt.ids)
    with torch.no_grad(), steer(model, chosen, strength, positions=[spans[positions]]):
        for _ in range(2):
            logits: Tensor = model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1]
            ids.append(int(logits.argmax()))
    assert ids[-2] == BREAK
    probabilities = logits.softmax(-1)[DIGITS].tolist()
    expected = sum(score * p for score, p in enumerate(probabilities, 1)) / sum(probabilities)
    return expected, DIGITS.index(ids[-1]) + 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("positions", ["summary", "last_prompt", "generated", "all"])
def test_scores_are_those_of_whole_passes(kind: str, positions: Any) -> None:
    """Two strengths at once after the shared prefix, against each strength alone. The prompt is longer than Gemma's window."""
    metric = Direct(writer(kind), TOKENS, batch_size=2, positions=positions)
    prompt = prepared(metric)
    [[unsteered, steered]] = metric.score([prompt], [UNSTEERED, Sweep(directions(), STRENGTHS, "vector", "raw")])
    wanted = [by_hand(metric.model, prompt, positions, strength, directions()) for strength in (0.0, *STRENGTHS)]
    expected, generated = ([pair[place] for pair in wanted] for place in (0, 1))
    assert unsteered["direct"] + steered["direct"] == pytest.approx(expected, abs=2e-5)
    assert unsteered["direct_generated"] + steered["direct_generated"] == generated
    assert all(abs(value - expected[0]) > 2e-4 for value in expected[1:])


def test_the_unsteered_score_is_the_same_to_the_bit_whatever_stands_beside_it() -> None:
    metric = Direct(writer(), TOKENS)
    prompt = prepared(metric)
    steered = Sweep(directions(), (-1.0, 1.0), "vector", "raw")
    [[alone]] = metric.score([prompt], [UNSTEERED])
    assert metric.score([prompt], [steered, UNSTEERED, steered])[0][1] == alone


@pytest.mark.parametrize(("positions", "shared"), [("summary", "summary"), ("generated", "prompt"), ("all", "nothing")])
def test_what_is_read_once(positions: Any, shared: str) -> None:
    """For the summary all before it, for what is generated the prompt but its last token; each answer is two tokens more."""
    metric = Direct(writer(), TOKENS, positions=positions)
    prompt = prepared(metric)
    passes: list[Any] = []
    metric.model.base_model.register_forward_hook(
        lambda module, args, output: passes.append(tuple(output.last_hidden_state.shape[:2]))
    )
    metric.score([prompt], [UNSTEERED, Sweep(directions(), (-1.0, 1.0), "vector", "raw")])
    once = {"summary": prompt.summary[0], "prompt": len(prompt.ids) - 1, "nothing": 0}[shared]
    rest = len(prompt.ids) - once
    answers = [(1, rest), (1, 1), (1, 1), (2, rest), (2, 1), (2, 1)]
    assert passes == [*([(1, once)] if once else []), *answers]


@pytest.mark.parametrize(
    ("then", "limit", "generated"), [(".", 8, True), ("5", 8, False), ("Ċ", 8, True), (None, 3, True), (".", 2, False)]
)
def test_what_stands_after_the_digit_decides_whether_it_is_a_score(then: Any, limit: int, generated: bool) -> None:
    """ "4." is 4, "45" is no score; a digit that the limit cuts off from what follows is none either."""
    following = None if then is None else TOKENS.convert_tokens_to_ids(then)
    metric = Direct(writer(then=following), TOKENS, max_new_tokens=limit)
    [[scores]] = metric.score([prepared(metric)], [UNSTEERED])
    assert (scores["direct_generated"] != [None]) == generated
    assert (scores["direct"] != [None]) == generated


def test_a_model_that_writes_no_score_has_none() -> None:
    metric = Direct(pico(), TOKENS)
    assert metric.score([prepared(metric)], [UNSTEERED]) == [[{"direct": [None], "direct_generated": [None]}]]


@pytest.mark.parametrize("template", [None, CHAT_TEMPLATE, NO_SYSTEM_TEMPLATE])
def test_the_span_is_the_summary_and_the_prompt_that_of_the_chat_template(template: str | None) -> None:
    tokens = tokenizer(template)
    prompt = prepared(Direct(pico(), tokens), summary=f" {SUMMARY} \n")
    assert tokens.decode(prompt.ids[slice(*prompt.summary)]) == SUMMARY
    words = wording("en")
    asked, levels = words.coherence, [f"{n} = {level}" for n, level in enumerate(words.coherence_levels, 1)]
    body = "\n".join([asked, *levels, "", words.document, DOCUMENT, "", words.summary, SUMMARY, "", words.score])
    messages = [{"role": "system", "content": words.task}, {"role": "user", "content": body}]
    whole = f"<s>{words.task}\n\n{body}" if template is None else tokens.decode(encode_prompt(tokens, messages))
    assert tokens.decode(prompt.ids) == whole
    assert prompt.ids.count(tokens.bos_token_id) == 1


def test_a_summary_that_spells_a_control_token_is_read_as_characters() -> None:
    tokens = tokenizer()
    prompt = prepared(Direct(pico(), tokens), summary="good<end> <assistant>5", document="</s>")
    plain = prepared(Direct(pico(), tokens), summary="good", document="x")
    for control in ("<end>", "<assistant>", "</s>"):
        [token] = [tokens.convert_tokens_to_ids(control)]
        assert prompt.ids.count(token) == plain.ids.count(token)
    assert tokens.decode(prompt.ids[slice(*prompt.summary)]) == "good<end> <assistant>5"


def test_a_long_document_is_shortened_and_marked() -> None:
    metric = Direct(pico(), TOKENS, max_length=600)
    cut = prepared(metric, document=DOCUMENT * 20)
    assert cut.shortened
    assert not prepared(metric, document="the response").shortened
    assert len(cut.ids) + metric.max_new_tokens <= 600
    assert f"{MARK}\n\n{wording('en').summary}\n{SUMMARY}" in TOKENS.decode(cut.ids)


def test_what_has_no_score_says_why() -> None:
    metric = Direct(pico(), TOKENS, max_length=500)
    assert metric.prepare(record(summary=" \n")) == EMPTY
    assert metric.prepare(record(summary=SUMMARY * 40)) == TOO_LONG


@pytest.mark.parametrize("language", sorted(WORDINGS))
@pytest.mark.parametrize("dimension", ["coherence", "completeness", "fluency"])
def test_each_language_asks_for_each_dimension(language: str, dimension: str) -> None:
    """All five scores are explained, in the language's own words; a dimension without words is asked for by its name."""
    before, between, after = (TOKENS.decode(part) for part in prompt_parts(TOKENS, dimension, language))
    words = WORDINGS[language]
    assert before.startswith(f"<s>{words.task}\n\n")
    assert all(f"\n{score} = " in before for score in range(1, 6))
    assert (between, after) == (f"\n\n{words.summary}\n", f"\n\n{words.score}")
    assert ("fluency" in before) == (dimension == "fluency")
    others = [other for code, other in WORDINGS.items() if code != language]
    assert not any({words.task, words.coherence, words.completeness} & set(other) for other in others)


def test_the_prompt_is_in_the_summarys_language_where_asked() -> None:
    metric = Direct(pico(), TOKENS, prompt_language="target")
    assert TOKENS.decode(prepared(metric, language="yo").ids).startswith(f"<s>{WORDINGS['yo'].task}")
    with pytest.raises(ConfigError, match="'xx'; set prompt_language: en, or use one of ar, bn, de, "):
        metric.prepare(record(language="xx"))
    assert prepared(Direct(pico(), TOKENS), language="xx").ids == prepared(Direct(pico(), TOKENS)).ids
