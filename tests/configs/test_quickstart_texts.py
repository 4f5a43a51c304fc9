"""The quickstart's parallel sentences and scored summaries: whole, clean, and not to be scored by length or by system."""

import unicodedata
from collections import Counter
from pathlib import Path

import pytest
from scipy.stats import spearmanr

from core.jsonl import read_jsonl
from core.records import SummaryRecord, read_parallel, read_rows

DATA = Path(__file__).resolve().parents[2] / "configs" / "quickstart" / "data"
LANGUAGES = ("en", "hi", "fr")


@pytest.fixture(scope="module")
def parallel() -> list[dict[str, str]]:
    return read_parallel(DATA / "parallel.jsonl", LANGUAGES)


@pytest.fixture(scope="module")
def summaries() -> list[SummaryRecord]:
    return read_rows(DATA / "summaries.jsonl", SummaryRecord)


def devanagari_share(text: str) -> float:
    letters = [c for c in text if not c.isspace()]
    return sum("\u0900" <= c <= "\u097f" for c in letters) / len(letters)


def length_correlation(rows: list[SummaryRecord]) -> float:
    scored = [row for row in rows if row.human_score is not None]
    return spearmanr([row.human_score for row in scored], [len(row.summary) for row in scored]).statistic


@pytest.mark.parametrize("name", ["parallel.jsonl", "summaries.jsonl"])
def test_every_text_is_nfc_and_not_empty(name):
    texts = [value for _, row in read_jsonl(DATA / name) for value in row.values() if isinstance(value, str)]
    assert all(text.strip() and unicodedata.is_normalized("NFC", text) for text in texts)


def test_parallel_has_eight_groups_of_eight(parallel):
    assert Counter(Counter(row["document_id"] for row in parallel).values()) == {8: 8}


def test_parallel_sentences_differ_and_are_short(parallel):
    sentences = [row[code] for row in parallel for code in LANGUAGES]
    assert len(set(sentences)) == 3 * len(parallel)
    assert all(5 <= len(text.split()) <= 16 for text in sentences)


def test_parallel_columns_hold_their_script(parallel):
    assert min(devanagari_share(row["hi"]) for row in parallel) > 0.9
    assert max(devanagari_share(row[code]) for row in parallel for code in ("en", "fr")) == 0


def test_eight_documents_a_language_three_systems_each(summaries):
    documents = {row.document_id: row.language for row in summaries}
    assert Counter(documents.values()) == dict.fromkeys(LANGUAGES, 8)
    pairs = Counter((row.document_id, row.system) for row in summaries)
    assert pairs == {(document, system): 1 for document in documents for system in "ABC"}


def test_documents_are_one_text_of_fifty_to_eighty_words(summaries):
    texts = {(row.document_id, row.document, row.reference) for row in summaries}
    assert len(texts) == 24
    assert all(50 <= len(document.split()) <= 80 and reference for _, document, reference in texts)


def test_summaries_are_in_their_language_and_differ(summaries):
    for row in summaries:
        share = devanagari_share(row.document + row.summary)
        assert share > 0.9 if row.language == "hi" else share == 0
    assert len({row.summary for row in summaries}) == len(summaries)


def test_human_score_is_the_mean_of_two_readers():
    for _, row in read_jsonl(DATA / "summaries.jsonl"):
        if row["human_scores"]:
            first, second = row["human_scores"]
            assert {first, second} <= {1, 2, 3, 4}
            assert row["human_score"] == (first + second) / 2


def test_one_hindi_and_one_french_document_have_no_scores(summaries):
    unscored = [row for row in summaries if row.human_score is None]
    assert all(row.human_scores == [] for row in unscored)
    assert Counter(row.language for row in unscored) == {"hi": 3, "fr": 3}
    assert len({row.document_id for row in unscored}) == 2


def test_length_does_not_give_the_score(summaries):
    assert abs(length_correlation(summaries)) < 0.2
    for language in LANGUAGES:
        assert abs(length_correlation([row for row in summaries if row.language == language])) < 0.3


def test_system_does_not_give_the_score(summaries):
    scores = {system: [row.human_score for row in summaries if row.system == system] for system in "ABC"}
    scored = {system: [score for score in values if score is not None] for system, values in scores.items()}
    means = {system: sum(values) / len(values) for system, values in scored.items()}
    assert max(means.values()) - min(means.values()) < 0.3
    assert all(sum(score >= 3.5 for score in values) in (7, 8) for values in scored.values())
