"""Cheap metrics of summaries: words of every script, systems, and texts that are missing."""

from typing import Any

import pytest

from core.records import SummaryRecord
from eval.summary.baselines import baseline_scores, system_means, words


def record(number: int, **changes: Any) -> SummaryRecord:
    row: dict[str, Any] = {
        "id": f"s{number}", "language": "en", "dimension": "coherence", "document_id": f"d{number}",
        "document": "text", "summary": "the cat sat", "reference": "the cat sat down",
    }  # fmt: skip
    return SummaryRecord(**{**row, **changes})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cat, it's 3!", ["the", "cat", "it", "s", "3"]),
        ("उत्तर सही है।", ["उत्तर", "सही", "है"]),
        ("你好 world", ["你", "好", "world"]),
        ("カメラを買う", list("カメラを買う")),
        ("Cafe\u0301", ["café"]),
        ("Їжак пішов", ["їжак", "пішов"]),
        ("مرحبًا بالعالم", ["مرحبًا", "بالعالم"]),
        ("…", []),
    ],
)
def test_words_of_every_script(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_rouge_l_by_hand() -> None:
    """Longest common subsequence 3 of 3 and 4 words: P 1, R ¾, F 6/7. In Hindi: 2 of 3 and 3 words."""
    hindi = record(2, summary="उत्तर सही है", reference="उत्तर गलत है", language="hi")
    scores = baseline_scores([record(1), hindi])
    assert scores["rouge_l"] == [pytest.approx(6 / 7), pytest.approx(2 / 3)]


def test_overlap_is_full_with_itself_and_none_with_nothing_shared() -> None:
    for language, text, other in (
        ("en", "the cat sat down", "dog"),
        ("zh", "今天下雨了", "明"),
        ("hi", "यह सही उत्तर है", "गलत"),
    ):
        same = record(1, language=language, summary=text, reference=text)
        apart = record(2, language=language, summary=other, reference=text)
        scores = baseline_scores([same, apart])
        assert (scores["chrf"][0], scores["bleu"][0], scores["rouge_l"][0]) == pytest.approx((100, 100, 1))
        assert (scores["bleu"][1], scores["rouge_l"][1]) == (0, 0)


def test_what_is_missing_has_no_score() -> None:
    scores = baseline_scores([record(1, summary=" "), record(2, reference=None), record(3)])
    assert scores["length"] == [None, 11.0, 11.0]
    for name in ("chrf", "rouge_l", "bleu"):
        assert [score is None for score in scores[name]] == [True, True, False]


def test_system_means_by_hand() -> None:
    """a: 4 and 2, b: 1; one without a human score takes its system's mean; one without a system has none."""
    records = [
        record(1, system="a", human_scores=[4.0]),
        record(2, system="a", human_scores=[1.0, 3.0]),
        record(3, system="b", human_scores=[1.0]),
        record(4, system="b"),
        record(5, human_scores=[3.0]),
        record(6, system="c"),
    ]
    assert system_means(records) == [3.0, 3.0, 1.0, 1.0, None, None]
