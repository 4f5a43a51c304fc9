"""JSON Lines survive crashes: whole files appear whole, appended rows end with a newline, a cut last line is passed over."""

from pathlib import Path

import pytest

from core.errors import DataError
from core.jsonl import Appender, atomic, read_jsonl, write_json, write_jsonl


def test_rows_are_utf8_and_come_back(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    rows = [{"text": "हाँ\u2028\u0085 é"}, {"text": "ש"}]
    write_jsonl(rows, path)
    assert "हाँ" in path.read_text(encoding="utf-8")
    assert [row for _, row in read_jsonl(path)] == rows


def test_a_cut_last_line_is_left_out_and_a_cut_line_before_it_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 1}\n{"id": 2', encoding="utf-8")
    assert [row for _, row in read_jsonl(path)] == [{"id": 1}]
    assert "line 2 is cut off" in capsys.readouterr().err
    path.write_text('{"id": 1\n{"id": 2}\n', encoding="utf-8")
    with pytest.raises(DataError, match="line 1 is not JSON"):
        list(read_jsonl(path))


def test_a_line_nested_too_deep_for_the_parser_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 1}\n{"id": ' + "[" * 100_000 + "]" * 100_000 + "}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.jsonl line 2 is nested too deep"):
        list(read_jsonl(path))


def test_a_last_line_cut_inside_a_character_is_left_out_too(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    whole = '{"id": "क"}\n'.encode()
    path.write_bytes(whole + '{"id": "क'.encode()[:-1])
    assert [row for _, row in read_jsonl(path)] == [{"id": "क"}]


def test_appending_goes_on_after_a_cut_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 1}\n{"id": 2', encoding="utf-8")
    with Appender(path) as out:
        out.write({"id": 3})
    assert path.read_text(encoding="utf-8") == '{"id": 1}\n{"id": 3}\n'


def test_rows_that_come_together_wait_for_the_disk_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[str] = []
    monkeypatch.setattr("os.fsync", lambda _: waits.append((tmp_path / "rows.jsonl").read_text("utf-8")))
    with Appender(tmp_path / "rows.jsonl") as out:
        out.write_all({"id": number} for number in range(3))
        out.write({"id": 3})
    three = '{"id": 0}\n{"id": 1}\n{"id": 2}\n'
    assert waits == [three, three + '{"id": 3}\n']


def test_a_file_is_whole_or_absent(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with pytest.raises(ZeroDivisionError), atomic(path) as handle:
        handle.write(str(1 / 0))
    assert list(tmp_path.iterdir()) == []


def test_no_nan_in_json(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json({"kappa": float("nan")}, tmp_path / "m.json")
    assert list(tmp_path.iterdir()) == []


def test_other_faults_name_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("[1]\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 1 holds list"):
        list(read_jsonl(path))
    path.write_bytes(b'{"id": "caf\xe9"}\n{"id": 2}\n')
    with pytest.raises(DataError, match="is not UTF-8"):
        list(read_jsonl(path))
