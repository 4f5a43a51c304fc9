"""``{language}`` in the file names of a training: one config serves every language."""

import re
from collections.abc import Sequence

from core.errors import ConfigError

LANGUAGE = "{language}"


def named(field: str, given: list[str] | str) -> list[str]:
    """A list, none of it empty; from YAML one text may come alone. Raises ConfigError."""
    words = [given] if isinstance(given, str) else list(given or [])
    if not words or not all(word.strip() for word in words):
        raise ConfigError(f"{field} is empty; {'name a file' if field.endswith('file') else 'give a code'}")
    return words


def expand(field: str, given: list[str] | str, languages: Sequence[str] | None) -> list[str]:
    """The files of a field, one with the placeholder for each language. Raises ConfigError where there is none to put in."""
    expanded = []
    for name in named(field, given):
        check_placeholders(field, name)
        if LANGUAGE in name and not languages:
            raise ConfigError(f"{name} needs a language; pass --language, e.g. --language hi")
        expanded += [name.replace(LANGUAGE, code) for code in languages or [""]] if LANGUAGE in name else [name]
    return expanded


def check_placeholders(field: str, path: str) -> None:
    """Raises ConfigError for a word in braces that is not put in, such as a misspelt one."""
    for word in re.findall(r"\{\w*\}", path):
        if word != LANGUAGE:
            raise ConfigError(f"{field} {path}: the placeholder {word} is unknown; the known one is {LANGUAGE}")
