"""Tokens: fertility and prompt lengths worked by hand on a tokenizer that makes one token of a byte; the command's files."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from core.config import exit_status, parse_config
from core.length import VERDICT_TOKENS
from core.prompt import build_messages
from core.prompt_spec import PromptSpec
from core.records import JudgeRecord, write_records
from data_prep.convert import main as convert
from data_prep.fertility import Text, fertility, ratio
from data_prep.options import ConvertConfig, ParallelConfig
from data_prep.parallel import main as parallel
from data_prep.prompt_lengths import prompt_lengths
from data_prep.tokens import TokensConfig, main
from tests.core.records_for_tests import record
from tests.data_prep.tables_for_tests import write_jsonl
from tests.pico import CHAT_TEMPLATE, SPECIAL


def byte_tokenizer(chat_template: str | None = CHAT_TEMPLATE) -> Any:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate([*SPECIAL, *alphabet])}
    bytes_alone = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    bytes_alone.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    names = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bytes_alone, **names)
    tokenizer.add_special_tokens({"additional_special_tokens": SPECIAL[4:]})
    tokenizer.chat_template = chat_template
    tokenizer.name_or_path = "bytes"
    return tokenizer


def test_fertility_by_hand() -> None:
    # "ab cd": 5 bytes, 2 words, 5 characters; "é": 2 bytes, 1 word, 1 character.
    found = fertility([Text("ab cd", "a"), Text("é", "b")], "fr", byte_tokenizer())
    assert found.tokens_per_word.value == pytest.approx(7 / 3)
    assert found.tokens_per_character.value == pytest.approx(7 / 6)
    assert (found.texts, found.tokens_per_word.n) == (2, 2)
    # Two clusters resample to a+a (5/2), a+b or b+a (7/3), b+b (2/1); each end has a quarter of the draws.
    assert (found.tokens_per_word.low, found.tokens_per_word.high) == (2.0, 2.5)
    assert (found.tokens_per_character.low, found.tokens_per_character.high) == (1.0, 2.0)


def test_texts_of_one_item_are_resampled_together() -> None:
    # One item alone leaves nothing to resample.
    found = fertility([Text("ab", "a"), Text("é", "a")], "fr", byte_tokenizer())
    assert (found.tokens_per_word.value, found.tokens_per_word.low) == (2.0, None)


@pytest.mark.parametrize("code", ["ja", "zh"])
def test_scripts_without_spaces_have_no_words(code: str) -> None:
    found = fertility([Text("日本", "a"), Text("中国語", "b")], code, byte_tokenizer())
    assert found.tokens_per_word.value is None
    assert "written without spaces" in (found.tokens_per_word.reason or "")
    assert found.tokens_per_character.value == 3.0  # three bytes each in UTF-8


def test_empty_texts_have_no_ratio_and_no_nan() -> None:
    assert fertility([Text("", "a")], "fr", byte_tokenizer()).tokens_per_word.reason == "nothing to count"
    # Draws of the empty cluster alone have no ratio and are left out of the interval: all others are 2/1.
    figure = ratio(np.array([2.0, 0.0]), np.array([1.0, 0.0]), 200, 0)
    assert (figure.value, figure.low, figure.high) == (2.0, 2.0, 2.0)


def prompt_bytes(shown: JudgeRecord) -> int:
    """What the template adds to the texts: BOS, a role, <end> and a line break a message, and <assistant>."""
    messages = build_messages(shown)
    return 2 + sum(3 + len(message["content"].encode()) for message in messages)


def test_prompt_lengths_by_hand() -> None:
    records = [record(id=str(n), response="x" * n, reference_answer="r") for n in (0, 10, 20, 2000)]
    shortest = prompt_bytes(records[0])
    spec = PromptSpec(max_length=shortest + 1000 + VERDICT_TOKENS)
    found = prompt_lengths(records, byte_tokenizer(), spec, [shortest, shortest + 10, shortest + 20])
    assert found.n == 4
    assert found.quantiles[0.5] == shortest + 10  # the second of four
    assert (found.quantiles[0.05], found.quantiles[1.0]) == (shortest, shortest + 2000)
    assert found.over == {shortest: 0.75, shortest + 10: 0.5, shortest + 20: 0.25}
    # Only the last is over the budget of shortest + 1000; its response can go down to 256 tokens.
    assert (found.shortened, found.refused) == (["2000"], [])


def test_a_prompt_that_cannot_be_shortened_enough_is_refused() -> None:
    long_instruction = record(id="long", instruction="x" * 3000)
    spec = PromptSpec(max_length=prompt_bytes(record()) + VERDICT_TOKENS)
    found = prompt_lengths([record(id="fits"), long_instruction], byte_tokenizer(), spec, [])
    assert (found.shortened, found.refused) == ([], ["long"])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    byte_tokenizer(None).save_pretrained("bytes")
    rows = [
        record(id=f"{code}{n}", item_id=f"i{n}", language=code, instruction=text)
        for n in range(3)
        for code, text in (("fr", "é" * (n + 1)), ("ja", "日本"))
    ]
    write_records(rows, "records.jsonl")
    sentences = [{"id": str(n), "document_id": "d", "en": "ab cd", "fr": "é"} for n in range(2)]
    write_jsonl(tmp_path / "parallel.jsonl", *sentences)
    return tmp_path


def run(*flags: str) -> int:
    given = ["--tokenizers", "bytes", "--output", "out", *flags]
    return exit_status(lambda: main(parse_config(TokensConfig, given)))


BOTH = ("--records", "records.jsonl", "--parallel", "parallel.jsonl", "--chat_template", "plain")


def test_the_command_writes_table_and_plot(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*BOTH, "--max_length", "2048", "--limits", "800", "1024") == 0
    out = folder / "out"
    assert {path.name for path in out.iterdir()} == {
        "manifest.json",
        "tokens.json",
        "tokens.csv",
        "tokens.svg",
        "tokens.png",
    }
    written = json.loads((out / "tokens.json").read_text(encoding="utf-8"))
    assert written["policy"] == {"max_length": 2048, "budget": 1536}
    rows = {(row["source"], row["language"]): row for row in written["rows"]}
    assert set(rows) == {("parallel", "en"), ("parallel", "fr"), ("records", "fr"), ("records", "ja")}
    assert rows["parallel", "en"]["tokens_per_word"]["value"] == 2.5
    assert rows["parallel", "fr"]["prompts"] is None
    assert rows["records", "ja"]["tokens_per_word"]["value"] is None
    assert rows["records", "fr"]["prompts"]["share_over"] == {"800": 1.0, "1024": 0.0}
    with open(out / "tokens.csv", encoding="utf-8", newline="") as handle:
        flat = list(csv.DictReader(handle))
    assert [row["tokens_per_character"] for row in flat[:2]] == ["1.0", "2.0"]
    assert [row["shortened"] for row in flat] == ["", "", "0", "0"]
    svg = (out / "tokens.svg").read_text(encoding="utf-8")
    assert "<svg" in svg
    assert str(folder) not in svg
    printed = capsys.readouterr().out
    assert "ja: written without spaces between words" in printed
    assert "Shortened and refused: prompts over 2048 − 512 tokens." in printed


def test_a_draw_of_records_and_one_language(folder: Path) -> None:
    assert run(*BOTH[:2], "--chat_template", "plain", "--language", "fr", "--max_samples", "2") == 0
    (row,) = json.loads((folder / "out" / "tokens.json").read_text(encoding="utf-8"))["rows"]
    assert (row["language"], row["texts"], row["prompts"]["n"]) == ("fr", 4, 2)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ((), "no texts; name records.jsonl files with --records"),
        (BOTH[:2], "has no chat template; choose one by name"),
        ((*BOTH, "--language", "te"), "no texts in te; the files hold other languages"),
        ((*BOTH, "--language", "xx"), "language 'xx' is unknown"),
        ((*BOTH, "--template", "mine"), "template 'mine' is unknown"),
        ((*BOTH, "--tokenizers", "absent/folder/x"), "no tokenizer in absent/folder/x"),
        ((*BOTH, "--tokenizers", "bytes", "bytes"), "two tokenizers would both be shown as bytes"),
        ((*BOTH, "--records", "absent.jsonl"), "absent.jsonl cannot be read"),
    ],
)
def test_wrong_input_is_one_line_and_writes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], flags: tuple[str, ...], message: str
) -> None:
    assert run(*flags) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1
    assert not (folder / "out").exists()


@pytest.mark.real
def test_real_texts_with_the_embedded_tokenizer(
    shared_data: Path, embedded_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source, spanish = str(shared_data / "ntrex_15.jsonl"), str(shared_data / "recon_es.jsonl")
    documents: dict[str, Any] = {"document_id": "doc"}
    parallel(ParallelConfig(input=source, format="columns", output=Path("parallel.jsonl"), columns=documents))
    columns: dict[str, Any] = {"language": "lang"}
    convert(ConvertConfig(input=spanish, format="columns", output=Path("es.jsonl"), columns=columns))
    inputs = ["--parallel", "parallel.jsonl", "--records", "es.jsonl", "--chat_template", "gemma"]
    given = ["--tokenizers", str(embedded_model), *inputs, "--resamples", "200", "--output", "out"]
    assert exit_status(lambda: main(parse_config(TokensConfig, given))) == 0
    rows = json.loads(Path("out/tokens.json").read_text(encoding="utf-8"))["rows"]
    words = {row["language"]: row["tokens_per_word"] for row in rows if row["source"] == "parallel"}
    values = {code: figure["value"] and round(figure["value"], 2) for code, figure in words.items()}
    known = "ar 2.07, bn 1.65, de 1.65, en 1.26, es 1.35, fr 1.53, he 2.67, hi 1.37, te 2.76, tr 2.1, uk 2.33, ur 1.46, yo 3.82"
    assert ", ".join(f"{code} {value}" for code, value in values.items() if value) == known
    assert [code for code, value in values.items() if value is None] == ["ja", "zh"]
    assert words["en"]["n"] == 63
    (judged,) = [row["prompts"] for row in rows if row["source"] == "records"]
    assert (judged["n"], judged["quantiles"]["0.5"], judged["quantiles"]["1"]) == (296, 919, 2285)
    assert round(judged["share_over"]["1024"], 3) == 0.345
    assert (judged["shortened"], judged["refused"]) == (0, 0)
