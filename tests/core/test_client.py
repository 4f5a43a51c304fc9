"""The client against the scripted server: one asking a text, failures that pass and failures that end the run."""

import asyncio
import dataclasses
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from core.answer_store import AnswerStore
from core.client import Answer, Client, Request
from core.errors import AlreadyDone, ConfigError, DataError, RunFolderError, ServerError, StoreError
from core.request import read_completion
from core.run import Run
from core.server import LONGEST_RETRY_AFTER, ServerOptions, parse_retry_after, waiting_time
from tests.core.client_for_tests import ask_all, options, request, stored_rows
from tests.scripted_server import Answers, ScriptedServer

TABLE = {f"text {number};": f"answer {number}" for number in range(100)}
TEXTS = list(TABLE)


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.server.FIRST_WAIT", 0.01)


def test_a_text_is_asked_once_in_this_run_and_the_next(tmp_path: Path) -> None:
    with ScriptedServer(Answers(TABLE)) as server:
        for run in range(2):
            with Client(options(tmp_path, server.base_url)) as client:
                answers = ask_all(client, TEXTS * 2 if run else TEXTS)
            assert {text: answer.text for text, answer in answers.items()} == TABLE
    assert sorted(server.asked) == sorted(f"Translate: {text}" for text in TEXTS)
    assert client.counters.asked == 0
    assert client.counters.from_store == 200
    assert len(stored_rows(tmp_path)) == 100


def test_equal_requests_in_flight_are_asked_once(tmp_path: Path) -> None:
    with ScriptedServer(Answers(TABLE), latency_ms=50) as server, Client(options(tmp_path, server.base_url)) as client:

        async def handle(text: str) -> Answer:
            return await client.answer(request(text))

        results = list(client.map([TEXTS[0]] * 6, handle, "same"))
        assert [answer.text for _, answer in results] == ["answer 0"] * 6
        assert len(server.asked) == 1
        assert (client.counters.asked, client.counters.from_store) == (1, 5)


def test_a_text_that_is_asked_again_with_anything_changed_is_another_request() -> None:
    base = request("x", temperature=0.0)
    changed = [
        dataclasses.replace(base, messages=({"role": "user", "content": "y"},)),
        dataclasses.replace(base, task="rubric"),
        dataclasses.replace(base, language="bn"),
        dataclasses.replace(base, prompt_version="2"),
        dataclasses.replace(base, parameters={"temperature": 0.5}),
    ]
    keys = {one.key("m") for one in [base, *changed]} | {base.key("other model")}
    assert len(keys) == 7
    assert dataclasses.replace(base, id="another name").key("m") == base.key("m")
    two = [Request("a", (), "t", "1", None, {"a": 1, "b": 2}), Request("a", (), "t", "1", None, {"b": 2, "a": 1})]
    assert two[0].key("m") == two[1].key("m")


def test_what_is_sent_is_what_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "secret")
    asked = request(TEXTS[0], temperature=0.5, response_format={"type": "json_object"}, top_k=3)
    with (
        ScriptedServer(Answers(TABLE)) as server,
        Client(options(tmp_path, server.base_url, api_key_env="MY_KEY")) as client,
    ):
        asyncio.run(client.answer(asked))
    assert server.bodies == [
        {
            "model": "scripted",
            "messages": [{"role": "user", "content": f"Translate: {TEXTS[0]}"}],
            "temperature": 0.5,
            "response_format": {"type": "json_object"},
            "top_k": 3,
        }
    ]
    assert server.keys == {"secret"}


def test_concurrency_is_bounded_and_used(tmp_path: Path) -> None:
    with (
        ScriptedServer(Answers(TABLE), latency_ms=30) as server,
        Client(options(tmp_path, server.base_url, concurrency=7)) as client,
    ):
        ask_all(client, TEXTS[:40])
        assert server.most_in_flight == 7


