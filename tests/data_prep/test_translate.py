"""The command: what it asks for, what it writes, and what it says of texts that cannot be translated."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.errors import AlreadyDone, AnswersMissing, ConfigError, DataError, RunFolderError
from core.jsonl import read_jsonl
from core.prompt import build_messages
from core.records import read_records, write_records
from core.run import read_manifest
from data_prep.convert import main as convert
from data_prep.options import ConvertConfig
from data_prep.translate import main
from tests.conftest import REPO
from tests.data_prep.made_up_texts import hindi_text, records
from tests.data_prep.translation_for_tests import config, in_turn, record, source_of
from tests.scripted_answers import read_table
from tests.scripted_server import Answers, ScriptedServer

ASK, SAY = "How far is it?", "It is 5 km away."
ULIZA, SEMA = "Ni umbali gani?", "Ni umbali wa km 5."
NO_QUESTION = "the question was not translated as a question; it must not be answered"
TABLE = {ASK: ULIZA, SAY: SEMA, "The sky is blue.": "Anga ni la bluu.", "Go.": "Nenda."}


def rows(path: Path) -> list[dict[str, Any]]:
    return [row for _, row in read_jsonl(path)]


def test_instruction_and_response_are_translated_and_nothing_else(tmp_path: Path) -> None:
    english = [record("a-1", ASK, SAY, extra={"task": "t"}), record("a-2", ASK, "Go.", feedback=None, score=None)]
    with ScriptedServer(Answers(TABLE)) as server:
        main(config(tmp_path, server, english))
    written = read_records(tmp_path / "out" / "records.jsonl")
    assert written == [
        english[0].model_copy(update={"language": "sw", "instruction": ULIZA, "response": SEMA}),
        english[1].model_copy(update={"language": "sw", "instruction": ULIZA, "response": "Nenda."}),
    ]
    assert len(server.asked) == 3
    assert rows(tmp_path / "out" / "rejected.jsonl") == []
    manifest = read_manifest(tmp_path / "out")
    assert manifest is not None
    assert manifest["status"] == "done"
    assert manifest["counts"]["sw"]["texts"] == {"accepted": 3, "asked again": 0}
    assert manifest["requests"]["asked"] == 3


def test_the_reference_is_an_option_and_ids_may_be_marked(tmp_path: Path) -> None:
    english = [record("a-1", ASK, SAY), record("a-2", ASK, "Go.", reference_answer=None, reference_language=None)]
    with ScriptedServer(Answers(TABLE)) as server:
        main(config(tmp_path, server, english, reference="target", mark_ids=True))
    first, second = read_records(tmp_path / "out" / "records.jsonl")
    assert (first.id, first.item_id, second.id) == ("a-1__sw", "a", "a-2__sw")
    assert (first.reference_answer, first.reference_language) == ("Anga ni la bluu.", "sw")
    assert (second.reference_answer, second.reference_language) == (None, None)
    assert (first.criteria, first.feedback, first.score) == ("Is it right?", "It is wrong.", 2)


def test_equal_texts_are_sent_once_whatever_their_unicode_form(tmp_path: Path) -> None:
    english = [
        record("a-1", "Visit the caf\u00e9 there", "Go."),
        record("b-1", "Visit the cafe\u0301 there", "Go."),
        record("c-1", "Go.", ""),
    ]
    with ScriptedServer(Answers(lambda body: TABLE.get(source_of(body), "Tembelea mkahawa huko"))) as server:
        main(config(tmp_path, server, english))
    assert len(server.asked) == 2
    assert [one.instruction for one in read_records(tmp_path / "out" / "records.jsonl")] == [
        "Tembelea mkahawa huko",
        "Tembelea mkahawa huko",
        "Nenda.",
    ]


def test_a_text_that_fails_is_reported_by_id_and_its_records_are_not_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The instruction of a fails for good, the response of b-1 once."""
    answers = {
        ASK: [ASK, "", "Kilomita 5."],
        "Go.": ["Nenda."],
        SAY: ["Ni umbali wa km 6.", SEMA],
        "Stop.": ["Simama."],
    }
    english = [
        record("a-1", ASK, "Go."),
        record("a-2", ASK, "Stop."),
        record("b-1", "Go.", SAY),
        record("c-1", "Go.", "Stop."),
    ]
    with ScriptedServer(Answers(in_turn(answers))) as server:
        main(config(tmp_path, server, english))
    assert [one.id for one in read_records(tmp_path / "out" / "records.jsonl")] == ["b-1", "c-1"]
    assert [row["id"] for row in rows(tmp_path / "out" / "hub.jsonl")] == ["b-1", "c-1"]
    assert rows(tmp_path / "out" / "rejected.jsonl") == [
        {
            "id": name,
            "item_id": "a",
            "language": "sw",
            "fields": ["instruction"],
            "reasons": [
                "instruction, attempt 1: the English text itself came back; it must be translated",
                "instruction, attempt 2: the answer was empty (finish_reason stop)",
                f"instruction, attempt 3: {NO_QUESTION}; numbers were changed: 5 added",
            ],
            "sources": {"instruction": ASK},
            "texts": {"instruction": "Kilomita 5."},
        }
        for name in ("a-1", "a-2")
    ]
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("4 unique texts: 3 accepted, 1 rejected, 2 asked again; 7 requests, 0 answers from ")
    assert "numbers 2" in out[1]
    assert out[-1].endswith("out: 2 of 4 records in Swahili; 2 missing (answered 2, numbers 2), see rejected.jsonl")
    manifest = read_manifest(tmp_path / "out")
    assert manifest is not None
    assert manifest["counts"]["sw"]["rejected_by_fault"] == {"answered": 2, "numbers": 2}


