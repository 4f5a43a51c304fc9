"""The prompt: one text for training and judging, with and without reference; Hercule's own, character by character."""

import pytest

from core.errors import ConfigError, DataError
from core.prompt import TEMPLATES, build_messages
from tests.core.records_for_tests import record

HERCULE = """\
You are a fair judge assistant tasked with providing clear, objective feedback based on specific criteria, ensuring \
each assessment reflects the absolute standards set for performance.

###Task Description:
    An instruction (might include an Input inside it), a response to evaluate, a reference answer that gets a score of \
5, and a score rubric representing a evaluation criteria are given.
    1. Write a detailed feedback that assess the quality of the response strictly based on the given score rubric, not \
evaluating in general.
    2. After writing a feedback, write a score that is an integer between 1 and 5. You should refer to the score rubric.
    3. The output format should look as follows: "Feedback: (write a feedback for criteria) [RESULT] (an integer \
number between 1 and 5)"
    4. Please do not generate any other opening, closing, and explanations.

    ###The instruction to evaluate:
    I

    ###Response to evaluate:
    R

    ###Reference Answer (Score 5):
    A

    ###Score Rubrics:
    C
Score 1: one
Score 2: two
Score 3: three
Score 4: four
Score 5: five


    ###Feedback: """
RUBRIC = {f"score{n}_description": word for n, word in enumerate(("one", "two", "three", "four", "five"), start=1)}


def test_hercule_is_the_text_the_released_checkpoints_were_trained_on() -> None:
    short = record(instruction="I", response="R", reference_answer="A", criteria="C", **RUBRIC)
    assert build_messages(short, "hercule") == [{"role": "user", "content": HERCULE}]


@pytest.mark.parametrize("template", TEMPLATES)
def test_without_reference_neither_it_nor_its_mention_is_left(template: str) -> None:
    rec = record(reference_answer="Blue, red and green.")
    with_it, without = (build_messages(rec, template, flag)[-1]["content"] for flag in (True, False))
    assert "Blue, red and green." in with_it
    assert "Blue, red and green." not in without
    assert "eference" in with_it
    assert "eference" not in without
    assert "\n\n\n\n" not in with_it + without


@pytest.mark.parametrize("template", TEMPLATES)
def test_every_part_is_shown_whole_once_and_braces_are_text(template: str) -> None:
    rec = record(instruction="Print {criteria} {0}", response="{response} %s", reference_answer="{}")
    content = build_messages(rec, template)[-1]["content"]
    for part in (
        rec.instruction,
        rec.response,
        rec.criteria,
        *(getattr(rec, f"score{n}_description") for n in range(1, 6)),
    ):
        assert content.count(part) == 1


def test_no_reference_is_an_error_never_a_silent_drop() -> None:
    for missing in (None, ""):
        with pytest.raises(DataError, match="record q1-hi-s4 has no reference_answer"):
            build_messages(record(reference_answer=missing))
    assert build_messages(record(reference_answer=None), with_reference=False)


def test_an_unknown_template() -> None:
    with pytest.raises(ConfigError, match="use one of default, hercule"):
        build_messages(record(), "hercules")
