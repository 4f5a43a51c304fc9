"""Every YAML under configs/ is read by the command that its opening comment names, with the flags given there."""

import importlib
import re
import shlex
import typing
from pathlib import Path

import pytest
from accelerate.commands.config.config_args import load_config_from_file

from core.config import CommandConfig, load_yaml, parse_config
from data_prep.prices import read_prices
from tests.conftest import REPO

CONFIGS = sorted(path.relative_to(REPO).as_posix() for path in (REPO / "configs").rglob("*.yaml"))
LAUNCHERS = [name for name in CONFIGS if name.startswith("configs/accelerate/")] + ["accelerate_config.yaml"]
PRICES = "configs/data_prep/prices.yaml"  # a table that commands read beside their config
TABLES = [
    name for name in CONFIGS if name.startswith("configs/paper/")
]  # tests/eval/test_paper_published.py reads them
COMMANDS = [name for name in CONFIGS if name not in (*LAUNCHERS, PRICES, *TABLES)]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_config_is_read_by_its_command(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPO)
    comment = re.match(r"(?:#.*\n)*", (REPO / name).read_text(encoding="utf-8"))
    command = re.search(r"-m (\w+\.\w+) (--config .*)", comment[0] if comment else "")
    assert command, f"{name} does not open with the command that reads it"
    module, argv = command[1], shlex.split(command[2])
    assert argv[1] == name
    if module == "train.sft":
        importlib.import_module("train.arguments").parse_arguments(argv)
    else:
        main = importlib.import_module(module).main
        (config_class,) = (kind for kind in typing.get_type_hints(main).values() if kind is not type(None))
        assert isinstance(parse_config(config_class, argv), CommandConfig)


@pytest.mark.parametrize("name", LAUNCHERS)
def test_a_launcher_config_is_read_by_accelerate(name: str) -> None:
    config = load_config_from_file(str(REPO / name))
    assert config.to_dict().items() >= {key: value for key, value in load_yaml(REPO / name).items() if value}.items()


def test_every_price_has_a_date_and_can_be_reckoned_with() -> None:
    prices = read_prices(REPO / PRICES)
    # 2 million tokens of prompt at $2.50 and 1 million of answers at $10 are $15, half of that in batches.
    assert prices["gpt-4o-2024-08-06"].cost(2_000_000, 1_000_000) == 15.0
    assert prices["gpt-4o-2024-08-06"].cost(2_000_000, 1_000_000, batch=True) == 7.5


def test_no_config_names_a_machine() -> None:
    private = re.compile(r"(?:^|[\s\"'=])(/home/|/root/|/Users/|/work/|/tmp/)")
    named = [name for name in [*CONFIGS, "accelerate_config.yaml"] if private.search((REPO / name).read_text("utf-8"))]
    assert named == []


def test_there_are_configs_for_every_kind_of_run() -> None:
    assert {Path(name).parts[1] for name in CONFIGS} >= {
        "accelerate",
        "data_prep",
        "train",
        "merge",
        "eval",
        "quickstart",
    }