def test_too_many_rejected_is_an_error_that_keeps_the_files(tmp_path: Path) -> None:
    english = [record("a-1", ASK, "Go."), record("b-1", "Go.", SAY)]
    with (
        ScriptedServer(Answers({**TABLE, ASK: ASK})) as server,
        pytest.raises(DataError, match=r"1 of 2 records were rejected, more than max_rejected 0\.4"),
    ):
        main(config(tmp_path, server, english, max_rejected=0.4))
    assert [one.id for one in read_records(tmp_path / "out" / "records.jsonl")] == ["b-1"]
    assert [row["id"] for row in rows(tmp_path / "out" / "rejected.jsonl")] == ["a-1"]


def test_a_second_run_asks_for_nothing_and_a_finished_one_is_left(tmp_path: Path) -> None:
    english = [record("a-1", ASK, SAY)]
    with ScriptedServer(Answers(TABLE)) as server:
        main(config(tmp_path, server, english))
        main(config(tmp_path, server, output=tmp_path / "again"))
        assert len(server.asked) == 2
        with pytest.raises(RunFolderError, match="exists"):
            main(config(tmp_path, server))
        with pytest.raises(AlreadyDone):
            main(config(tmp_path, server, if_exists="resume", concurrency=2))
        with pytest.raises(RunFolderError, match="language"):
            main(config(tmp_path, server, if_exists="resume", language="fr"))
    for name in ("records.jsonl", "hub.jsonl"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_batch_files_are_written_answered_and_read_to_the_end(tmp_path: Path) -> None:
    """Each round of answers lets the command go on, also to ask again for what was rejected."""
    answers = {ASK: [ULIZA], SAY: ["Ni umbali wa km 6.", SEMA]}
    again = config(tmp_path, None, [record("a-1", ASK, SAY)], batch="files", batch_dir=tmp_path / "batch")
    reply = Answers(in_turn(answers))
    for waiting in (2, 1):
        with pytest.raises(AnswersMissing, match=f"{waiting} requests? "):
            main(again)
        assert not (tmp_path / "out").exists()
        requests = [row for path in sorted((tmp_path / "batch").glob("*.requests.jsonl")) for row in rows(path)]
        results = [
            {
                "custom_id": row["custom_id"],
                "response": {"status_code": 200, "body": reply.completion(row["body"])},
                "error": None,
            }
            for row in reversed(requests[-waiting:])
        ]
        (tmp_path / "batch" / f"results-{waiting}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in results))
    main(again)
    (only,) = read_records(tmp_path / "out" / "records.jsonl")
    assert (only.instruction, only.response) == (ULIZA, SEMA)


def test_rows_for_the_hub_go_back_through_convert(tmp_path: Path) -> None:
    english = [
        record("a-1", ASK, SAY),
        record("a-2", ASK, "Go.", feedback=None, score=None, reference_answer=None, reference_language=None),
    ]
    with ScriptedServer(Answers(TABLE)) as server:
        main(config(tmp_path, server, english))
    first, second = rows(tmp_path / "out" / "hub.jsonl")
    written = read_records(tmp_path / "out" / "records.jsonl")
    assert first["orig_score"] == "2"
    assert first["output"] == "Feedback: It is wrong. [RESULT] 2" or first["output"].endswith("It is wrong. [RESULT] 2")
    assert first["messages"] == [
        *build_messages(written[0], "hercule"),
        {"role": "assistant", "content": first["output"]},
    ]
    assert first["input"] == first["messages"][0]["content"]
    assert (second["output"], second["orig_score"], len(second["messages"])) == (None, None, 1)
    convert(
        ConvertConfig(
            input=str(tmp_path / "out" / "hub.jsonl"),
            format="feedback-collection",
            language="sw",
            output=tmp_path / "back.jsonl",
        )
    )
    assert read_records(tmp_path / "back.jsonl") == written


def test_the_plan_asks_nothing_and_makes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_records(records(10), tmp_path / "records.jsonl")
    options = config(
        tmp_path,
        None,
        plan=True,
        output=None,
        model="gpt-4o-mini",
        language="hi",
        prices=REPO / "configs/data_prep/prices.yaml",
    )
    main(options)
    lines = capsys.readouterr().out.splitlines()
    assert "10 rows; into Hindi (hi) 2 instructions, 10 responses, each text once" in lines[0]
    assert lines[1].startswith("requests: 12; 0 texts have an answer")
    assert "estimated at 4 characters each" in lines[2]
    assert lines[3].startswith("price: about $0.0")
    assert [path.name for path in tmp_path.iterdir()] == ["records.jsonl"]
    with ScriptedServer(Answers(lambda body: hindi_text(source_of(body)))) as server:
        main(config(tmp_path, server, model="gpt-4o-mini", language="hi"))
    capsys.readouterr()
    main(options)
    assert capsys.readouterr().out.splitlines()[1].startswith("requests: 0; 12 texts have an answer")


def test_an_unknown_price_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(config(tmp_path, None, [record("a", ASK, SAY)], plan=True, prices=None))
    assert "price: none known for scripted" in capsys.readouterr().out


def test_half_of_a_character_is_one_line_before_anything_is_asked(tmp_path: Path) -> None:
    """JSON can name it, in a text that is translated or in one that is not; no file can hold it."""
    row = record("a", ASK, SAY).model_dump() | {"feedback": "cut \ud800"}
    (tmp_path / "records.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(DataError, match=r"records.jsonl line 1 cannot be written again .*surrogates"):
        main(config(tmp_path, None))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("english", "changes", "says"),
    [
        ([record("a", ASK, SAY, language="fr")], {}, "line 1: record a is in fr"),
        ([record("a", ASK, SAY), record("b", ASK, SAY), record("a", ASK, "Go.")], {}, "id a occurs more than once"),
        ([record("a", ASK, SAY)], {"language": "xx"}, "language 'xx' is unknown"),
        ([record("a", ASK, SAY)], {"language": "en"}, "that of the source"),
        ([record("a", ASK, SAY)], {"output": None}, "output is not set"),
        (
            [record("a", ASK, SAY)],
            {"store": Path("out/answers"), "output": Path("out")},
            "store out/answers lies in output",
        ),
        ([record("a", ASK, SAY)], {"base_url": "localhost"}, "no address of a server"),
    ],
)
def test_wrong_input_is_one_line_before_anything_is_asked(
    tmp_path: Path, english: list[Any], changes: dict[str, Any], says: str
) -> None:
    with pytest.raises((ConfigError, DataError), match=says):
        main(config(tmp_path, None, english, **changes))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["records.jsonl"]


def test_the_readme_s_swahili_set(tmp_path: Path) -> None:
    """Twenty English records of the quickstart, a third of the first answers bad."""
    english = [one for one in read_records(REPO / "configs/quickstart/data/judge.jsonl") if one.language == "en"][:20]
    table = read_table(REPO / "configs/quickstart/data/swahili.jsonl")
    with ScriptedServer(Answers(table, bad_share=0.3)) as server:
        main(config(tmp_path, server, english, attempts=5))
    written = read_records(tmp_path / "out" / "records.jsonl")
    assert [(one.id, one.instruction, one.response) for one in written] == [
        (one.id, table[one.instruction], table[one.response]) for one in english
    ]
    assert len(server.asked) > 24
