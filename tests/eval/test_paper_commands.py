"""The commands that the paper's tables print: each parses, each is one that train/README.md gives, each makes what the next reads."""

import importlib
import re
import shlex
import typing

import pytest

from core.config import CommandConfig, parse_config
from eval.paper.spec import LANGUAGE, PaperRow, PaperTable, read_paper, shell
from tests.conftest import REPO
from train.arguments import Arguments, parse_arguments

PAPER = read_paper(REPO / "configs/paper/cia")
ROWS = [(f"{number} {row.label}", table, row) for number, table in PAPER.tables.items() for row in table.rows]
TRAIN = "accelerate launch --config_file accelerate_config.yaml -m train.sft --config"
HERCULE = "configs/train/hercule-llama-3.1-8b.yaml"


@pytest.fixture(autouse=True)
def _in_the_repo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPO)


def parsed(command: str, language: str = "hi") -> tuple[str, CommandConfig | Arguments]:
    """The module that a command line runs, and the config that it reads."""
    words = shlex.split(command.replace(LANGUAGE, language).replace("$URL", "http://localhost:8000/v1"))
    at = words.index("-m")
    module, argv = words[at + 1], words[at + 2 :]
    if module == "train.sft":
        return module, parse_arguments([*argv, "--if_exists", "resume"])
    main = importlib.import_module(module).main
    (kind,) = (kind for kind in typing.get_type_hints(main).values() if kind is not type(None))
    return module, parse_config(kind, [*argv, "--if_exists", "resume"])


def readme_commands() -> set[str]:
    """The commands in the table of runs, written out, with {language} for what a row is repeated over."""
    text = (REPO / "train/README.md").read_text(encoding="utf-8")
    table = text[text.index("**Table of runs.**") :].split("\n\n")[1]
    found = re.findall(r"`([^`]*)`", table)
    whole = [one.replace("$T", TRAIN).replace("$H", HERCULE).replace("$l", LANGUAGE).replace("'", "") for one in found]
    return {" ".join(one.split()) for one in whole}


@pytest.mark.parametrize(("name", "table", "row"), ROWS, ids=[name for name, _, _ in ROWS])
def test_a_rows_commands_make_what_the_next_reads(name: str, table: PaperTable, row: PaperRow) -> None:
    language = table.columns_of(row)[0]
    made = {}
    for command in [*table.data, *table.commands(row)]:
        module, config = parsed(command, language)
        assert "{" not in command.replace(LANGUAGE, "")
        if isinstance(config, Arguments):
            made["model"] = config.training.output_dir
        elif module == "merge.run":
            made["model"] = str(config.output_dir)  # type: ignore[attr-defined]
        elif module == "eval.judge":
            judge = typing.cast(typing.Any, config)
            assert judge.model_name_or_path == made.get("model", row.model)
            assert judge.judge == (row.judge or "").replace(LANGUAGE, language)
            made |= {"predictions": judge.output / "predictions.jsonl", "records": judge.input}
        elif module == "eval.agree":
            agree = typing.cast(typing.Any, config)
            assert (agree.predictions, agree.records) == ([made["predictions"]], [made["records"]])
    assert ("records" in made) == (row.judge is not None)


def test_trainings_and_merges_are_those_of_the_readme() -> None:
    ours = {line for _, _, row in ROWS for line in row.make if not line.startswith("python -m data_prep")}
    assert len(ours) >= 16

    # One language here may be any there, and the other way round: table 3 has rows for "the judges of table 1".
    def general(lines: set[str]) -> set[str]:
        one = r"--language (?:bn|de|fr|hi|te|ur)(?= --|$)"
        return {re.sub(one, f"--language {LANGUAGE}", line) for line in lines}

    assert general(ours) - general(readme_commands()) == set()


def test_the_figures_command_counts_every_tokenizer_that_it_shows() -> None:
    assert PAPER.figure is not None
    _, config = parsed(PAPER.figure.command)
    assert set(PAPER.figure.tokenizers.values()) == set(config.tokenizers)  # type: ignore[union-attr]
    for command in PAPER.figure.data:
        parsed(command)


def test_shell_lines_loop_over_what_is_missing_and_pass_over_what_is_done() -> None:
    commands = ["train all", "judge {language} to {language}", "agree {language}"]
    assert shell(commands, ["bn", "hi"]) == [
        "train all --if_exists resume",
        "for l in bn hi; do",
        "  judge $l to $l --if_exists resume",
        "  agree $l --if_exists resume",
        "done",
    ]
    assert shell(commands[1:], ["fr"]) == ["judge fr to fr --if_exists resume", "agree fr --if_exists resume"]
