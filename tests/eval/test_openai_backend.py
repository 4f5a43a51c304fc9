"""Judging on a server: what is asked, what becomes of each kind of answer, and expected scores from log-probabilities."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from core.chat import encode_prompt
from core.errors import ConfigError, ServerError
from core.prompt import build_messages
from core.prompt_spec import PromptSpec
from core.records import Prediction
from eval.backends.completion import Completion, DigitStep
from eval.backends.logprobs import digit_steps
from eval.backends.openai import OpenAIBackend, request_parameters
from eval.grading import Judge, fit_records
from tests import pico
from tests.eval.judging_server import JudgingServer, Verdicts, server_options, token_entries
from tests.eval.pico_judge import RECORDS, SPEC, record
from tests.scripted_answers import Answers

GOLD = [one.score for one in RECORDS]


def judge(server: JudgingServer, tmp_path: Path, tokenizer: Any = None, **changes: Any) -> Judge:
    parameters = request_parameters(**changes)
    return Judge(OpenAIBackend(server_options(server, tmp_path), parameters, tokenizer), SPEC, "scripted")


def token(text: str, probability: float, top: dict[str, float] | None = None) -> dict[str, Any]:
    """An entry of a completion's log-probabilities, as OpenAI writes it."""
    listed = [{"token": t, "logprob": math.log(p), "bytes": list(t.encode())} for t, p in (top or {}).items()]
    one = {"token": text, "logprob": math.log(probability), "bytes": list(text.encode())}
    return {**one, "top_logprobs": listed}


def test_expected_score_by_hand_from_listed_probabilities() -> None:
    text = "Step 2. [RESULT] 4"
    top = {" 4": 0.5, " 5": 0.3, "4": 0.05, " 3": 0.1, " four": 0.05}
    content = [
        token("Step", 0.9),
        token(" 2", 0.5, {" 2": 0.5, " 1": 0.5}),
        token(". [RESULT]", 1),
        token(" 4", 0.5, top),
    ]
    steps = digit_steps(text, {"content": content})
    assert [step.offset for step in steps] == [5, 17]
    assert steps[1].probabilities == pytest.approx((0, 0, 0.1, 0.5, 0.3))  # of " 4", not of "4"; 1 and 2 are not listed
    found = Completion(text, steps).expected_score(17)
    assert found is not None
    assert found.mass == pytest.approx(0.9)
    assert found.value == pytest.approx((3 * 0.1 + 4 * 0.5 + 5 * 0.3) / 0.9)


def test_a_sure_five_is_not_over_five() -> None:
    # 5p / p is 5.000000000000001 for one p in fourteen.
    for n in range(1, 500):
        found = Completion("5", [DigitStep(0, (0, 0, 0, 0, n / 500))]).expected_score(0)
        assert found is not None
        assert found.value == pytest.approx(5)
        assert found.value <= 5


@pytest.mark.parametrize(
    ("text", "pieces", "offsets"),
    [
        ("[RESULT] 4", ["<think>4</think>", "[RESULT] ", "4", "<eos>"], [9]),  # reasoning before, an end token after
        ("4", [" 4"], [0]),  # the server took the first space off
        ("[RESULT] 45", ["[RESULT] ", "45"], []),  # no digit of its own
        ("[RESULT] 45", ["[RESULT] ", "4", "5"], [9, 10]),
        ("[RESULT] ٤", ["[RESULT]", " ٤"], [9]),
        ("2 [RESULT] 4", ["2", "<unused840>", " [RESULT] ", "4"], [0, 11]),  # the server left a special token out
        ("[RESULT] 4", ["something ", "else"], []),
        ("", [], []),
    ],
)
def test_where_digits_stand(text: str, pieces: list[str], offsets: list[int]) -> None:
    assert [step.offset for step in digit_steps(text, {"content": [token(one, 0.5) for one in pieces]})] == offsets


def test_tokens_that_are_parts_of_a_character() -> None:
    text = "उ [RESULT] 3"
    parts = [bytes([byte]) for byte in text.encode()[:3]] + [b" [RESULT]", b" 3"]
    content = [{"token": "\ufffd", "bytes": list(part), "logprob": -0.1, "top_logprobs": []} for part in parts]
    assert digit_steps(text, {"content": content}) == [DigitStep(11, (0, 0, pytest.approx(math.exp(-0.1)), 0, 0))]


@pytest.mark.parametrize("logprobs", [None, {}, {"content": None}, {"tokens": ["4"], "token_logprobs": [-0.1]}])
def test_without_log_probabilities_there_is_no_expected_score(logprobs: Any) -> None:
    assert digit_steps("4", logprobs) == []


