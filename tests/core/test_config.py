"""Configs: YAML and flags give the same model, and a fault is one line that names the field and its mending."""

import errno
from pathlib import Path
from typing import Literal

import pytest
from pydantic import Field

from core.config import CommandConfig, exit_status, parse_config
from core.errors import AlreadyDone, ConfigError, DataError, Interrupted


class Sample(CommandConfig):
    input: str
    language: str | list[str] | None = None
    learning_rate: float = Field(1e-5, gt=0, description="100 % yours")
    strengths: list[float] = Field([0.0])
    shuffle: bool = True
    method: Literal["vector", "map"] = "vector"
    weights: dict[str, float] = Field({})
    output_dir: str = "out"
    records: Path | None = None


def parse(tmp_path: Path, yaml: str | None, *flags: str) -> Sample:
    words = list(flags)
    if yaml is not None:
        (tmp_path / "c.yaml").write_text(yaml, encoding="utf-8")
        words = ["--config", str(tmp_path / "c.yaml"), *words]
    return parse_config(Sample, words)


def test_flags_win_over_yaml_and_keep_their_types(tmp_path: Path) -> None:
    yaml = "input: a\nlearning_rate: 2e-5\nlanguage: hi\nweights: {hi: 1}\n"
    flags = ["--language", "no", "--strengths", "-0.2", "0", "0.2", "--shuffle", "false", "--weights", "{fr: 2}"]
    config = parse(tmp_path, yaml, *flags)
    assert config == Sample(
        input="a", learning_rate=2e-5, language="no", strengths=[-0.2, 0, 0.2], shuffle=False, weights={"fr": 2}
    )
    assert parse(tmp_path, yaml).language == "hi"
    assert parse(tmp_path, None, "--input=7", "--language", "null") == Sample(input="7")


@pytest.mark.parametrize(
    ("yaml", "flags", "says"),
    [
        ("input: a\nlerning_rate: 1\n", (), r"field lerning_rate is unknown; did you mean learning_rate\?"),
        ("input: a\n", ("--langage", "hi"), r"flag --langage is unknown; did you mean language\?"),
        ("input: a\nlanguage: no\n", (), r'language is False.*quote it: language: "no"'),
        ("learning_rate: 1\n", (), "input: Field required; set input in the config or pass --input"),
        ("input: a\n", ("--learning_rate", "fast"), r"learning_rate: .*valid number.*\(got 'fast'\)"),
        ("input: a\n", ("--learning_rate", "-1"), "learning_rate: Input should be greater than 0"),
        ("input: a\n", ("--method", "sum"), "method: Input should be 'vector' or 'map'"),
        ("input: a\nweights: {hi: .nan}\n", (), "weights.hi: Input should be a finite number"),
        ("input: a\n", ("--strengths", "0", ".inf"), "strengths.1: Input should be a finite number"),
        ("input: [a\n", (), "c.yaml line 2 is not YAML"),
        ("- a\n", (), "holds a list"),
        ("input: a\n1: b\n", (), "field 1 is unknown"),
        ("input: a\n", ("stray",), "unrecognized arguments: stray"),
        ("input: a\n", ("--weights", "{hi: 1"), "flag --weights: '{hi: 1' is not YAML"),
        ("input: a\nlanguage: [no, hi]\n", (), 'quote it: language: "no"'),
        ("input: a\n", ("--weights", "{hi: 1, hi: 2}"), "'{hi: 1, hi: 2}' is not YAML .hi is set twice"),
        ("input: a\nshuffle: true\ninput: b\n", (), "c.yaml line 3 is not YAML .input is set twice"),
        ("input: a\nweights: {hi: 1, fr: 2, hi: 3}\n", (), "c.yaml line 2 is not YAML .hi is set twice"),
        ("input: a\n", ("--output_dir", ""), "output_dir is empty; name a file or folder"),
        ("input: a\nrecords: ''\n", (), "records is empty; name a file or folder"),
    ],
)
def test_faults_are_one_line(tmp_path: Path, yaml: str, flags: tuple[str, ...], says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        parse(tmp_path, yaml, *flags)
    assert "\n" not in str(caught.value)


def test_a_missing_config_file() -> None:
    with pytest.raises(ConfigError, match=r"config file absent\.yaml cannot be read"):
        parse_config(Sample, ["--config", "absent.yaml"])


def test_exit_status(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(error: BaseException) -> int:
        def command() -> None:
            raise error

        return exit_status(command)

    assert exit_status(lambda: None) == 0
    assert fails(DataError("x is\nwrong")) == 2
    assert capsys.readouterr().err == "error: x is wrong\n"
    assert fails(AlreadyDone("done before")) == 0
    assert capsys.readouterr().out == "done before\n"
    with pytest.raises(ZeroDivisionError):
        fails(ZeroDivisionError())
    assert fails(KeyboardInterrupt()) == 130
    assert "--if_exists resume" in capsys.readouterr().err
    assert fails(Interrupted("stopped")) == 143  # 128 + SIGTERM, what a process that SIGTERM ends gives
    assert capsys.readouterr().err == "stopped\n"
    assert fails(OSError(errno.ENOSPC, "No space left on device", "runs/a")) == 1
    assert capsys.readouterr().err == (
        "error: no space left to write runs/a (No space left on device); free some and go on with --if_exists resume\n"
    )
    assert exit_status(lambda: Path("x" * 300).mkdir()) == 2
    assert capsys.readouterr().err == f"error: {'x' * 300}: File name too long; give a shorter name\n"
    with pytest.raises(PermissionError):
        fails(PermissionError(errno.EACCES, "denied"))
    monkeypatch.setenv("RANK", "1")
    assert fails(DataError("x")) == 2
    assert capsys.readouterr().err == ""
