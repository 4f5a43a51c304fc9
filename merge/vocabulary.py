"""Tokens and chat templates of models that are to be merged, compared from their files wherever these are equal."""

import json
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from core.errors import ModelError
from merge.side_files import MORE_TEMPLATES, TOKENIZER_FILES

_TEMPLATE = "chat_template.jinja"
_SHOWN = 10


def check_vocabulary(one: str, folder: Path, other: str, other_folder: Path) -> None:
    """Refuse two models (name, tokenizer folder) whose tokens or token ids differ. Raises ModelError that lists them."""
    files = [name for name in TOKENIZER_FILES if not name.startswith("chat_template")]
    if all(_content(folder / name) == _content(other_folder / name) for name in files):
        return
    a, b = _vocabulary(folder), _vocabulary(other_folder)
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


def _first_template(folder: Path) -> Any:
    if (folder / _TEMPLATE).is_file():
        return (folder / _TEMPLATE).read_bytes().decode()
    for name in ("chat_template.json", "tokenizer_config.json"):
        if (folder / name).is_file():
            found = json.loads((folder / name).read_text(encoding="utf-8")).get("chat_template")
            if found:
                return found
    return None


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _vocabulary(folder: Path) -> dict[str, int]:
    try:
        return AutoTokenizer.from_pretrained(folder).get_vocab()
    except (OSError, ValueError, AttributeError) as error:
        raise ModelError(f"no tokenizer in {folder} ({error}); copy the whole model") from None