def test_a_parameter_of_ours_is_left_out_where_it_is_null() -> None:
    assert request_parameters(64) == {
        "temperature": 0.0,
        "seed": 42,
        "max_tokens": 64,
        "logprobs": True,
        "top_logprobs": 10,
    }
    newer = {"max_tokens": None, "max_completion_tokens": 64, "temperature": None, "reasoning_effort": "low"}
    assert request_parameters(64, top_logprobs=0, parameters=newer) == {
        "seed": 42,
        "max_completion_tokens": 64,
        "reasoning_effort": "low",
    }


def test_every_record_is_asked_with_the_prompt_of_the_template(tmp_path: Path) -> None:
    with JudgingServer() as server:
        rows = judge(server, tmp_path, max_new_tokens=24).grade_records(RECORDS)
    assert [row.score for row in rows] == GOLD == [1, 4, 5, 2]
    # .25 at score − 1 and .5 at score: (.25(s−1) + .5 s) / .75 = s − 1/3; a score of 1 has nothing below it on the scale.
    assert [row.expected_score for row in rows] == pytest.approx([1, 4 - 1 / 3, 5 - 1 / 3, 2 - 1 / 3])
    assert [row.score_mass for row in rows] == pytest.approx([0.5, 0.75, 0.75, 0.75])
    assert {json.dumps(body["messages"]) for body in server.bodies} == {
        json.dumps(build_messages(one, "default", False)) for one in RECORDS
    }
    sent = {name: value for name, value in server.bodies[0].items() if name != "messages"}
    assert sent == {"model": "judges/scripted", **request_parameters(24)}
    words = sum(len(turn["content"].split()) for turn in build_messages(RECORDS[1], "default", False))
    assert rows[1].prompt_tokens == words  # what the server counted
    assert rows[1] == Prediction(
        id="b",
        item_id="b",
        language="hi",
        system=None,
        judge="scripted",
        template="default",
        gold=4.0,
        score=4,
        expected_score=rows[1].expected_score,
        score_mass=rows[1].score_mass,
        failure=None,
        feedback="good feedback.",
        raw="good feedback. [RESULT] 4",
        prompt_tokens=words,
        shortened=False,
    )


def test_a_template_that_refuses_a_system_role_gets_what_it_gets_in_process(tmp_path: Path) -> None:
    tokenizer = pico.tokenizer(pico.NO_SYSTEM_TEMPLATE)
    with JudgingServer() as server:
        judge(server, tmp_path, tokenizer).grade_records(RECORDS[:1])
        folding = OpenAIBackend(server_options(server, tmp_path), request_parameters(), system_role=False)
        Judge(folding, SPEC, "folded").grade_records(RECORDS[:1])
    (body,) = server.bodies  # both ask the same, so the second found the first's answer
    assert [turn["role"] for turn in body["messages"]] == ["user"]
    asked = tokenizer.apply_chat_template(body["messages"], add_generation_prompt=True, return_dict=True)["input_ids"]
    assert asked == encode_prompt(tokenizer, build_messages(RECORDS[0], "default", False))


def test_with_the_judges_tokenizer_the_length_policy_holds(tmp_path: Path) -> None:
    long = record("long", "good answer. " * 600, 5)
    never = record("never", "bad", 1, instruction="x " * 3000)
    tokenizer = pico.tokenizer()
    with JudgingServer() as server:
        rows = judge(server, tmp_path, tokenizer).grade_records([long, never, RECORDS[0]])
    assert [(row.score, row.failure, row.shortened) for row in rows] == [
        (5, None, True),
        (None, "too long", False),
        (1, None, False),
    ]
    fitted = fit_records([long], tokenizer, SPEC)[0]
    assert len(server.bodies) == 2
    assert any(body["messages"] == build_messages(fitted.record, "default", False) for body in server.bodies)
    assert fitted.record.response.endswith(" […]")


@pytest.mark.parametrize(
    ("kind", "failure"),
    [
        ("cut", "cut at max_new_tokens"),
        ("null", "content filter"),
        ("refusal_field", "refusal"),
        ("refusal", "no [RESULT] marker"),
        ("empty", "no [RESULT] marker"),
    ],
)
def test_bad_answers_are_unscored_with_the_reason(kind: str, failure: str, tmp_path: Path) -> None:
    with JudgingServer(Verdicts(bad_share=1.0, bad_kinds=[kind])) as server:
        (row,) = judge(server, tmp_path).grade_records(RECORDS[:1])
    assert (row.score, row.expected_score, row.failure) == (None, None, failure)


def test_a_verdict_counts_however_the_answer_ended(tmp_path: Path) -> None:
    class Cut(Verdicts):
        def completion(self, body: dict[str, Any]) -> dict[str, Any] | None:
            made = super().completion(body)
            assert made
            made["choices"][0]["finish_reason"] = "length"
            return made

    with JudgingServer(Cut()) as server:
        assert judge(server, tmp_path).grade_records(RECORDS[:1])[0].score == 1


