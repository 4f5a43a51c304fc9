"""The store: nothing lost, nothing doubled, one writer, little memory."""

import asyncio
import errno
import json
import os
import tracemalloc
from pathlib import Path

import pytest

from core.answer_store import AnswerStore
from core.errors import StoreError
from core.request import Answer


def answer(number: int, text: str = "पुल की मरम्मत", task: str = "translate", language: str | None = "hi") -> Answer:
    return Answer(f"{number:064x}", task, language, "m", f"{text} {number}", "stop", None, 12, 7)


def append(store: AnswerStore, *answers: Answer) -> None:
    for one in answers:
        store.claim(one.task, one.language)
        store.append(one)
        asyncio.run(store.synced(one.task, one.language))


def open_store(folder: Path) -> AnswerStore:
    return AnswerStore(folder)


def test_answers_come_back_from_the_file_of_their_task_and_language(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    rows = [answer(1), answer(2), answer(3, task="rubric", language=None)]
    append(store, *rows)
    assert [store.get(row.task, row.language, row.key) for row in rows] == rows
    store.close()
    assert sorted(path.name for path in tmp_path.glob("*.jsonl")) == ["rubric.any.jsonl", "translate.hi.jsonl"]
    again = open_store(tmp_path)
    assert [again.get(row.task, row.language, row.key) for row in rows] == rows
    assert again.get("translate", "bn", rows[0].key) is None


def test_appended_answers_are_in_the_file(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    append(store, answer(1))
    assert json.loads((tmp_path / "translate.hi.jsonl").read_text())["text"] == "पुल की मरम्मत 1"
    store.close()


def test_a_cut_last_line_is_dropped_and_the_next_row_stands_on_its_own(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    append(store, answer(1), answer(2))
    store.close()
    path = tmp_path / "translate.hi.jsonl"
    path.write_bytes(path.read_bytes()[:-10])
    store = open_store(tmp_path)
    assert store.get("translate", "hi", answer(2).key) is None
    append(store, answer(3))
    store.close()
    assert [json.loads(line)["key"][-1] for line in path.read_text().splitlines()] == ["1", "3"]


def test_a_broken_line_in_the_middle_is_warned_of_and_the_rest_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = open_store(tmp_path)
    append(store, answer(1), answer(2))
    store.close()
    path = tmp_path / "translate.hi.jsonl"
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + b'{"key": 5\n' + second)
    store = open_store(tmp_path)
    assert store.get("translate", "hi", answer(2).key) == answer(2)
    assert f"the line at byte {len(first)} is no answer" in capsys.readouterr().err


def test_one_run_writes_a_file_and_others_read_it(tmp_path: Path) -> None:
    writer, reader = open_store(tmp_path), open_store(tmp_path)
    append(writer, answer(1))
    assert reader.get("translate", "hi", answer(1).key) == answer(1)
    with pytest.raises(StoreError, match=r"translate.hi.jsonl are being written by another run; wait"):
        reader.claim("translate", "hi")
    reader.claim("translate", "bn")
    append(writer, answer(2))
    writer.close()
    reader.claim("translate", "hi")
    assert reader.get("translate", "hi", answer(2).key) == answer(2)
    reader.close()


def test_a_full_disk_is_one_line_and_leaves_whole_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk takes half of the second row and no more."""
    store = open_store(tmp_path)
    append(store, answer(1))
    real_write = os.write
    full = False

    def write(descriptor: int, data: memoryview) -> int:
        nonlocal full
        if full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        full = True
        return real_write(descriptor, data[: len(data) // 2])

    monkeypatch.setattr("core.answer_store.os.write", write)
    with pytest.raises(StoreError, match=r"translate.hi.jsonl cannot be written \(No space left on device\)"):
        append(store, answer(2))
    monkeypatch.undo()
    append(store, answer(4))
    store.close()
    lines = (tmp_path / "translate.hi.jsonl").read_text().splitlines()
    assert [json.loads(line)["key"][-1] for line in lines] == ["1", "4"]


def test_extend_skips_what_is_there_and_what_comes_twice(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    append(store, answer(1))
    assert store.extend([answer(1), answer(2), answer(2), answer(3)]) == 2
    store.close()
    assert len((tmp_path / "translate.hi.jsonl").read_text().splitlines()) == 3


def test_names_that_are_no_file_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'../up' cannot be part of a file name"):
        open_store(tmp_path).get("../up", None, "0" * 64)


def test_memory_holds_keys_and_no_texts(tmp_path: Path) -> None:
    """20,000 answers of 2 kB are 40 MB on disk; a key with its place takes some 200 bytes, 4 MB in all."""
    row = json.dumps(answer(0, "x" * 1900)._asdict())
    with open(tmp_path / "translate.hi.jsonl", "w", encoding="utf-8") as handle:
        for number in range(20_000):
            handle.write(row.replace("0" * 64, f"{number:064x}") + "\n")
    store = open_store(tmp_path)
    tracemalloc.start()
    assert store.get("translate", "hi", f"{19_999:064x}") is not None
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 8e6


def test_a_line_with_a_key_that_is_no_answer_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    foreign = {**answer(1)._asdict(), "translation": "x"}
    lines = [json.dumps(row) for row in (foreign, {"key": answer(2).key}, answer(3)._asdict())]
    (tmp_path / "translate.hi.jsonl").write_text("".join(f"{line}\n" for line in lines))
    store = open_store(tmp_path)
    assert [store.get("translate", "hi", answer(number).key) for number in (1, 2, 3)] == [None, None, answer(3)]
    assert capsys.readouterr().err.count("is no answer and was left out") == 2
