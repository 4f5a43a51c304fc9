"""What the model learns from: verdict and stop token, whole, for every record that fits; the rest is counted."""

import unicodedata
from pathlib import Path
from typing import Any

import pytest
from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

from core.chat import encode_prompt, stop_token_id
from core.errors import DataError
from core.length import VERDICT_TOKENS, fit
from core.prompt import build_messages
from core.prompt_spec import PromptSpec
from core.records import JudgeRecord, write_records
from tests import pico
from tests.core.records_for_tests import record
from train.arguments import DataArguments
from train.dataset import MASKED, encode, encode_sets, read_sets, show_example

SPEC = PromptSpec()
GOOD = record(feedback="good feedback.", score=4)
# An instruction is never shortened, so this one can only be refused.
LONG = record(id="long", item_id="long", instruction="colour " * 900, feedback="good feedback.")


def supervised(labels: list[int]) -> list[int]:
    return [label for label in labels if label != MASKED]


@pytest.mark.parametrize(
    "template", [pico.CHAT_TEMPLATE, pico.NO_SYSTEM_TEMPLATE]
)  # without generation markers: case 4
def test_the_labels_are_the_verdict_and_its_stop_token_alone(template: str) -> None:  # cases 3, 5 and 8
    tok = pico.tokenizer(template)
    row = encode([GOOD], tok, SPEC, "training").dataset[0]
    prompt = encode_prompt(tok, build_messages(GOOD))
    assert tok.decode(supervised(row["labels"])) == "good feedback. [RESULT] 4<end>"
    assert row["labels"][: len(prompt)] == [MASKED] * len(prompt)
    assert row["input_ids"][: len(prompt)] == prompt
    assert row["input_ids"].count(tok.bos_token_id) == 1
    assert supervised(row["labels"]) == row["input_ids"][len(prompt) :]


def test_no_example_loses_its_score_at_max_length() -> None:  # case 1
    tok = pico.tokenizer()
    tight = GOOD.model_copy(update={"response": "red", "reference_answer": "red"})
    prompt = len(encode_prompt(tok, build_messages(tight)))
    # Reference and response are too short to give way: one token less than the prompt needs, and the record is refused.
    kept = encode([tight], tok, SPEC._replace(max_length=prompt + VERDICT_TOKENS), "training")
    assert tok.decode(supervised(kept.dataset[0]["labels"])) == "good feedback. [RESULT] 4<end>"
    with pytest.raises(DataError, match=rf"max_length {prompt + VERDICT_TOKENS - 1}.*; raise max_length"):
        encode([tight], tok, SPEC._replace(max_length=prompt + VERDICT_TOKENS - 1), "training")


def test_refused_records_are_counted_by_language_and_named(capsys: pytest.CaptureFixture[str]) -> None:  # case 2
    french = GOOD.model_copy(update={"id": "fr", "language": "fr"})
    records = [GOOD, LONG, french, GOOD.model_copy(update={"id": "third"})]
    encoded, _ = encode_sets(records, [], pico.tokenizer(), SPEC)
    assert len(encoded.dataset) == 3
    assert encoded.counts == {
        "fr": {"examples": 1, "shortened": 0, "refused": 0},
        "hi": {"examples": 2, "shortened": 0, "refused": 1},
    }
    assert list(encoded.refused) == ["long"]
    assert "training hi: 2 examples, 0 shortened, 1 refused" in capsys.readouterr().out


def test_a_validation_record_that_does_not_fit_stops_the_run() -> None:  # case 2: no silent drop from a held-out set
    with pytest.raises(
        DataError, match=r"1 validation records are refused \(long: prompt of \d+ tokens, budget 3584\)"
    ):
        encode_sets([GOOD], [GOOD, LONG], pico.tokenizer(), SPEC)


def test_a_language_that_hardly_fits_stops_the_run() -> None:  # case 2
    french = GOOD.model_copy(update={"id": "fr", "language": "fr"})
    long_french = LONG.model_copy(update={"id": "long-fr", "language": "fr"})
    encode_sets([GOOD, french, long_french], [], pico.tokenizer(), SPEC, max_refused=0.5)
    with pytest.raises(
        DataError, match=r"1 training records in fr are refused .*50% of them and more than max_refused"
    ):
        encode_sets([GOOD, french, long_french], [], pico.tokenizer(), SPEC, max_refused=0.4)


def test_the_score_sentence_is_not_learned_where_it_is_stripped() -> None:
    tok = pico.tokenizer()
    says = GOOD.model_copy(update={"id": "says", "feedback": "good feedback. So the overall score is 4."})
    nothing_else = GOOD.model_copy(update={"id": "only", "feedback": "So the overall score is 4."})
    encoded = encode([says, GOOD, nothing_else], tok, SPEC, "training", strip_score=True)
    learned = [tok.decode(supervised(row["labels"])) for row in encoded.dataset]
    assert learned == ["good feedback. [RESULT] 4<end>"] * 2
    assert encoded.counts["hi"] == {"examples": 2, "shortened": 0, "refused": 1, "stripped": 1, "nothing to strip": 1}
    assert encoded.refused == {"only": "its feedback says the score and nothing else"}
    as_the_paper = encode([says], tok, SPEC, "training")
    assert "score is 4. [RESULT] 4<end>" in tok.decode(supervised(as_the_paper.dataset[0]["labels"]))
    assert list(as_the_paper.counts["hi"]) == ["examples", "shortened", "refused"]


