"""Tokens and chat templates of models that are to be merged, compared from their files wherever these are equal."""

import filecmp
import json
from pathlib import Path
from typing import Any

from transformers.utils.chat_template_utils import render_jinja_template

from core.chat import THE_DAY
from core.errors import ModelError
from merge.side_files import MORE_TEMPLATES, TOKENIZER_FILES
from train.load import load_tokenizer
from train.unreadable import one_line

_TEMPLATE = "chat_template.jinja"
_SPECIAL = ("bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token")
_SHOWN = 10


def check_vocabulary(one: str, folder: Path, other: str, other_folder: Path) -> None:
    """Refuse two models (name, tokenizer folder) whose tokens or token ids differ. Raises ModelError that lists them."""
    files = [name for name in TOKENIZER_FILES if not name.startswith("chat_template")]
    if all(_equal(folder / name, other_folder / name) for name in files):
        return
    a, b = (load_tokenizer(one, needs_chat_template=False).get_vocab() for one in (folder, other_folder))
    tokens = sorted(token for token in a.keys() | b.keys() if a.get(token) != b.get(token))
    if tokens:
        shown = ", ".join(
            f"{token!r} ({a.get(token, 'absent')} / {b.get(token, 'absent')})" for token in tokens[:_SHOWN]
        )
        more = f" and {len(tokens) - _SHOWN} more" if len(tokens) > _SHOWN else ""
        raise ModelError(
            f"{one} and {other} have different vocabularies: {len(tokens)} tokens differ in id: {shown}{more}; merge "
            "models that were trained with the same tokenizer"
        )


def check_rows(what: str, tokenizer: Any, config: Any) -> None:
    """Refuse a tokenizer with tokens that a model has no row for, as where tokens were added and embeddings not saved.

    Raises ModelError.
    """
    tokens, rows = max(tokenizer.get_vocab().values()) + 1, config.get_text_config().vocab_size
    if tokens > rows:
        raise ModelError(
            f"{what} has a tokenizer of {tokens} tokens, its model only {rows}; save the embeddings with it when tokens are "
            "added (peft: modules_to_save), or take back its base's tokenizer"
        )


def chat_template(folder: Path) -> Any:
    """What a tokenizer folder stores as chat template, byte for byte: one text, several by name, or None.

    Raises ModelError where it cannot be read.
    """
    try:
        named = {file.stem: file.read_bytes().decode() for file in sorted((folder / MORE_TEMPLATES).glob("*.jinja"))}
        return {"default": _first_template(folder), **named} if named else _first_template(folder)
    except (ValueError, AttributeError) as error:
        raise ModelError(
            f"the chat template of {folder} cannot be read ({error}); copy its tokenizer's files again"
        ) from None


def check_template(folder: Path) -> None:
    """Render one turn with a tokenizer folder's chat template and special tokens, without its vocabulary. Raises ModelError
    where that cannot be done.
    """
    found = chat_template(folder)
    with one_line(f"the chat template of {folder} cannot be rendered", "mend it, or its tokenizer_config.json"):
        if isinstance(found, list):  # as older models have several
            found = {one["name"]: one["template"] for one in found}
        render_jinja_template(
            [[{"role": "user", "content": "x"}]],
            chat_template=found["default"] if isinstance(found, dict) else found,
            add_generation_prompt=True,
            date_string=THE_DAY,
            **_special_tokens(folder),
        )


def _special_tokens(folder: Path) -> dict[str, str]:
    """Those that templates name, as tokenizer_config.json has them; empty where the tokenizer's class adds its own."""
    config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    given = {name: config.get(name) for name in _SPECIAL}
    return {name: str(token["content"] if isinstance(token, dict) else token or "") for name, token in given.items()}


def _first_template(folder: Path) -> Any:
    if (folder / _TEMPLATE).is_file():
        return (folder / _TEMPLATE).read_bytes().decode()
    for name in ("chat_template.json", "tokenizer_config.json"):
        if (folder / name).is_file():
            found = json.loads((folder / name).read_text(encoding="utf-8")).get("chat_template")
            if found:
                return found
    return None


def _equal(one: Path, other: Path) -> bool:
    """Whether both hold the same bytes, or neither is there."""
    there = one.is_file(), other.is_file()
    return filecmp.cmp(one, other, shallow=False) if all(there) else not any(there)