def test_a_server_without_log_probabilities_is_said_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with JudgingServer(Verdicts(logprobs=False)) as server:
        rows = judge(server, tmp_path).grade_records(RECORDS)
        judge(server, tmp_path, top_logprobs=0).grade_records(RECORDS)
    assert [(row.score, row.expected_score, row.score_mass) for row in rows] == [(gold, None, None) for gold in GOLD]
    said = capsys.readouterr().err
    assert said == "warning: 4 of 4 answers came without log-probabilities: their expected_score is null\n"


@pytest.mark.parametrize("count", [1, 40])
def test_a_parameter_that_the_server_refuses_is_one_line_that_says_how(count: int, tmp_path: Path) -> None:
    unsupported = "Unsupported parameter: 'max_tokens' is not supported with this model."
    records = [record(f"r{number}", f"answer {number}") for number in range(count)]
    with (
        JudgingServer(refuses={"max_tokens": unsupported}) as server,
        pytest.raises(ServerError, match=r"--parameters '\{max_tokens: null, max_completion_tokens: 24\}'") as error,
    ):
        judge(server, tmp_path, max_new_tokens=24).grade_records(records)
    assert "is not supported with this model" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_system_role_that_the_server_refuses_is_one_line_that_says_how(tmp_path: Path) -> None:
    with (
        JudgingServer(refuses={"messages": "System role not supported"}) as server,
        pytest.raises(ServerError, match="--system_role false"),
    ):
        judge(server, tmp_path).grade_records(RECORDS)


def test_one_refused_text_is_unscored_and_the_others_are_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    faults = {
        "juste juste": "This model's maximum context length is 512 tokens.",
        "\nbad\n": "The prompt was filtered by the content policy.",
    }
    with JudgingServer(refused_texts=faults) as server:
        rows = judge(server, tmp_path).grade_records(RECORDS)
    assert [(row.score, row.failure) for row in rows] == [
        (None, "refused by the server"),
        (None, "too long"),
        (5, None),
        (2, None),
    ]
    assert "the server refused 2 requests, which are unscored (the first: " in capsys.readouterr().err


def test_a_failing_server_is_one_line_and_what_it_answered_is_not_asked_again(tmp_path: Path) -> None:
    with JudgingServer(failing_texts={"good answer"}) as server:
        backend = OpenAIBackend(server_options(server, tmp_path, retries=1), request_parameters())
        with pytest.raises(ServerError, match=r"1 of 4 requests failed \(c: .*--if_exists resume"):
            Judge(backend, SPEC, "scripted").grade_records(RECORDS)
        assert len(server.bodies) == 3 + 2  # c was tried twice
        server.failing_texts.clear()
        assert [row.score for row in Judge(backend, SPEC, "scripted").grade_records(RECORDS)] == GOLD
        assert len(server.bodies) == 3 + 2 + 1
        assert (backend.counters.asked, backend.counters.from_store) == (1, 3)


def test_from_server(judge_folder: Path, tmp_path: Path) -> None:
    with JudgingServer() as server:
        served = Judge.from_server(
            server.base_url, "judges/mine", with_reference=False, store=tmp_path / "answers", max_new_tokens=24
        )
        assert served.name == "mine"
        assert served.spec == PromptSpec("default", False, 4096)
        assert served.grade("x", "good answer", "fair", ["1", "2", "3", "4", "5"]).score == 5
        assert [row.score for row in served.grade_records(RECORDS)] == GOLD
        known = Judge.from_server(server.base_url, str(judge_folder), store=tmp_path / "answers")
        assert known.spec == SPEC
        assert known.backend.tokenizer is not None
        other = Judge.from_server(server.base_url, "mine", tokenizer=judge_folder, store=tmp_path / "answers")
        assert (other.spec, other.name) == (SPEC, "mine")
        with pytest.raises(ConfigError, match="max_length is counted with the judge's tokenizer"):
            Judge.from_server(server.base_url, "mine", max_length=1024)


def test_equal_prompts_are_asked_once(tmp_path: Path) -> None:
    twice = [RECORDS[0], RECORDS[0].model_copy(update={"id": "again"})]
    with JudgingServer(Answers(default="fine [RESULT] 3")) as server:
        rows = judge(server, tmp_path).grade_records(twice)
    assert [(row.id, row.score) for row in rows] == [("a", 3), ("again", 3)]
    assert len(server.bodies) == 1


def test_token_entries_spell_the_text() -> None:
    assert "".join(one["token"] for one in token_entries("a b 4")) == "a b 4<end>"
