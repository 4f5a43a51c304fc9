"""The whole command against a scripted writer: what is kept, what is made, what is refused and counted."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from core.config import exit_status
from core.errors import AlreadyDone, AnswersMissing, ConfigError, DataError, ServerError
from core.records import read_records
from core.run import read_manifest
from data_prep.recon import draw, main
from data_prep.recon_options import ReconConfig
from data_prep.recon_stages.prompts import RUBRIC, SCORES, read_prompts
from tests.data_prep.scripted_writer import translate, write
from tests.scripted_server import Answers, ScriptedServer

RUBRIC_TEXTS = {name: f"given {name} " for name in RUBRIC}


def prompts(count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"p{n}",
            "instruction": f"Describe the plain thing with the name of {'ab' * (n + 1)} to a small child.",
            "source": "mine" if n % 2 else "yours",
        }
        for n in range(count)
    ]


def config(folder: Path, rows: list[dict[str, Any]], server: ScriptedServer, **fields: Any) -> ReconConfig:
    source = folder / "prompts.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    values = {"input": [source], "output": folder / "out", "store": folder / "store", "model": "scripted", "retries": 0}
    return ReconConfig(**{**values, "base_url": server.base_url, **fields})


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_set_is_made_from_bare_prompts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ScriptedServer(Answers(write)) as server:
        main(config(tmp_path, prompts(10), server, languages=["bn"]))
    out = tmp_path / "out"
    english, bengali = read_records(out / "records-en.jsonl"), read_records(out / "records-bn.jsonl")
    assert Counter(row.score for row in english) == dict.fromkeys(SCORES, 2)
    assert [row.item_id for row in english] == [row.item_id for row in bengali]
    assert [row.score for row in english] == [row.score for row in bengali]
    assert [row.score for row in english] != sorted(row.score or 0 for row in english)
    for row, translated in zip(english, bengali, strict=True):
        assert row.feedback == f"It meets {row.score} of the points."
        assert (translated.instruction, translated.response) == (translate(row.instruction), translate(row.response))
        same = ("criteria", "score3_description", "reference_answer", "reference_language", "feedback", "source")
        assert all(getattr(row, name) == getattr(translated, name) for name in same)
        assert (row.id, translated.id) == (f"{row.item_id}__en", f"{row.item_id}__bn")
        assert row.extra == {"recon": {"made": ["capability", *RUBRIC, "reference_answer", "response", "feedback"]}}
    # 10 capabilities, rubrics and references, 50 responses, 10 instructions and 10 responses translated.
    assert Counter(body["temperature"] for body in server.bodies) == {0.7: 10, 0.5: 50, 0: 10 + 10 + 20}
    assert sum("response_format" in body for body in server.bodies) == 10  # the rubrics
    assert rows(out / "rejected.jsonl") == []
    assert len(rows(out / "responses.jsonl")) == 50
    said = capsys.readouterr().out
    assert "en: 10 items, scores 1:2 2:2 3:2 4:2 5:2; length baseline kappa" in said
    assert "| planning | 5 | 5 | 10 | 100 % |" in said


def test_the_length_baseline_is_stored_with_its_interval(tmp_path: Path) -> None:
    # The scripted writer's responses grow with the score alone, so length judges all of them right.
    with ScriptedServer(Answers(write)) as server:
        main(config(tmp_path, prompts(20), server))
    metrics = json.loads((tmp_path / "out/metrics.json").read_text(encoding="utf-8"))
    figure = metrics["sets"]["en"]["length_baseline"]
    assert figure["value"] > 0.9
    assert figure["low"] <= figure["value"] <= figure["high"]
    assert figure["n"] == 20
    assert metrics["capabilities"] == {"planning": {"mine": 10, "yours": 10}}
    svg = (tmp_path / "out/capabilities.svg").read_text(encoding="utf-8")
    assert "planning" in svg
    assert "http" not in svg.split("<defs>")[1].replace("http://www.w3.org", "")


def test_parts_that_a_prompt_brings_are_kept_byte_for_byte(tmp_path: Path) -> None:
    given = prompts(3)
    given[0] |= {"rubric": json.dumps(RUBRIC_TEXTS), "capability": "Own word", "system_prompt": " Be brief.\r\n"}
    given[0] |= {"reference_answer": " a\tb\u00a0\n", "task": "t", "general_rubric": "g"}
    given[0] |= {f"score_{n}_response": f" kept  {n}\n" for n in SCORES} | {
        f"score_{n}_feedback": f"fb {n} " for n in SCORES
    }
    given[1] |= {
        "criteria": "Is it right? ",
        "rubric": "",
        "score_2_response": "only this",
        "score_3_feedback": "Middling.",
    }
    with ScriptedServer(Answers(write)) as server:
        main(config(tmp_path, given, server))
    whole = next(row for row in read_records(tmp_path / "out/records-en.jsonl") if row.item_id == "p0")
    assert {name: getattr(whole, name) for name in RUBRIC} == RUBRIC_TEXTS
    assert (whole.capability, whole.system_prompt, whole.reference_answer) == (
        "Own word",
        " Be brief.\r\n",
        " a\tb\u00a0\n",
    )
    assert (whole.response, whole.feedback) == (f" kept  {whole.score}\n", f"fb {whole.score} ")
    assert whole.extra == {"task": "t", "general_rubric": "g", "recon": {"made": []}}
    assert not [message for message in server.asked if given[0]["instruction"] in message]
    (rubric,) = (row for row in rows(tmp_path / "out/rubrics.jsonl") if row["id"] == "p1")
    assert (rubric["criteria"], rubric["made"]) == ("Is it right? ", list(RUBRIC[1:]))
    scored = {row["id"]: row for row in rows(tmp_path / "out/responses.jsonl")}
    assert (scored["p1__s2"]["response"], scored["p1__s2"]["made"]) == ("only this", ["feedback"])
    assert (scored["p1__s3"]["feedback"], scored["p1__s3"]["made"]) == ("Middling.", ["response"])


def test_bad_answers_are_asked_again_and_what_stays_bad_is_reported(tmp_path: Path) -> None:
    answers = Answers(
        write, bad_share=0.3, bad_kinds=("refusal", "cut", "empty", "echo", "null", "refusal_field"), seed=4
    )
    with ScriptedServer(answers) as server:
        main(config(tmp_path, prompts(30), server, languages=["bn"], attempts=2))
    made = read_records(tmp_path / "out/records-bn.jsonl")
    rejected = rows(tmp_path / "out/rejected.jsonl")
    counts = Counter(row.score for row in made)
    assert max(counts.values()) - min(counts[score] for score in SCORES) <= 1
    # A prompt is lost whose rubric, reference or instruction failed; one whose response failed has other scores left.
    lost = {row["id"] for row in rejected if row["stage"] in ("rubric", "reference", "translate-instruction-bn")}
    assert {row.item_id for row in made}.isdisjoint(lost)
    assert len(made) + len(lost) <= 30
    assert len(made) >= 15
    stages = Counter(row["stage"] for row in rejected)
    assert {"rubric", "reference", "response"} <= stages.keys()
    assert all(len(row["reasons"]) == 2 for row in rejected if not row["stage"].startswith("translate"))
    metrics = json.loads((tmp_path / "out/metrics.json").read_text(encoding="utf-8"))
    assert metrics["rejected"] == dict(stages)
    assert metrics["prompts"] == 30
    assert any("Earlier answers could not be used:\n- " in message for message in server.asked)
    assert not any("sorry" in row.response for row in made)


def test_a_request_that_the_server_refuses_is_not_made_again_in_other_words(tmp_path: Path) -> None:
    def refuses_one(body: dict[str, Any]) -> str | None:
        return None if "of ababab " in str(body["messages"][-1]["content"]) else write(body)  # None: HTTP 400

    with ScriptedServer(Answers(refuses_one)) as server:
        main(config(tmp_path, prompts(6)[2:], server, capabilities=[]))
    (lost,) = rows(tmp_path / "out/rejected.jsonl")
    assert (lost["id"], lost["stage"], len(lost["reasons"])) == ("p2", "rubric", 1)
    assert "the request failed" in lost["reasons"][0]
    assert {row.item_id for row in read_records(tmp_path / "out/records-en.jsonl")} == {"p3", "p4", "p5"}
    requests = (read_manifest(tmp_path / "out") or {})["requests"]
    assert (requests["asked"], requests["failed"]) == (len(server.bodies), 1)


def test_a_response_that_cannot_be_translated_is_replaced_in_all_languages(tmp_path: Path) -> None:
    def no_fives(body: dict[str, Any]) -> str | None:
        fenced = "<source>" in str(body["messages"][-1]["content"])
        text = str(body["messages"][-1]["content"])
        return (
            "I cannot."
            if fenced and "plain words that say something about it and then a little more so" in text
            else write(body)
        )

    # Responses with a 5 are the only ones of 15 words, the model's others stop before: none passes, so no 5 remains.
    with ScriptedServer(Answers(no_fives)) as server:
        main(config(tmp_path, prompts(6), server, languages=["bn"], attempts=1))
    for code in ("en", "bn"):
        assert Counter(row.score for row in read_records(tmp_path / f"out/records-{code}.jsonl")) == dict.fromkeys(
            (1, 2, 3, 4), 1
        )
    rejected = rows(tmp_path / "out/rejected.jsonl")
    assert {row["stage"] for row in rejected} == {"translate-response-bn"}
    assert {row["id"] for row in rejected} == {f"p{n}__s5" for n in range(6)}


def test_a_server_that_only_answers_nonsense_is_refused_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ScriptedServer(Answers(default="the the of a and { ) the")) as server:
        settings = config(tmp_path, prompts(8), server, attempts=2)
        assert exit_status(lambda: main(settings)) == 2
    errors = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error")]
    assert len(errors) == 1
    assert "no item of 8 prompts could be finished: 16 parts failed (capability 8, rubric 8)" in errors[0]
    rejected = rows(tmp_path / "out/rejected.jsonl")
    assert Counter(row["stage"] for row in rejected) == {"capability": 8, "rubric": 8}
    assert all(len(row["reasons"]) == 2 for row in rejected)
    assert not (tmp_path / "out/records-en.jsonl").exists()


def test_nonsense_is_refused_in_every_stage_where_the_earlier_parts_are_given(tmp_path: Path) -> None:
    given = [row | {"rubric": RUBRIC_TEXTS, "capability": "planning"} for row in prompts(4)]
    with ScriptedServer(Answers(default="the the of a and")) as server, pytest.raises(DataError, match="reference 4"):
        main(config(tmp_path, given, server, attempts=1))
    given = [row | {"reference_answer": "A reference."} for row in given]
    with ScriptedServer(Answers(default="the the of a and")) as server, pytest.raises(DataError, match="response 20"):
        main(config(tmp_path, given, server, attempts=1, if_exists="overwrite"))


def test_a_run_goes_on_where_its_server_died_and_asks_nothing_twice(tmp_path: Path) -> None:
    with ScriptedServer(Answers(write)) as server:
        main(
            config(tmp_path, prompts(5), server, output=tmp_path / "whole", store=tmp_path / "other", languages=["bn"])
        )
        whole = len(server.bodies)
    asked = 0
    for dead_after in (12, 25):
        with ScriptedServer(Answers(write), dead_after=dead_after) as server, pytest.raises(ServerError):
            main(config(tmp_path, prompts(5), server, languages=["bn"], concurrency=2, if_exists="resume"))
        asked += dead_after
    with ScriptedServer(Answers(write)) as server:
        settings = config(tmp_path, prompts(5), server, languages=["bn"], if_exists="resume")
        main(settings)
        asked += len(server.bodies)
    assert whole <= asked <= whole + 4  # at most the two in flight at each death are asked again
    for name in ("records-en.jsonl", "records-bn.jsonl", "metrics.json"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    with pytest.raises(AlreadyDone):
        main(settings)
    assert (read_manifest(tmp_path / "out") or {})["status"] == "done"


def test_a_plan_asks_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = prompts(10)
    given[0] |= {"rubric": RUBRIC_TEXTS, "capability": "planning", "score_1_response": "r", "score_1_feedback": "f"}
    with ScriptedServer(Answers(write)) as server:
        main(config(tmp_path, given, server, plan=True, languages=["bn", "te"]))
        assert server.bodies == []
    assert not (tmp_path / "out").exists()
    said = capsys.readouterr().out
    # 9 prompts lack capability and rubric, 10 the reference, 49 of 50 responses are to be made; two languages.
    for stage, requests in {"capability": 9, "rubric": 9, "reference": 10, "response": 49}.items():
        assert f"| {stage} | {requests} |" in said
    for code in ("bn", "te"):
        assert f"| translate {code} | 20 |" in said
    assert f"| all | {9 + 9 + 10 + 49 + 40} |" in said
    assert "price: none known for scripted" in said


def test_through_batch_files_each_wave_waits_for_the_one_before(tmp_path: Path) -> None:
    waves = 0
    with ScriptedServer(Answers(write)) as server:
        settings = config(
            tmp_path, prompts(5), server, languages=["bn"], batch="submit", batch_dir=tmp_path / "b", if_exists="resume"
        )
        while True:
            try:
                main(settings)
                break
            except AnswersMissing:
                waves += 1
                assert waves < 10
        assert server.bodies == []
    # Capability with rubric, reference, response, translation.
    assert waves == 4
    assert len(read_records(tmp_path / "out/records-bn.jsonl")) == 5
    assert rows(tmp_path / "out/rejected.jsonl") == []


def test_length_control_is_asked_for_and_stored(tmp_path: Path) -> None:
    with ScriptedServer(Answers(write)) as server:
        main(config(tmp_path, prompts(5), server, length_control=True, capabilities=[]))
    for row in read_records(tmp_path / "out/records-en.jsonl"):
        words = row.extra["recon"]["target_words"]
        assert words == rows_by_id(tmp_path / "out/responses.jsonl")[f"{row.item_id}__s{row.score}"]["target_words"]
        assert any(f"has about {words} words" in message for message in server.asked)
        assert row.capability is None


def rows_by_id(path: Path) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in rows(path)}


def test_a_draw_of_the_prompts_is_seeded_and_keeps_their_order(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in prompts(30)), encoding="utf-8")
    everything = read_prompts([path], {})
    drawn = draw(everything, 10, seed=1)
    assert drawn == draw(everything, 10, seed=1) != draw(everything, 10, seed=2)
    assert [prompt for prompt in everything if prompt in drawn] == drawn
    assert draw(everything, None, seed=1) == draw(everything, 30, seed=1) == everything


def test_languages_are_known_and_named_once(tmp_path: Path) -> None:
    with ScriptedServer() as server:
        for languages in (["hi", "hi"], ["en"], ["xx"]):
            with pytest.raises(ConfigError):
                config(tmp_path, prompts(1), server, languages=languages)
