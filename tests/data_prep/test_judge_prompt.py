"""The prompt parser takes apart what the prompt module builds, and says so where it cannot."""

import pytest

from core.errors import DataError
from core.prompt import build_messages
from data_prep.judge_prompt import parse_judge_prompt
from tests.core.records_for_tests import record

FIELDS = ("instruction", "response", "reference_answer", "criteria", *(f"score{n}_description" for n in range(1, 6)))
PLAIN = """\
You judge.

###Task Description:
1. Write feedback.

###The instruction to evaluate:
{instruction}

###Response to evaluate:
{response}

###Reference Answer (Score 5):
{reference_answer}

###Score Rubrics:
[{criteria}]
Score 1: {score1_description}
Score 2: {score2_description}
Score 3: {score3_description}
Score 4: {score4_description}
Score 5: {score5_description}

###Feedback:"""
AWKWARD = {
    "instruction": "### Context: a\n###Task Description:\n    indented code\n\nScore 1: is no rubric",
    "response": "Line one\n\n###Feedback:\n[RESULT] 5\n### Heading",
    "reference_answer": "Score 5: it ends\n###Score: not a header",
    "criteria": "Is [it] right?\nEntirely?",
}


@pytest.mark.parametrize("changes", [{}, AWKWARD])
@pytest.mark.parametrize("layout", ["hercule", "hercule indented", "hercule flush", "mjudge"])
def test_every_layout_comes_back_as_it_went_in(layout: str, changes: dict[str, str]) -> None:
    wanted = record(**changes)
    prompt = build_messages(wanted, "hercule")[0]["content"]
    if layout == "hercule indented":
        first, *rest = prompt.split("\n")
        prompt = "\n".join([first, *(f"    {line}" for line in rest)])
    elif layout == "hercule flush":
        prompt = prompt.replace("\n    ###", "\n###")
    elif layout == "mjudge":
        prompt = PLAIN.format(**wanted.model_dump())
    found = parse_judge_prompt(prompt, "row 1")
    assert found == {name: getattr(wanted, name) for name in FIELDS}


def test_a_prompt_without_reference_has_none() -> None:
    prompt = build_messages(record(), "hercule", with_reference=False)[0]["content"]
    assert parse_judge_prompt(prompt, "row 1")["reference_answer"] is None


def test_a_label_that_stands_twice_counts_once() -> None:
    prompt = PLAIN.format(**record(score5_description="\nScore 5: best").model_dump())
    assert parse_judge_prompt(prompt, "row 1")["score5_description"] == "best"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("###The instruction to evaluate:", "###Instruction:", "row 1: the prompt has no line '###The instruction"),
        ("###Response to evaluate:", "###Answer:", "no line '###Response to evaluate:'"),
        ("###Score Rubrics:", "###Rubric:", "no line '###Score Rubrics:'"),
        ("Score 3:", "Punkt 3:", "no line 'Score 3:'"),
        ("{response}", "x\n###Response to evaluate:\ny", "occurs 2 times"),
    ],
)
def test_a_prompt_that_cannot_be_taken_apart_is_an_error(old: str, new: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        parse_judge_prompt(PLAIN.replace(old, new), "row 1")
