"""trl's TrlParser with this project's errors: what it would answer with a traceback is one line that names the field."""

import sys
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn, get_args, get_origin, get_type_hints

from trl import TrlParser

from core.config import check_known, load_yaml, unquoted_word
from core.errors import ConfigError


class ArgumentParser(TrlParser):
    """Fills dataclasses from ``--config FILE`` and flags; flags win. Raises ConfigError for what it cannot take."""

    def parse(self, argv: Sequence[str] | None) -> tuple[Any, ...]:
        words = list(sys.argv[1:] if argv is None else argv)
        words = [part for word in words for part in (word.split("=", 1) if word.startswith("--config=") else [word])]
        known = [word.removeprefix("--") for action in self._actions for word in action.option_strings]
        for word in words:
            if word.startswith("--"):
                check_known(word[2:].split("=", 1)[0], [*known, "config"], "flag --")
        if "--config" in words:
            at = words.index("--config")
            path = words[at + 1] if at + 1 < len(words) else self.error("--config needs a file")
            del words[at : at + 2]
            self._take_yaml(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # trl's own defaults use names that transformers will drop
            return self.parse_args_into_dataclasses(words, look_for_args_file=False)

    def _take_yaml(self, path: str) -> None:
        values = load_yaml(path)
        types = {name: kind for group in self.dataclass_types for name, kind in get_type_hints(group).items()}
        for name, value in values.items():
            check_known(name, types, f"{path}: field ")
            for word in value if isinstance(value, list) else [value]:
                if isinstance(word, bool) and not {bool, int, float} & {types[name], *get_args(types[name])}:
                    raise unquoted_word(name, word, path)
            _check_shape(name, value, types[name], path)
        for action in self._actions:  # argparse takes a default unseen
            chosen = values.get(action.dest)
            if action.choices and chosen is not None and chosen not in action.choices:
                raise ConfigError(
                    f"{path}: {action.dest} is {chosen!r}; use one of {', '.join(map(str, action.choices))}"
                )
        # As text, a number passes through the flag's own type check.
        self.set_defaults_with_config(**{name: _as_text(value) for name, value in values.items()})

    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message}; --help lists the fields")


def _as_text(value: Any) -> Any:
    if isinstance(value, list):
        return [_as_text(item) for item in value]
    return str(value) if isinstance(value, int | float) else value


def _check_shape(name: str, value: Any, kind: Any, path: str) -> None:
    """Raises ConfigError for a list or mapping where the field is a single value, which argparse takes unseen."""
    takes = {get_origin(member) or member for member in (kind, *get_args(kind))}
    if isinstance(value, dict) and dict not in takes:
        raise ConfigError(f"{path}: {name} is a mapping; give {'a list' if list in takes else 'a single value'}")
    if isinstance(value, list):
        if list not in takes:
            raise ConfigError(f"{path}: {name} is a list; give a single value")
        if any(item is None or isinstance(item, list | dict) for item in value):
            raise ConfigError(f"{path}: {name} has an entry that is no single value; give a list of single values")
