"""The length policy: the reference first, then the response, never below 256 tokens, visibly; the rest whole or refused."""

import pytest

from core.length import MARK, SHORTEST_FIELD, VERDICT_TOKENS, count_tokens, fit, shorten
from core.records import JudgeRecord
from tests import pico
from tests.core.records_for_tests import record

TOKENIZER = pico.tokenizer()


def long_record(reference: int, response: int) -> JudgeRecord:
    return record(reference_answer="A fair answer. " * reference, response="Une réponse juste. " * response)


def test_a_prompt_within_the_budget_is_untouched() -> None:
    fitted = fit(record(), TOKENIZER, 4096)
    assert fitted.record == record()
    assert (fitted.shortened, fitted.tokens) == (False, len(fitted.prompt or []))


def test_the_reference_goes_first_and_only_as_far_as_needed() -> None:
    rec = long_record(reference=400, response=100)
    whole = fit(rec, TOKENIZER, 100_000).tokens
    fitted = fit(rec, TOKENIZER, whole - 300 + VERDICT_TOKENS)
    assert fitted.prompt is not None
    assert fitted.shortened
    assert fitted.record.response == rec.response
    assert fitted.record.reference_answer is not None
    assert fitted.record.reference_answer.endswith("answer." + MARK)
    assert whole - 300 - 40 <= fitted.tokens <= whole - 300


def test_then_the_response_and_neither_below_its_floor() -> None:
    rec = long_record(reference=400, response=400)
    smallest = fit(rec, TOKENIZER, 600)
    assert smallest.prompt is None
    for text in (smallest.record.reference_answer, smallest.record.response):
        assert text is not None
        assert SHORTEST_FIELD - 40 <= count_tokens(text, TOKENIZER) <= SHORTEST_FIELD
    fitted = fit(rec, TOKENIZER, smallest.tokens + 50 + VERDICT_TOKENS)
    assert fitted.prompt is not None
    assert MARK in fitted.record.response
    assert count_tokens(fitted.record.response, TOKENIZER) > count_tokens(
        fitted.record.reference_answer or "", TOKENIZER
    )


def test_instruction_and_rubric_are_never_cut() -> None:
    rec = record(instruction="Name a colour. " * 300)
    fitted = fit(rec, TOKENIZER, 1024)
    assert fitted.prompt is None
    assert fitted.record.instruction == rec.instruction


def test_without_reference_the_response_alone_is_shortened() -> None:
    rec = long_record(reference=400, response=400)
    fitted = fit(rec, TOKENIZER, 1600, with_reference=False)
    assert fitted.prompt is not None
    assert fitted.record.reference_answer == rec.reference_answer


@pytest.mark.parametrize(
    "text", ["कखग " * 200, "無空白の日本語の文章" * 60, "One sentence. " * 90, "x" * 900, "👩‍👩‍👧 " * 90]
)
@pytest.mark.parametrize("limit", [20, 97])
def test_shortening_keeps_to_the_limit_in_every_script_and_says_so(text: str, limit: int) -> None:
    short = shorten(text, limit, TOKENIZER)
    assert short.endswith(MARK)
    assert text.startswith(short.removesuffix(MARK))
    assert count_tokens(short, TOKENIZER) <= limit
    assert short.count(MARK) == 1
    assert shorten(short, limit, TOKENIZER) == short
    assert shorten("fits", limit, TOKENIZER) == "fits"
