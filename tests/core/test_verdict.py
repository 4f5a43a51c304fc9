"""The rule for verdicts, driven by one table. Cases 19 to 22 of the public threads are in it with their right values."""

import pytest

from core.verdict import (
    NO_MARKER,
    NO_NUMBER,
    NOT_INTEGER,
    NOT_SINGLE,
    OPEN_REASONING,
    OUT_OF_RANGE,
    WRONG_SCALE,
    build_verdict,
    parse_verdict,
)

SCORED = [
    # the first marker decides; an echo of the format line is passed over (case 19)
    ("x [RESULT] 2 y [RESULT] 5", 2),
    ('write "[RESULT] (1 to 5)" … [RESULT] 2', 2),
    ("[RESULT] (an integer number between 1 and 5)\nIt is fine. [RESULT] 3", 3),
    ("[RESULT] <score> then [RESULT] 5", 5),
    ("[RESULT] 4\n\n###Task Description: a new task [RESULT] 1", 4),
    # whole numbers however written (cases 20 and 21)
    ("[RESULT] 4.0", 4),
    ("[RESULT] 4.", 4),
    ("[RESULT] 4/5", 4),
    ("[RESULT] 4 out of 5", 4),
    ("[RESULT] (4 out of 5)", 4),
    ("[RESULT] 4 of 5", 4),
    # digits of any script (case 22)
    ("[RESULT] ४", 4),
    ("[RESULT] ৪", 4),
    ("[RESULT] ౩", 3),
    ("[RESULT] ٤", 4),
    ("[RESULT] ٤/٥", 4),
    ("[RESULT] ４", 4),
    # dress
    ("[result]:**Score: 4**", 4),
    ("**[RESULT]** 4", 4),
    ("\\[RESULT\\] 4", 4),
    ("[RESULT](4)", 4),
    ("[RESULT]4", 4),
    ('[RESULT] "4"', 4),
    ("[RESULT] Score 4", 4),
    ("[RESULT]\n\n4", 4),
    ("[RESULT] \u200f4\u200f", 4),
    ("[RESULT] 4\n- 3 reasons follow", 4),
    # only generated text up to the end of turn, without closed reasoning
    ("good [RESULT] 4<end_of_turn>\nbad [RESULT] 2", 4),
    ("good [RESULT] 4</s>", 4),
    ("<think>maybe [RESULT] 1</think> ok [RESULT] 3", 3),
    ("maybe [RESULT] 1</think> ok [RESULT] 3", 3),
]

UNSCORED = [
    ("[RESULT] 10 … [RESULT] 4", OUT_OF_RANGE),
    ("[RESULT] 10", OUT_OF_RANGE),
    ("[RESULT] 45", OUT_OF_RANGE),
    ("[RESULT] 0", OUT_OF_RANGE),
    ("[RESULT] -1", OUT_OF_RANGE),
    ("[RESULT] −1", OUT_OF_RANGE),
    ("[RESULT] 8/10", WRONG_SCALE),
    ("[RESULT] 4/10", WRONG_SCALE),
    ("[RESULT] 80%", WRONG_SCALE),
    ("[RESULT] 4.5", NOT_INTEGER),
    ("[RESULT] 4,5", NOT_INTEGER),
    ("[RESULT] .8", NOT_INTEGER),
    ("[RESULT] 4½", NOT_INTEGER),
    ("[RESULT] ٤٫٥", NOT_INTEGER),
    ("[RESULT] 3-4", NOT_SINGLE),
    ("[RESULT] (3-4)", NOT_SINGLE),
    ("[RESULT] 3 – 4", NOT_SINGLE),
    ("[RESULT] 4 or 5", NOT_SINGLE),
    ("[RESULT] 4 to 5", NOT_SINGLE),
    ("[RESULT] 4 1/2", NOT_SINGLE),
    ("[RESULT] four", NO_NUMBER),
    ("[RESULT]", NO_NUMBER),
    ("<think>[RESULT] 3", OPEN_REASONING),
    ("a fine response, 4", NO_MARKER),
    ("", NO_MARKER),
    ("stopped early<eos>[RESULT] 3", NO_MARKER),
]


@pytest.mark.parametrize(("text", "score"), SCORED)
def test_scored(text: str, score: int) -> None:
    verdict = parse_verdict(text)
    assert (verdict.score, verdict.failure) == (score, None)
    assert verdict.digit_offset is not None
    assert int(text[verdict.digit_offset]) == score


@pytest.mark.parametrize(("text", "reason"), UNSCORED)
def test_unscored_with_its_reason(text: str, reason: str) -> None:
    verdict = parse_verdict(text)
    assert (verdict.score, verdict.failure, verdict.digit_offset) == (None, reason, None)


def test_feedback_is_what_stands_before_the_marker() -> None:
    assert parse_verdict("Feedback: It misses the date. [RESULT] 2").feedback == "It misses the date."
    assert parse_verdict("**Feedback:** It misses. **[RESULT]** 2").feedback == "It misses."
    assert parse_verdict("<think>hm</think>Too short. [RESULT] 2").feedback == "Too short."
    assert parse_verdict("no score here").feedback == "no score here"


@pytest.mark.parametrize("score", [1, 2, 3, 4, 5])
def test_what_is_written_is_read_again(score: int) -> None:
    assert build_verdict(" good feedback. ", score) == f"good feedback. [RESULT] {score}"
    verdict = parse_verdict(build_verdict("good feedback.", score))
    assert (verdict.score, verdict.feedback) == (score, "good feedback.")


@pytest.mark.parametrize("score", [0, 6, 4.5, None])
def test_no_verdict_off_the_scale(score: int) -> None:
    with pytest.raises(ValueError, match="1 to 5"):
        build_verdict("x", score)
