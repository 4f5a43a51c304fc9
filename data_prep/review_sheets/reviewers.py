"""The people who fill sheets, by the names that whoever runs the review gives them."""

import re
from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator

from core.errors import ConfigError

# It names files, and stands in a cell that no spreadsheet may compute.
_NAME = re.compile(r"""(?=[^\W_])[^\x00-\x1f/\\:*?"<>|]*(?<!\s)""")


def _check_names(reviewers: list[str] | dict[str, list[str]]) -> list[str] | dict[str, list[str]]:
    for names in reviewers.values() if isinstance(reviewers, dict) else [reviewers]:
        for name in names:
            if not _NAME.fullmatch(name):
                raise ValueError(f'{name!r} names no file: start with a letter or digit, without / \\ : * ? " < > |')
        if len({name.casefold() for name in names}) < len(names):
            raise ValueError(f"one name occurs twice in {', '.join(names)}")
    return reviewers


Reviewers = Annotated[list[str] | dict[str, list[str]], AfterValidator(_check_names)]


def by_language(reviewers: list[str] | dict[str, list[str]], languages: Sequence[str]) -> dict[str, list[str]]:
    """The reviewers of each language. Raises ConfigError for a language without any, or one that has no rows."""
    if not isinstance(reviewers, dict):
        return {code: list(reviewers) for code in languages}
    for code in languages:
        if not reviewers.get(code):
            raise ConfigError(f"reviewers: none for {code}; name one, or leave {code} out with --language")
    for code in reviewers:
        if code not in languages:
            raise ConfigError(f"reviewers: {code} is not drawn ({', '.join(languages)} are); leave it out")
    return {code: list(reviewers[code]) for code in languages}


def join_reviewers(drawn: dict[str, list[str]], others: list[str] | dict[str, list[str]]) -> dict[str, list[str]]:
    """The reviewers of a sample, and after them those who came later."""
    later = others if isinstance(others, dict) else dict.fromkeys(drawn, others)
    return {code: list(dict.fromkeys([*names, *later.get(code, [])])) for code, names in drawn.items()}
