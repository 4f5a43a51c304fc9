"""One way to read a command's config: a YAML file named by --config, any field set again by a flag of the same name.

Every command but train.sft (which keeps trl's TrlParser, so that all of SFTConfig stays available) is

    class JudgeConfig(CommandConfig): ...

    def main(config: JudgeConfig) -> None: ...

    if __name__ == "__main__":
        run_command(main, JudgeConfig)
"""

import argparse
import difflib
import errno
import os
import sys
import types
import typing
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeVar, get_args, get_origin

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from core.errors import AlreadyDone, ConfigError, Interrupted, UserError

IfExists = Literal["fail", "resume", "overwrite"]
# No space, a quota used up, a file over the limit.
DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class CommandConfig(BaseModel):
    """Base of every command's config: unknown fields and numbers that are not finite are refused, defaults are checked like
    given values.
    """

    model_config = ConfigDict(extra="forbid", validate_default=True, allow_inf_nan=False, protected_namespaces=())


C = TypeVar("C", bound=CommandConfig)


def run_command(main: Callable[[C], None], config_class: type[C], argv: Sequence[str] | None = None) -> None:
    """Parse flags and YAML into ``config_class``, run ``main``, and exit as ``exit_status`` says."""
    doc = sys.modules[main.__module__].__doc__ or ""
    sys.exit(exit_status(lambda: main(parse_config(config_class, argv, doc))))


def exit_status(command: Callable[[], None]) -> int:
    """Run a command: 0 done (also when it was done before), 2 the user's input was wrong, 143 stopped by SIGTERM with its
    work kept, 1 the disk is full. Other failures keep their traceback. Only rank 0 speaks.
    """
    speaks = os.environ.get("RANK", "0") == "0"
    try:
        command()
    except AlreadyDone as done:
        if speaks:
            print(done)
    except UserError as error:
        if speaks:
            print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except Interrupted as stopped:
        if speaks:
            print(stopped, file=sys.stderr)
        return 143
    except BrokenPipeError:
        return 0
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            if speaks:
                print(f"error: {error.filename}: {error.strerror}; give a shorter name", file=sys.stderr)
            return 2
        if error.errno not in DISK_FULL:
            raise
        where = f" {error.filename}" if error.filename else ""
        print(
            f"error: no space left to write{where} ({error.strerror}); free some and go on with --if_exists resume",
            file=sys.stderr,
        )
        return 1
    except KeyboardInterrupt:
        if speaks:
            print("interrupted; a run folder goes on with --if_exists resume", file=sys.stderr)
        return 130
    return 0


def parse_config(config_class: type[C], argv: Sequence[str] | None = None, description: str = "") -> C:
    """Build ``config_class`` from ``--config FILE`` and flags; flags win.

    Raises ConfigError on unknown fields (naming the nearest known one), wrong types and YAML that does not parse.
    """
    argv = list(sys.argv[1:] if argv is None else argv)
    parser = _parser(config_class, description)
    known = [*config_class.model_fields, "config", "help"]
    for word in argv:
        if word.startswith("--"):
            check_known(word[2:].split("=", 1)[0], known, "flag --")
    flags = vars(parser.parse_args(argv))
    config_file = flags.pop("config", None)
    values = load_yaml(config_file) if config_file else {}
    for name in values:
        check_known(name, list(config_class.model_fields), f"{config_file}: field ")
    values.update({name: _from_text(config_class, name, text) for name, text in flags.items() if text is not None})
    return validate(config_class, values, config_file or "command line")


