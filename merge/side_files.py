"""What belongs to a judge beside its weights: tokenizer, chat template, generation config, judge.json; copied byte for byte."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from core.errors import ModelError
from core.jsonl import write_json
from core.prompt_spec import FILE, load_prompt_spec

GENERATION_CONFIG = "generation_config.json"
MORE_TEMPLATES = "additional_chat_templates"
TOKENIZER_FILES = (
    "tokenizer_config.json", "tokenizer.json", "tokenizer.model", "special_tokens_map.json", "added_tokens.json",
    "vocab.json", "vocab.txt", "merges.txt", "chat_template.jinja", "chat_template.json",
    MORE_TEMPLATES,
)  # fmt: skip


def check_side_files(folder: Path) -> None:
    """Read of a folder what a merge takes from it once its weights are written. Raises ModelError for what cannot be read."""
    _stops(folder)
    recorded_languages(folder)
    load_prompt_spec(folder)


def recorded_languages(folder: Path) -> list[str]:
    """The languages that judge.json names; none where it names none. Raises ModelError where they are no list of codes."""
    languages = _read(folder / FILE).get("languages") or []
    if not isinstance(languages, list) or not all(isinstance(code, str) for code in languages):
        raise ModelError(f"{folder / FILE}: languages is {languages!r}; make it a list of codes, such as [hi]")
    return languages


def copy_side_files(source: Path, target: Path, files: Sequence[str]) -> None:
    """Copy those of ``files`` (or folders) that the source has."""
    for name in files:
        if (source / name).is_dir():
            shutil.copytree(source / name, target / name, copy_function=shutil.copyfile)
        elif (source / name).is_file():
            shutil.copyfile(source / name, target / name)


def write_generation_config(target: Path, source: Path, models: Sequence[Path], stop_token: int) -> list[int]:
    """Give ``target`` the generation config of ``source``, stopping at every EOS of ``models`` and at the template's own.

    Byte-equal to the source's where that stops there already. Returns the EOS ids.
    """
    own = _read(source / GENERATION_CONFIG)
    stops = sorted({stop_token}.union(*(_stops(folder) for folder in (source, *models))))
    if own and set(stops) == _ids(own.get("eos_token_id")):
        shutil.copyfile(source / GENERATION_CONFIG, target / GENERATION_CONFIG)
    else:
        config = _read(source / "config.json")
        given = own or {name: config[name] for name in ("bos_token_id", "pad_token_id") if name in config}
        write_json({**given, "eos_token_id": stops}, target / GENERATION_CONFIG)
    return stops


def write_judge_json(target: Path, donor: Path, experts: Mapping[str, Path]) -> None:
    """Give ``target`` the donor's judge.json, with the languages of all experts (name → folder) instead of its own.

    An expert that records no languages stands for the one that it is named by. Nothing where the donor has no judge.json.
    """
    if own := _read(donor / FILE):
        languages = [code for name, folder in experts.items() for code in recorded_languages(folder) or [name]]
        write_json({**own, "languages": list(dict.fromkeys(languages))}, target / FILE)


def _stops(folder: Path) -> set[int]:
    for file in (GENERATION_CONFIG, "config.json"):
        found = _read(folder / file).get("eos_token_id")
        ids = _ids(found)
        if not all(isinstance(token, int) for token in ids):
            raise ModelError(f"{folder / file}: eos_token_id is {found!r}; make it a token id, or a list of them")
        if ids:
            return ids
    return set()


def _ids(value: int | list[int] | None) -> set[int]:
    return set() if value is None else set(value) if isinstance(value, list) else {value}


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except ValueError as error:
        raise ModelError(f"{path} cannot be read ({error}); copy it again from the training") from None
    if not isinstance(content, dict):
        raise ModelError(f"{path} holds a {type(content).__name__}, not fields; copy it again from the training")
    return content
