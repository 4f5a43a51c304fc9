"""The answers of the stages are read strictly, and the prompts that ask for them hold what they must."""

import json
import math
from typing import Any

import pytest

from data_prep.recon_stages.capability import CAPABILITIES, read_capability
from data_prep.recon_stages.prompts import RUBRIC, SCORES, Prompt
from data_prep.recon_stages.reference import reference_tasks
from data_prep.recon_stages.responses import check_feedback, response_tasks, target_words
from data_prep.recon_stages.rubric import read_rubric, rubric_tasks
from data_prep.recon_stages.rubric_examples import EXAMPLES
from data_prep.recon_stages.tasks import BadAnswer, tagged
from data_prep.recon_stages.writer import Writer

RUBRIC_TEXTS = {name: f"text of {name}" for name in RUBRIC}
PROMPT = Prompt("p1", "Name three colours.", system_prompt="Be brief.")


def asked(task: Any) -> str:
    return str(task.request.messages[-1]["content"])


@pytest.mark.parametrize("wrap", ["{}", "```json\n{}\n```", "\n  {}  \n", "```\n{}```"])
def test_a_rubric_is_one_json_object(wrap: str) -> None:
    assert read_rubric(wrap.format(json.dumps(RUBRIC_TEXTS))) == RUBRIC_TEXTS


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("I'm sorry, but I can't help with that.", "not JSON"),
        (json.dumps(RUBRIC_TEXTS)[:-20], "not JSON"),
        (json.dumps([RUBRIC_TEXTS]), "not a JSON object"),
        (json.dumps({**RUBRIC_TEXTS, "score6_description": "x"}), "score6_description"),
        (json.dumps({name: RUBRIC_TEXTS[name] for name in RUBRIC[:-1]}), "score5_description"),
        (json.dumps({**RUBRIC_TEXTS, "criteria": " "}), "criteria is not a text"),
        (json.dumps({**RUBRIC_TEXTS, "score2_description": 2}), "score2_description is not a text"),
        (json.dumps({**RUBRIC_TEXTS, "score2_description": "text of score3_description "}), "same description"),
        ("Here it is: " + json.dumps(RUBRIC_TEXTS), "not JSON"),
    ],
)
def test_any_other_answer_is_no_rubric(answer: str, reason: str) -> None:
    with pytest.raises(BadAnswer, match=reason):
        read_rubric(answer)


def test_the_three_examples_are_rubrics_themselves_and_are_shown() -> None:
    assert len(EXAMPLES) == 3
    (task,) = rubric_tasks([PROMPT], Writer({}))
    assert task.request is not None
    roles = [message["role"] for message in task.request.messages]
    assert roles == ["system", *["user", "assistant"] * 3, "user"]
    for (_, _, rubric), shown in zip(EXAMPLES, task.request.messages[2::2], strict=True):
        assert read_rubric(shown["content"]) == rubric
    assert "Be brief." in asked(task)
    assert "Name three colours." in asked(task)


def test_given_parts_of_a_rubric_are_shown_and_kept_and_a_whole_one_is_not_asked_for() -> None:
    part = Prompt("p2", "Add.", rubric={"criteria": "Is the sum right?"})
    whole = Prompt("p3", "Add.", rubric=RUBRIC_TEXTS)
    first, second = rubric_tasks([part, whole], Writer({}))
    assert '"criteria": "Is the sum right?"' in asked(first)
    assert first.kept == {"criteria": "Is the sum right?"}
    assert second.request is None


@pytest.mark.parametrize("text", ["safety", " Safety.\n", '"safety"', "**safety**"])
def test_a_capability_is_one_of_the_list(text: str) -> None:
    assert read_capability(text, CAPABILITIES) == {"capability": "safety"}
    assert read_capability("Theory of mind", CAPABILITIES) == {"capability": "theory_of_mind"}


@pytest.mark.parametrize("text", ["safety or planning", "It tests safety", "magic"])
def test_anything_else_is_no_capability(text: str) -> None:
    with pytest.raises(BadAnswer, match="is not one of"):
        read_capability(text, CAPABILITIES)


@pytest.mark.parametrize(
    ("text", "response", "feedback"),
    [
        ("<response>a</response><feedback>b</feedback>", "a", "b"),
        ("\n<response>\na\n\nb \n</response>\n\n<feedback>\nc\n</feedback>\n", "a\n\nb ", "c"),
        # A response may itself hold the tags: HTML, say.
        ("<response><b>1</b></response> x</response>\n<feedback>f</feedback>", "<b>1</b></response> x", "f"),
        (
            "<response>write <feedback>x</feedback></response><feedback>f</feedback>",
            "write <feedback>x</feedback>",
            "f",
        ),
    ],
)
def test_tagged_parts_keep_their_texts(text: str, response: str, feedback: str) -> None:
    assert tagged(text, ["response", "feedback"]) == {"response": response, "feedback": feedback}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a plain answer", "<response> is expected"),
        ("<response>a</response>", "<feedback> is expected"),
        ("<response>a<feedback>b</feedback>", "</response> is missing"),
        ("<response>a</response><feedback>b", "</feedback> is missing"),
        ("<response> </response><feedback>b</feedback>", "<response> is empty"),
        ("<response>a</response> and <feedback>b</feedback>", "<feedback> is expected"),
        ("<response>a</response><feedback>b</feedback> Done!", "more after"),
        ("<feedback>b</feedback><response>a</response>", "<response> is expected"),
    ],
)
def test_anything_else_is_no_answer(text: str, reason: str) -> None:
    with pytest.raises(BadAnswer, match=reason):
        tagged(text, ["response", "feedback"])


