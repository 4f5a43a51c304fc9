"""Every system answers the same prompts; what it could not answer is counted, and no system's fault costs another's answers."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from core.config import exit_status, parse_config
from core.errors import ConfigError, DataError, ServerError
from core.records import JudgeRecord, read_records, write_records
from core.run import read_manifest
from data_prep.respond import RespondConfig, main
from data_prep.respond_draw import draw_prompts
from tests.scripted_server import Answers, ScriptedServer


def prompt(item: str, language: str = "hi", **fields: Any) -> JudgeRecord:
    rubric = {f"score{n}_description": f"d{n}" for n in range(1, 6)}
    texts = {
        "instruction": f"question {item}",
        "response": "old",
        "criteria": "c",
        "feedback": "f",
        "score": 3,
        **fields,
    }
    return JudgeRecord(id=f"{item}__{language}", item_id=item, language=language, **rubric, **texts)


def config(folder: Path, systems: list[dict[str, Any]], records: list[JudgeRecord], **fields: Any) -> RespondConfig:
    write_records(records, folder / "prompts.jsonl")
    values = {"input": [folder / "prompts.jsonl"], "output": folder / "out", "store": folder / "store", "retries": 0}
    return RespondConfig(**values, systems=systems, **fields)


def system(name: str, server: ScriptedServer, **fields: Any) -> dict[str, Any]:
    return {"name": name, "model": f"models/{name}", "base_url": server.base_url, **fields}


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_each_system_answers_each_prompt(tmp_path: Path) -> None:
    records = [
        prompt("a", system_prompt="Be brief.", extra={"task": "t", "recon": {"made": ["response"]}}),
        prompt("b"),
    ]
    with ScriptedServer(Answers(lambda body: f"{body['model']} says")) as server:
        systems = [system("one", server, parameters={"temperature": 0}), system("two", server, system_role=False)]
        main(config(tmp_path, systems, records, prompts=2))
    made = read_records(tmp_path / "out/records.jsonl")
    assert sorted(row.id for row in made) == ["a__hi-one", "a__hi-two", "b__hi-one", "b__hi-two"]
    for row in made:
        assert row.response == f"models/{row.system} says"
        assert (row.score, row.feedback, row.human_scores, row.criteria) == (None, None, None, "c")
    first = next(row for row in made if row.id == "a__hi-one")
    assert (first.item_id, first.extra) == ("a", {"task": "t"})
    assert rows(tmp_path / "out/rejected.jsonl") == []
    asked = {
        (body["model"], body.get("temperature"), tuple(turn["role"] for turn in body["messages"]))
        for body in server.bodies
    }
    assert asked == {
        ("models/one", 0, ("system", "user")),
        ("models/one", 0, ("user",)),
        ("models/two", None, ("user",)),
    }
    assert "Be brief.\n\nquestion a" in server.asked


def test_a_cut_answer_is_kept_and_marked_an_empty_one_is_reported(tmp_path: Path) -> None:
    records = [prompt(str(n)) for n in range(40)]
    answers = Answers(
        {"question": "a whole answer"}, bad_share=0.5, bad_kinds=("cut", "empty", "null", "refusal_field")
    )
    with ScriptedServer(answers) as server:
        main(config(tmp_path, [system("one", server)], records, prompts=40))
    made, lost = read_records(tmp_path / "out/records.jsonl"), rows(tmp_path / "out/rejected.jsonl")
    cut = [row for row in made if row.extra.get("finish_reason") == "length"]
    assert {row.response for row in cut} == {"a whole"}
    assert {row.response for row in made if row not in cut} == {"a whole answer"}
    assert len(made) + len(lost) == 40
    reasons = Counter(row["reason"] for row in lost)
    assert set(reasons) == {
        "empty answer (finish reason stop)",
        "empty answer (finish reason content_filter)",
        "empty answer (refused: I can't help with that.)",
    }
    counts = (read_manifest(tmp_path / "out") or {})["counts"]
    assert counts == {
        "responses": {"one hi": len(made)},
        "cut": {"one hi": len(cut)},
        "rejected": {"one hi": len(lost)},
    }
    assert min(len(cut), len(lost)) > 0


def test_a_system_whose_server_is_gone_costs_the_others_nothing(tmp_path: Path) -> None:
    records = [prompt(str(n)) for n in range(12)]
    with (
        ScriptedServer(Answers(default="fine")) as well,
        ScriptedServer(Answers(default="fine"), dead_after=5) as dying,
    ):
        settings = config(tmp_path, [system("dies", dying), system("lives", well)], records, prompts=12, concurrency=2)
        with pytest.raises(ServerError, match=r"system dies: .*resume"):
            main(settings)
        made = Counter(row.system for row in read_records(tmp_path / "out/records.jsonl"))
        assert made["lives"] == 12
        assert 1 <= made["dies"] <= 5
        assert (read_manifest(tmp_path / "out") or {})["status"] == "failed"
    # The dead server comes back at another address: only what it had not answered is asked.
    with ScriptedServer(Answers(default="fine")) as back:
        moved = config(tmp_path, [system("dies", back), system("lives", back)], records, prompts=12, if_exists="resume")
        main(moved)
        assert 12 - 5 <= len(back.bodies) <= 11
    assert Counter(row.system for row in read_records(tmp_path / "out/records.jsonl")) == {"dies": 12, "lives": 12}


def test_nothing_but_empty_answers_is_an_error_of_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ScriptedServer(Answers(default="")) as server:
        settings = config(tmp_path, [system("one", server)], [prompt("a")], prompts=1)
        assert exit_status(lambda: main(settings)) == 2
    error = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error")]
    assert len(error) == 1
    assert "no system gave a response" in error[0]
    assert len(rows(tmp_path / "out/rejected.jsonl")) == 1


def test_prompts_are_drawn_in_proportion_and_the_same_in_all_languages() -> None:
    # 60 of source x, 40 of y, of which 30 test safety: 10 prompts are 6 of x and 4 of y, 3 of these on safety.
    items = [(f"x{n}", "x", None) for n in range(60)]
    items += [(f"y{n}", "y", "safety" if n < 30 else "planning") for n in range(40)]
    records = [
        prompt(item, code, source=source, capability=capability)
        for code in ("hi", "te")
        for item, source, capability in items
    ]
    drawn = draw_prompts(records, 10, seed=1)
    hindi, telugu = ([row for row in drawn if row.language == code] for code in ("hi", "te"))
    assert [row.item_id for row in hindi] == [row.item_id for row in telugu]
    assert Counter(row.source for row in hindi) == {"x": 6, "y": 4}
    assert Counter(row.capability for row in hindi) == {None: 6, "safety": 3, "planning": 1}
    assert [row.id for row in draw_prompts(records[::-1], 10, seed=1)] == [row.id for row in drawn]
    assert [row.id for row in draw_prompts(records, 10, seed=2)] != [row.id for row in drawn]


def test_an_item_with_several_responses_is_one_prompt_and_few_prompts_are_all_taken(
    capsys: pytest.CaptureFixture[str],
) -> None:
    records = [prompt("a"), prompt("a").model_copy(update={"id": "a2"}), prompt("b")]
    assert sorted(row.id for row in draw_prompts(records, 5, seed=1)) == ["a__hi", "b__hi"]
    assert "hi: 2 prompts, fewer than the 5 asked for" in capsys.readouterr().err


def test_systems_are_named_once_and_read_from_yaml(tmp_path: Path) -> None:
    twice = [{"name": "one", "model": "m"}, {"name": "one", "model": "n"}]
    (tmp_path / "c.yaml").write_text(yaml.safe_dump({"systems": twice}), encoding="utf-8")
    flags = ["--config", str(tmp_path / "c.yaml"), "--input", "x.jsonl", "--output", "out"]
    with pytest.raises(ConfigError, match="same name"):
        parse_config(RespondConfig, flags)
    with pytest.raises(ConfigError, match=r"systems\.0\.parameter"):
        parse_config(RespondConfig, [*flags, "--systems", "{name: one, model: m, parameter: {}}"])


def test_a_key_that_is_not_set_stops_before_anything_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with ScriptedServer(Answers(default="fine")) as server:
        systems = [system("one", server), {"name": "two", "model": "gpt", "api_key_env": "NO_SUCH_KEY"}]
        with pytest.raises(ConfigError, match="NO_SUCH_KEY"):
            main(config(tmp_path, systems, [prompt("a")], prompts=1))
    assert server.bodies == []
    assert not (tmp_path / "out").exists()


def test_ids_that_meet_are_refused(tmp_path: Path) -> None:
    records = [prompt("a"), prompt("a", "te")]
    write_records(records[:1], tmp_path / "one.jsonl")
    clash = records[1].model_copy(update={"id": "a__hi"})
    write_records([clash], tmp_path / "two.jsonl")
    with ScriptedServer() as server, pytest.raises(DataError, match="a__hi"):
        main(
            RespondConfig(
                input=[tmp_path / "one.jsonl", tmp_path / "two.jsonl"],
                output=tmp_path / "out",
                systems=[system("one", server)],
                store=tmp_path / "store",
            )
        )
