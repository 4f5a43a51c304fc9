"""The graded answers of the quickstart: complete, the same rubric in every language, and no length that gives the grade away."""

import unicodedata
from collections import defaultdict
from pathlib import Path

import pytest
from scipy.stats import spearmanr

from core.records import JudgeRecord, read_records

DATA = Path(__file__).resolve().parents[2] / "configs" / "quickstart" / "data" / "judge.jsonl"
LANGUAGES = ("en", "fr", "hi")
SHARED_BY_ITEM = (
    "criteria",
    *(f"score{score}_description" for score in range(1, 6)),
    "reference_answer",
    "reference_language",
    "capability",
    "source",
)


@pytest.fixture(scope="module")
def records() -> list[JudgeRecord]:
    return read_records(DATA)


def test_every_instruction_has_five_scores_in_three_languages(records: list[JudgeRecord]) -> None:
    graded = defaultdict(set)
    for record in records:
        graded[record.item_id, record.language].add(record.score)
    items = {item for item, _ in graded}
    assert len(items) >= 10
    assert set(graded) == {(item, language) for item in items for language in LANGUAGES}
    assert len(records) == 5 * len(graded)
    assert all(scores == {1, 2, 3, 4, 5} for scores in graded.values())


def test_ids_are_unique_and_name_item_language_and_score(records: list[JudgeRecord]) -> None:
    assert len({record.id for record in records}) == len(records)
    assert all(record.id == f"{record.item_id}-{record.language}-s{record.score}" for record in records)


def test_text_is_nfc() -> None:
    text = DATA.read_text(encoding="utf-8")
    assert unicodedata.is_normalized("NFC", text)
    assert "\\u" not in text


def test_rubric_and_reference_are_the_same_in_every_language(records: list[JudgeRecord]) -> None:
    seen = defaultdict(set)
    for record in records:
        seen[record.item_id].add(tuple(getattr(record, name) for name in SHARED_BY_ITEM))
    assert all(len(rubrics) == 1 for rubrics in seen.values())
    assert {record.reference_language for record in records} == {"en"}


def test_feedback_is_the_same_in_every_language_and_hides_the_verdict(records: list[JudgeRecord]) -> None:
    seen = defaultdict(set)
    for record in records:
        seen[record.item_id, record.score].add(record.feedback)
    assert all(len(feedback) == 1 for feedback in seen.values())
    texts = [record.feedback or "" for record in records]
    assert all(text.startswith("The response ") and 10 <= len(text.split()) <= 22 for text in texts)
    assert not any("[RESULT]" in text or "score" in text.lower() for text in texts)


def test_instructions_and_responses_differ_between_languages(records: list[JudgeRecord]) -> None:
    assert len({record.response for record in records}) == len(records)
    instructions = {(record.item_id, record.instruction) for record in records}
    assert len(instructions) == len(records) // 5
    # Devanagari fills U+0900 to U+097F, so only the Hindi rows have letters there.
    for record in records:
        assert any("\u0900" <= letter <= "\u097f" for letter in record.response) == (record.language == "hi")


@pytest.mark.parametrize("language", LANGUAGES)
def test_length_does_not_give_the_grade_away(records: list[JudgeRecord], language: str) -> None:
    rows = [record for record in records if record.language == language]
    scores = [record.score for record in rows]
    characters = [len(record.response) for record in rows]
    ratios = [len(record.response) / len(record.reference_answer or "") for record in rows]
    assert all(8 <= len(record.response.split()) <= 40 for record in rows)
    assert abs(spearmanr(scores, characters).statistic) < 0.15
    assert abs(spearmanr(scores, ratios).statistic) < 0.15