def test_a_character_cut_in_half_and_infinite_logprobs_are_stored_as_json_has_them(tmp_path: Path) -> None:
    logprobs = {"content": [{"token": "a", "logprob": float("-inf")}]}
    choice = {"message": {"content": "fine \ud83d"}, "finish_reason": "length", "logprobs": logprobs}
    answer = read_completion({"choices": [choice]}, "0" * 64, "translate", "hi", "m")
    assert answer.text == "fine \ufffd"
    assert answer.logprobs == {"content": [{"token": "a", "logprob": None}]}
    AnswerStore(tmp_path).extend([answer])
    assert AnswerStore(tmp_path).get("translate", "hi", "0" * 64) == answer


@pytest.mark.parametrize(
    "completion",
    [
        *(None, "text", [], {}, {"choices": []}, {"choices": [{}]}, {"error": {"message": "overloaded"}}),
        {"choices": [{"message": {"content": "half"}, "finish_reason": "error"}]},
        {"choices": [{"message": {"content": "half"}, "finish_reason": "abort"}]},
        {"choices": [{"message": {"content": ["a", "list"]}, "finish_reason": "stop"}]},
    ],
)
def test_what_is_no_completion_is_never_stored(completion: Any) -> None:
    with pytest.raises(ValueError, match="no chat completion"):
        read_completion(completion, "0" * 64, "translate", "hi", "m")


FAULTS = ("408", "409", "429", "429-date", "500", "503", "drop", "cut", "not-json", "no-choices")


@pytest.mark.parametrize("fault", FAULTS)
def test_failures_that_may_pass_are_tried_again(tmp_path: Path, fault: str) -> None:
    with ScriptedServer(Answers(TABLE), faults={1: fault, 2: fault}) as server:
        with Client(options(tmp_path, server.base_url, concurrency=1)) as client:
            assert ask_all(client, TEXTS[:2])[TEXTS[0]].text == "answer 0"
        assert len(server.asked) == 4
    assert client.counters.retried == 2
    assert [row["text"] for row in stored_rows(tmp_path)] == ["answer 0", "answer 1"]


def test_a_server_that_hangs_is_tried_again(tmp_path: Path) -> None:
    with (
        ScriptedServer(Answers(TABLE), faults={1: "hang"}) as server,
        Client(options(tmp_path, server.base_url, timeout=0.3)) as client,
    ):
        assert ask_all(client, TEXTS[:1])[TEXTS[0]].text == "answer 0"


def test_retry_after_is_kept_to(tmp_path: Path) -> None:
    with ScriptedServer(Answers(TABLE), faults={1: "429"}, retry_after=0.7) as server:
        start = time.monotonic()
        with Client(options(tmp_path, server.base_url)) as client:
            ask_all(client, TEXTS[:1])
    assert time.monotonic() - start >= 0.7


def test_waiting_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.server.FIRST_WAIT", 0.5)
    # Doubles from 0.5 s, of which at least half is waited, up to 30 s.
    for attempt, most in ((0, 0.5), (1, 1.0), (3, 4.0), (10, 30.0), (100, 30.0)):
        assert most / 2 <= waiting_time(attempt, None) <= most
    assert 20 <= waiting_time(0, 20.0) <= 20.25
    assert LONGEST_RETRY_AFTER <= waiting_time(0, 1e9) <= LONGEST_RETRY_AFTER + 1


def test_retry_after_as_seconds_as_date_and_as_nonsense() -> None:
    assert parse_retry_after("2.5") == 2.5
    in_ten = parse_retry_after(format_datetime(datetime.now(UTC) + timedelta(seconds=10), usegmt=True))
    assert in_ten is not None
    assert 8 < in_ten <= 10
    assert parse_retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
    assert [parse_retry_after(value) for value in (None, "", "soon", "nan", "inf")] == [None] * 5


def test_a_request_that_fails_for_good_is_an_error_that_is_not_stored(tmp_path: Path) -> None:
    with ScriptedServer(Answers(TABLE), faults={1: "500", 2: "500"}) as server:
        for expected in (None, "answer 0"):
            with Client(options(tmp_path, server.base_url, retries=1)) as client:
                answer = ask_all(client, TEXTS[:1])[TEXTS[0]]
            assert answer.text == expected
            assert (answer.error is None) == (expected is not None)
    assert len(stored_rows(tmp_path)) == 1


