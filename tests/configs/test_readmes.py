"""What a README names exists: modules that run, files and folders it links to, make targets, config files."""

import importlib.util
import re

import pytest

from tests.conftest import REPO

READMES = [
    "README.md",
    *(f"{package}/README.md" for package in ("core", "data_prep", "train", "merge", "eval", "eval/steering")),
]


@pytest.mark.parametrize("name", READMES)
def test_what_a_readme_names_exists(name: str) -> None:
    path = REPO / name
    text = path.read_text(encoding="utf-8")
    modules = set(re.findall(r"-m ((?:core|data_prep|train|eval|merge|tests)(?:\.\w+)+)", text))
    targets = set(re.findall(r"(?m)(?:^|`)make ([a-z][a-z-]*)", text))
    links = {link for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text) if not link.startswith(("http", "mailto"))}
    files = set(re.findall(r"(?<![\w/.-])((?:configs|tests)/[\w./-]+\.(?:ya?ml|py|jsonl))", text))
    makefile = (REPO / "Makefile").read_text(encoding="utf-8")
    assert [module for module in modules if importlib.util.find_spec(module) is None] == []
    assert [target for target in targets if not re.search(rf"^{target}:", makefile, re.MULTILINE)] == []
    assert [link for link in links if not (path.parent / link).exists()] == []
    assert [file for file in files if not (REPO / file).exists()] == []
