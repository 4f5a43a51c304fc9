"""What the tests of translation share: a client of a scripted server, and answers that change from one time to the next."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from core.records import JudgeRecord, write_records
from data_prep.translation_options import TranslateConfig
from tests.scripted_answers import last_user_message
from tests.scripted_server import ScriptedServer

Table = Callable[[dict[str, Any]], str | None]


def source_of(body: dict[str, Any]) -> str:
    """The fenced text of a request."""
    return last_user_message(body).split("\n", 1)[1].rsplit("\n", 1)[0]


def in_turn(answers: dict[str, Sequence[str]]) -> Table:
    """Answers to a source, one after another, the last for good; whatever else the request says."""
    times: Counter[str] = Counter()

    def answer(body: dict[str, Any]) -> str:
        source = source_of(body)
        times[source] += 1
        return answers[source][min(times[source], len(answers[source])) - 1]

    return answer


def record(name: str, instruction: str, response: str, **changes: Any) -> JudgeRecord:
    values: dict[str, Any] = {
        "id": name,
        "item_id": name.split("-")[0],
        "language": "en",
        "instruction": instruction,
        "response": response,
        "criteria": "Is it right?",
        **{f"score{score}_description": f"Level {score}." for score in range(1, 6)},
        "reference_answer": "The sky is blue.",
        "reference_language": "en",
        "feedback": "It is wrong.",
        "score": 2,
    }
    return JudgeRecord(**{**values, **changes})


def config(
    folder: Path, server: ScriptedServer | None, records: Sequence[JudgeRecord] = (), **changes: Any
) -> TranslateConfig:
    """The options of a run in ``folder``, whose records are written there where some are given."""
    if records:
        write_records(records, folder / "records.jsonl")
    values: dict[str, Any] = {
        "model": "scripted",
        "base_url": server.base_url if server else "http://127.0.0.1:9/v1",
        "concurrency": 4,
        "timeout": 5.0,
        "retries": 1,
        "store": folder / "store",
        "input": folder / "records.jsonl",
        "language": "sw",
        "output": folder / "out",
    }
    return TranslateConfig(**{**values, **changes})