def test_a_faulty_request_is_an_error_of_its_own(tmp_path: Path) -> None:
    with (
        ScriptedServer(Answers(TABLE), faults={2: "400"}) as server,
        Client(options(tmp_path, server.base_url, concurrency=1)) as client,
    ):
        answers = ask_all(client, TEXTS[:4])
    assert [answers[text].text for text in TEXTS[:4]] == ["answer 0", None, "answer 2", "answer 3"]
    assert "scripted fault" in (answers[TEXTS[1]].error or "")
    assert (client.counters.failed, client.counters.retried) == (1, 0)
    assert len(stored_rows(tmp_path)) == 3


BAD = {
    "refusal_field": (None, "stop", "I can't help with that."),
    "cut": ("answ", "length", None),
    "null": (None, "content_filter", None),
    "empty": ("", "stop", None),
}


@pytest.mark.parametrize("kind", BAD)
def test_answers_that_were_billed_are_stored_whatever_they_are(tmp_path: Path, kind: str) -> None:
    with ScriptedServer(Answers(TABLE, bad_share=1.0, bad_kinds=[kind])) as server:
        for _ in range(2):
            with Client(options(tmp_path, server.base_url)) as client:
                answer = ask_all(client, TEXTS[:1])[TEXTS[0]]
            assert (answer.text, answer.finish_reason, answer.refusal) == BAD[kind]
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("401", "check the key in OPENAI_API_KEY"),
        ("403", "check the key in OPENAI_API_KEY, and whether it may use the model"),
        ("404", "whether it has the model scripted"),
        ("429-quota", "no quota is left"),
    ],
)
def test_failures_that_end_the_run(tmp_path: Path, fault: str, says: str) -> None:
    """Ten answers come before the key is revoked; they stay, whole."""
    with (
        ScriptedServer(Answers(TABLE), faults=dict.fromkeys(range(11, 200), fault)) as server,
        Client(options(tmp_path, server.base_url)) as client,
        pytest.raises(ServerError, match=says) as stop,
    ):
        ask_all(client, TEXTS)
    assert "\n" not in str(stop.value)
    assert len(stored_rows(tmp_path)) == 10
    assert len(server.asked) < 20


def test_a_server_that_dies_for_good_ends_the_run_and_the_next_goes_on(tmp_path: Path) -> None:
    with (
        ScriptedServer(Answers(TABLE), dead_after=30) as server,
        Client(options(tmp_path, server.base_url, retries=2)) as client,
        pytest.raises(ServerError, match=r"4 requests in a row failed, the last with: .*; see to the server"),
    ):
        ask_all(client, TEXTS)
    stored = len(stored_rows(tmp_path))
    assert 26 <= stored <= 30  # at most the four in flight were lost
    with ScriptedServer(Answers(TABLE)) as server, Client(options(tmp_path, server.base_url)) as client:
        assert len(ask_all(client, TEXTS)) == 100
    assert len(server.asked) == 100 - stored


def test_a_parameter_that_no_request_may_have_ends_the_run(tmp_path: Path) -> None:
    with (
        ScriptedServer(Answers({})) as server,
        Client(options(tmp_path, server.base_url)) as client,
        pytest.raises(ServerError, match=r"8 requests in a row failed, the last with: .*no row of the table fits"),
    ):
        ask_all(client, TEXTS)
    assert len(server.asked) < 20


def test_a_full_disk_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    with ScriptedServer(Answers(TABLE)) as server, Client(options(tmp_path, server.base_url)) as client:
        ask_all(client, TEXTS[:5])
        monkeypatch.setattr("core.answer_store.os.write", full)
        with pytest.raises(StoreError, match="No space left on device"):
            ask_all(client, TEXTS)
    assert len(stored_rows(tmp_path)) == 5