def load_yaml(path: str | Path) -> dict[str, Any]:
    """Read a YAML mapping. Raises ConfigError with file and line where it does not parse or names a field twice."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"config file {path} cannot be read ({error.strerror}); name an existing YAML file") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"config file {path} is not UTF-8 (byte {error.start}); save it as UTF-8") from None
    try:
        values = yaml.load(text, _OnceLoader)
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f" line {where.line + 1}" if where else ""
        raise ConfigError(f"{path}{line} is not YAML ({getattr(error, 'problem', error)}); mend the syntax") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ConfigError(f"{path} holds a {type(values).__name__}; a config is a mapping of field: value")
    return values


def validate(config_class: type[C], values: dict[str, Any], where: str | Path) -> C:
    """Check values against the model; the first fault becomes one line with its field and place."""
    for name, value in values.items():
        field = config_class.model_fields.get(name)
        words = [word for word in (value if isinstance(value, list) else [value]) if isinstance(word, bool)]
        if field is not None and words and not _accepts(field.annotation, bool):
            raise unquoted_word(name, words[0], where)
        if value == "" and (name.startswith("output") or (field is not None and _accepts(field.annotation, Path))):
            raise ConfigError(f"{where}: {name} is empty; name a file or folder")
    try:
        return config_class.model_validate(values)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        name = ".".join(str(part) for part in fault["loc"])
        given = "" if fault["type"] == "missing" else f" (got {fault['input']!r})"
        mend = f"set {name} in the config or pass --{name}" if fault["type"] == "missing" else f"correct {name}"
        raise ConfigError(f"{where}: {name or 'config'}: {fault['msg']}{given}; {mend}") from None


def unquoted_word(name: str, value: bool, where: str | Path) -> ConfigError:
    """The error for a text field that YAML read as True or False, as it does with the code of Norwegian."""
    word = "yes" if value else "no"
    return ConfigError(
        f'{where}: {name} is {value}, which YAML reads from {word}, on, off and the like; quote it: {name}: "{word}"'
    )


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like ``name``, or None where none is near."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return close[0] if close else None


class _OnceLoader(yaml.SafeLoader):
    """Refuses a key that a mapping has twice, of which YAML would keep the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for at, key in enumerate(keys):
            if key.value in [earlier.value for earlier in keys[:at]]:
                raise yaml.constructor.ConstructorError(
                    problem=f"{key.value} is set twice", problem_mark=key.start_mark
                )
        return super().construct_mapping(node, deep)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message}; --help lists the flags")


def check_known(name: str, known: Collection[str], what: str) -> None:
    """Raises ConfigError, with the nearest known name, where ``name`` is not one. ``what`` is said before it."""
    if name not in known:
        guess = nearest(str(name), known)
        hint = f"did you mean {guess}?" if guess else f"known: {', '.join(known)}"
        raise ConfigError(f"{what}{name} is unknown; {hint}")


def _parser(config_class: type[CommandConfig], description: str) -> argparse.ArgumentParser:
    parser = _Parser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("--config", metavar="FILE", help="YAML file; any field below can be set in it")
    for name, field in config_class.model_fields.items():
        default = "required" if field.is_required() else f"default {field.get_default(call_default_factory=True)}"
        many = get_origin(_plain(field.annotation)) is list
        text = f"{field.description or ''} ({default})".strip().replace("%", "%%")
        parser.add_argument(f"--{name}", nargs="+" if many else None, metavar=_metavar(field.annotation), help=text)
    return parser


def _from_text(config_class: type[CommandConfig], name: str, text: Any) -> Any:
    """A flag's words as YAML reads them, but left as text where the field is text: --language no stays 'no'."""
    annotation = config_class.model_fields[name].annotation
    if isinstance(text, list):
        item = next(iter(get_args(_plain(annotation))), str)
        return [word if _accepts(item, str) else _yaml_value(name, word) for word in text]
    if text == "null" and _accepts(annotation, type(None)):
        return None
    return text if _accepts(annotation, str) else _yaml_value(name, text)


def _yaml_value(name: str, text: str) -> Any:
    try:
        return yaml.load(text, _OnceLoader)
    except yaml.YAMLError as error:
        reason = getattr(error, "problem", error)
        raise ConfigError(
            f"flag --{name}: {text!r} is not YAML ({reason}); mend it, e.g. a bracket or brace left open"
        ) from None


def _members(annotation: Any) -> tuple[Any, ...]:
    if get_origin(annotation) in (typing.Union, types.UnionType):
        return get_args(annotation)
    return (annotation,)


def _plain(annotation: Any) -> Any:
    return next(member for member in _members(annotation) if member is not type(None))


def _accepts(annotation: Any, kind: type) -> bool:
    members = _members(annotation)
    literals = [type(value) for member in members if get_origin(member) is Literal for value in get_args(member)]
    return kind in members or kind in literals or Any in members or (kind is str and Path in members)


def _metavar(annotation: Any) -> str:
    plain = _plain(annotation)
    if get_origin(plain) is Literal:
        return "|".join(str(value) for value in get_args(plain))
    return getattr(plain, "__name__", str(plain)).upper()
