"""Which closing sentences say the score, and what is left of a feedback without them."""

import json
from pathlib import Path

import pytest

from train.score_sentence import strip_score_sentence

BODY = "It names two colours. A third is missing."


@pytest.mark.parametrize(
    "closing",
    [
        "So the overall score is 4.",
        "So the overall score is 4",
        "Therefore, the overall score is 4.",
        "The score would be 4.",
        "Overall, I would rate this response a 4 out of 5.",
        "Score: 4",
        "**Overall score: 4/5**",
        "Overall Score: 4.0",
        "The final rating is four.",
        "Thus it deserves a 4.",
        "It earns 4 points.",
        "Therefore, it fulfils the requirements for a score of 4, as it is fair.",
        "This aligns with the score 4 description. So the overall score is 4.",
    ],
)
@pytest.mark.parametrize("gap", [" ", "\n\n"])
def test_the_closing_sentence_that_says_the_score_goes(closing: str, gap: str) -> None:
    assert strip_score_sentence(f"{BODY}{gap}{closing}", 4) == BODY


def test_a_sentence_in_quotes_before_it_stays_whole() -> None:
    text = "He says 'Well, that's that.' So the overall score is 3."
    assert strip_score_sentence(text, 3) == "He says 'Well, that's that.'"


@pytest.mark.parametrize(
    ("feedback", "left"),
    [
        ("It shows an exceptional understanding, so the overall score is 4.", "It shows an exceptional understanding."),
        ("It is kind and brief, making the overall score 4.", "It is kind and brief."),
        ("Two are missing; therefore the score is 4.", "Two are missing."),
    ],
)
def test_only_the_clause_goes_where_the_sentence_says_more(feedback: str, left: str) -> None:
    assert strip_score_sentence(feedback, 4) == left


@pytest.mark.parametrize(
    "feedback",
    [
        BODY,
        f"{BODY} It falls short of the clarity that a score of 5 asks for.",  # another score than the record's
        f"{BODY} The rate of 45 words a minute is low.",
        f"{BODY} It lists 4 colours.",
        f"The score of 4 seems high at first. {BODY}",  # not at the end
        f"{BODY} The page is rated 4.5 by readers.",
        f"{BODY}\n",
    ],
)
def test_what_does_not_say_the_score_at_the_end_stays(feedback: str) -> None:
    assert strip_score_sentence(feedback, 4) == feedback


def test_a_feedback_that_says_nothing_else_is_left_empty() -> None:
    assert strip_score_sentence("So the overall score is 4.", 4) == ""


@pytest.mark.real
def test_every_graded_feedback_has_one_and_few_of_the_others(shared_data: Path) -> None:
    def stripped(name: str) -> tuple[int, int, int]:
        rows = [json.loads(line) for line in (shared_data / name).read_text(encoding="utf-8").splitlines()]
        left = [strip_score_sentence(row["feedback"], row["score"]) for row in rows]
        changed = sum(text != row["feedback"] for text, row in zip(left, rows, strict=True))
        return len(rows), changed, left.count("")

    assert stripped("recon_en_graded.jsonl") == (1489, 1489, 0)
    assert stripped("feedback_en.jsonl") == (600, 13, 0)