def test_a_second_run_stops_before_it_pays(tmp_path: Path) -> None:
    with (
        ScriptedServer(Answers(TABLE)) as server,
        Client(options(tmp_path, server.base_url)) as one,
        Client(options(tmp_path, server.base_url)) as two,
    ):
        ask_all(one, TEXTS[:3])
        with pytest.raises(StoreError, match="another run"):
            ask_all(two, TEXTS)
        assert len(server.asked) == 3
        assert ask_all(two, TEXTS[:3])[TEXTS[2]].text == "answer 2"


def test_map_draws_items_lazily_and_an_error_of_a_handler_is_raised(tmp_path: Path) -> None:
    drawn = []

    def items() -> Any:
        for number in range(1000):
            drawn.append(number)
            yield number

    async def handle(number: int) -> int:
        if number == 5:
            raise ZeroDivisionError("five")
        return number * 2

    with Client(options(tmp_path)) as client:
        results = client.map(items(), handle, "numbers")
        assert next(results) == (0, 0)
        assert len(drawn) <= 16
        with pytest.raises(ZeroDivisionError, match="five"):
            list(results)
        assert dict(client.map([1, 2], handle, "again")) == {1: 2, 2: 4}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"base_url": "localhost:8000"}, "base_url localhost:8000 is no address"),
        (
            {"base_url": None, "api_key_env": "NOT_SET"},
            "api.openai.com needs a key: set the environment variable NOT_SET",
        ),
        (
            {"base_url": "https://generativelanguage.googleapis.com/v1beta/openai", "api_key_env": "NOT_SET"},
            "needs a key",
        ),
    ],
)
def test_options_that_cannot_work_are_one_line(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        Client(options(tmp_path, **changes))


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "10.0.0.7", "gpu-node", "vllm.internal"])
def test_a_server_at_home_needs_no_key(tmp_path: Path, host: str) -> None:
    with Client(options(tmp_path, f"http://{host}:8000/v1", api_key_env="NOT_SET")):
        pass


def test_how_the_server_is_reached_is_no_part_of_a_run(tmp_path: Path) -> None:
    first = options(tmp_path / "store")
    with Run(tmp_path / "run", "test", first):
        pass
    elsewhere = {"base_url": "http://gpu:8000/v1", "concurrency": 9, "timeout": 1.0, "retries": 0, "api_key_env": "KEY"}
    kept_elsewhere = {"store": tmp_path / "other", "batch": "files", "batch_dir": tmp_path / "batches"}
    with pytest.raises(AlreadyDone):
        Run(tmp_path / "run", "test", first.model_copy(update={**elsewhere, **kept_elsewhere}), if_exists="resume")
    with pytest.raises(RunFolderError, match=r"other config \(model\)"):
        Run(tmp_path / "run", "test", first.model_copy(update={"model": "another"}), if_exists="resume")


def test_a_map_inside_the_loop_of_another(tmp_path: Path) -> None:
    async def handle(number: int) -> int:
        await asyncio.sleep(0.001 * number)
        return number

    with Client(options(tmp_path)) as client:
        pairs = [
            (outer, sorted(inner for inner, _ in client.map(range(5), handle, "inner")))
            for outer, _ in client.map(range(20), handle, "outer")
        ]
    assert sorted(outer for outer, _ in pairs) == list(range(20))
    assert all(inner == [0, 1, 2, 3, 4] for _, inner in pairs)


@pytest.mark.parametrize("name", ["store", "batch_dir"])
@pytest.mark.parametrize("below", ["", "paid"])
def test_answers_do_not_lie_where_overwrite_would_delete_them(tmp_path: Path, name: str, below: str) -> None:
    class Command(ServerOptions):
        output: Path

    with pytest.raises(ConfigError, match=f"{name} .* lies in output .*name a folder beside it"):
        Command(model="m", output=tmp_path / "out", **{name: tmp_path / "out" / below})
    Command(model="m", output=tmp_path / "out", **{name: tmp_path / "out-paid"})


def test_half_of_a_character_is_not_sent(tmp_path: Path) -> None:
    with (
        ScriptedServer(Answers(default="yes")) as server,
        Client(options(tmp_path, server.base_url)) as client,
        pytest.raises(DataError, match="half of a character"),
    ):
        ask_all(client, ["cut \ud800"])
    assert server.bodies == []