def test_a_verdict_beyond_its_512_tokens_is_refused() -> None:
    tok = pico.tokenizer()
    wordy = GOOD.model_copy(update={"id": "wordy", "feedback": "good feedback. " * 300})
    assert list(encode([GOOD, wordy], tok, SPEC, "training").refused) == ["wordy"]


def test_a_long_response_is_shortened_as_in_judging_and_the_verdict_stays_whole() -> None:
    tok = pico.tokenizer()
    spec = SPEC._replace(max_length=2048)
    long_response = GOOD.model_copy(update={"response": "red blue green. " * 400})
    encoded = encode([long_response], tok, spec, "training")
    row = encoded.dataset[0]
    fitted = fit(long_response, tok, spec.max_length)
    assert encoded.counts["hi"]["shortened"] == 1
    assert fitted.prompt is not None
    assert row["input_ids"][: len(fitted.prompt)] == fitted.prompt
    assert tok.decode(supervised(row["labels"])) == "good feedback. [RESULT] 4<end>"
    assert len(row["input_ids"]) <= spec.max_length


@pytest.mark.parametrize("pad", ["<pad>", "</s>", "<end>"])
def test_the_stop_token_is_learned_whatever_the_pad_token(pad: str) -> None:  # case 6
    tok = pico.tokenizer()
    tok.pad_token = pad
    shorter = GOOD.model_copy(update={"id": "short", "response": "red"})
    dataset = encode([GOOD, shorter], tok, SPEC, "training").dataset
    batch = DataCollatorForLanguageModeling(tok.pad_token_id)(list(dataset))
    stop = stop_token_id(tok)
    assert batch["attention_mask"].sum(1).tolist() == [len(row["input_ids"]) for row in dataset]
    for labels in batch["labels"].tolist():
        assert supervised(labels)[-1] == stop
        assert supervised(labels).count(stop) == 1


def test_the_first_example_is_shown_with_its_learned_part_apart(capsys: pytest.CaptureFixture[str]) -> None:
    tok = pico.tokenizer()
    show_example(encode([GOOD], tok, SPEC, "training").dataset, tok)
    shown, learned = capsys.readouterr().out.split("learned (")
    assert shown.rstrip().endswith("<assistant>")
    assert learned.endswith("tokens):\ngood feedback. [RESULT] 4<end>\n\n")


@pytest.mark.parametrize(
    ("changes", "data", "message"),
    [
        ({"feedback": None}, {}, r"train.jsonl: 1 records \(q1-hi-s4\) have no feedback"),
        ({"score": None}, {}, "1 records .* have no score"),
        ({"reference_answer": None}, {}, "have no reference_answer; add it, .* --reference none"),
        ({"feedback": "As in [RESULT] 2 it is fair."}, {}, "reads as another verdict"),
        ({}, {"language": ["fr", "bn"]}, "has no record in fr, bn; its languages are hi"),
        ({}, {"validation_file": ["train.jsonl"]}, r"train_file and validation_file share 1 item ids \(q1\)"),
        ({}, {"test_file": ["train.jsonl"]}, r"train_file and test_file share 1 item ids \(q1\)"),
        ({}, {"train_file": ["train.jsonl", "train.jsonl"]}, "1 ids occur more than once"),
        ({}, {"train_file": ["absent.jsonl"]}, "absent.jsonl cannot be read"),
    ],
)
def test_records_that_cannot_be_learned_from_stop_the_run(
    changes: dict[str, Any], data: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_records([GOOD.model_copy(update=changes)], "train.jsonl")
    with pytest.raises(DataError, match=message):
        read_sets(DataArguments(**{"train_file": ["train.jsonl"], **data}), SPEC)


@pytest.mark.parametrize("other", ["validation_file", "test_file"])
def test_an_instruction_in_another_normal_form_is_the_same(other: str, tmp_path: Path) -> None:
    names = {"train_file": "café", other: "café"}
    files = {}
    for name, text in names.items():
        form = "NFC" if name == "train_file" else "NFD"
        one = GOOD.model_copy(update={"id": name, "item_id": name, "instruction": unicodedata.normalize(form, text)})
        write_records([one], tmp_path / f"{name}.jsonl")
        files[name] = [str(tmp_path / f"{name}.jsonl")]
    with pytest.raises(DataError, match=f"train_file and {other} share 1 instructions"):
        read_sets(DataArguments(**files), SPEC)
    read_sets(DataArguments(**files, allow_overlap=True), SPEC)


def test_test_records_need_neither_feedback_nor_a_language_asked_for(tmp_path: Path) -> None:
    test = record(id="t", item_id="t", instruction="Another.", language="fr")
    write_records([GOOD], tmp_path / "train.jsonl")
    write_records([test], tmp_path / "test.jsonl")
    files = {"train_file": [str(tmp_path / "train.jsonl")], "test_file": [str(tmp_path / "test.jsonl")]}
    assert read_sets(DataArguments(**files, language=["hi"]), SPEC) == ([GOOD], [])


def test_only_the_languages_asked_for_are_kept(tmp_path: Path) -> None:
    others: list[JudgeRecord] = [GOOD.model_copy(update={"id": code, "language": code}) for code in ("fr", "en")]
    write_records([GOOD, *others], tmp_path / "train.jsonl")
    train, validation = read_sets(DataArguments([str(tmp_path / "train.jsonl")], language=["en", "hi"]), SPEC)
    assert [row.language for row in train] == ["hi", "en"]
    assert validation == []