@pytest.mark.parametrize(
    ("feedback", "score", "fits"),
    [
        ("It misses the date and names the wrong town.", 2, True),
        ("So the overall score is 2.", 2, True),
        ("So the overall score is 4.", 2, False),
        ("This earns a score of 3 at most.", 2, False),
        ("Rated 5: all is there.", 5, True),
        ("It was rated as 5.", 1, False),
        ("The score: 1", 2, False),
        (
            "The home side scored 3 goals says the response.",
            2,
            False,
        ),  # rejected wrongly, and asked again: the safe side
        ("The response scores 4.5 % growth.", 2, True),
        ("It lists 5 of 7 points.", 2, True),
        ("Weak. [RESULT] 2", 2, False),
    ],
)
def test_feedback_names_no_other_score(feedback: str, score: int, fits: bool) -> None:
    if fits:
        check_feedback(feedback, score)
    else:
        with pytest.raises(BadAnswer):
            check_feedback(feedback, score)


def tasks_for(prompt: Prompt, finished: dict[str, Any] | None = None, length_seed: int | None = None) -> list[Any]:
    references = {prompt.id: {"reference_answer": "red, green, blue"}}
    return response_tasks([prompt], {prompt.id: RUBRIC_TEXTS}, references, finished or {}, Writer({}), length_seed)


def test_each_score_is_asked_for_with_rubric_and_reference() -> None:
    tasks = tasks_for(PROMPT)
    assert [task.id for task in tasks] == [f"p1__s{score}" for score in SCORES]
    for score, task in zip(SCORES, tasks, strict=True):
        for text in ("Be brief.", "Name three colours.", "text of score4_description", "red, green, blue"):
            assert text in asked(task)
        assert f"earns exactly the score {score} " in asked(task)
        assert "words" not in asked(task)


def test_only_what_is_missing_of_response_and_feedback_is_asked_for() -> None:
    prompt = Prompt("p1", "Name three colours.", responses={1: "one", 2: "two"}, feedback={1: "Bad.", 3: "Middling."})
    whole, no_feedback, no_response, *_ = tasks_for(prompt)
    assert whole.request is None
    assert "This response earns the score 2:\ntwo\n" in asked(no_feedback)
    assert no_feedback.read("<feedback>Poor.</feedback>") == {"feedback": "Poor."}
    assert "this feedback describes:\nMiddling.\n" in asked(no_response)
    assert no_response.read("<response>red</response>") == {"response": "red"}


def test_a_response_that_repeats_another_text_of_its_prompt_is_not_taken() -> None:
    prompt = Prompt("p1", "Name three colours.", responses={1: "a stone"})
    finished = {"p1__s2": {"response": "red", "feedback": "f"}}
    *_, three, four, _ = tasks_for(prompt, finished)
    answer = "<response>{}</response><feedback>f</feedback>".format
    for text, what in [
        ("Name three colours.", "the instruction"),
        ("red, green, blue", "the reference answer"),
        (" a stone ", "score 1"),
        ("red", "score 2"),
    ]:
        with pytest.raises(BadAnswer, match=f"is .*{what}.* over again"):
            three.read(answer(text))
    assert three.read(answer("red, green"))["response"] == "red, green"
    with pytest.raises(BadAnswer, match="score 3 over again"):
        four.read(answer("red, green"))
    assert three.read(answer("red, green"))["response"] == "red, green"


def test_a_reference_is_asked_for_where_there_is_a_rubric_and_none_is_given() -> None:
    given = Prompt("p2", "Add.", reference_answer=" 4 ")
    without_rubric = Prompt("p3", "Divide.")
    made, kept = reference_tasks([PROMPT, given, without_rubric], {"p1": RUBRIC_TEXTS, "p2": RUBRIC_TEXTS}, Writer({}))
    assert kept.request is None
    assert kept.kept == {"reference_answer": " 4 "}
    assert "earns a 5" in asked(made)
    assert made.read("<answer>\nred\n</answer>") == {"reference_answer": "red"}
    with pytest.raises(BadAnswer, match="repeats the instruction"):
        made.read("<answer>Name three colours.</answer>")


def test_target_lengths_do_not_follow_the_score() -> None:
    # 300 prompts: the logarithm of words/200 is uniform over [log .5, log 1.5], mean -.144 and sd .317, so the mean of 300
    # lies within .055 (3 standard errors) of it for every score.
    for score in SCORES:
        words = [target_words(f"p{n}", score, 200, seed=1) for n in range(300)]
        assert min(words) >= 100
        assert max(words) <= 300
        mean = sum(math.log(count / 200) for count in words) / 300
        assert mean == pytest.approx((math.log(0.5) + math.log(1.5)) / 2, abs=0.055)
    assert target_words("p1", 1, 200, seed=1) == target_words("p1", 1, 200, seed=1)
    assert target_words("p1", 1, 3, seed=1) == 10


def test_with_length_control_the_length_is_asked_for_and_stored() -> None:
    prompt = Prompt("p1", "Name three colours.", responses={1: "kept"})
    kept, made, *_ = tasks_for(prompt, length_seed=1)
    assert "target_words" not in kept.facts
    assert f"about {made.facts['target_words']} words" in asked(made)


def test_without_a_system_role_its_text_opens_the_first_user_turn() -> None:
    request = Writer({"temperature": 0}, system_role=False).request(
        "rubric", "p1", "Write rubrics.", "one", "two", "three"
    )
    assert request.messages == (
        {"role": "user", "content": "Write rubrics.\n\none"},
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": "three"},
    )
    assert (request.id, request.task, request.parameters) == ("rubric-p1", "rubric", {"temperature": 0})
