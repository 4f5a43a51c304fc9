"""Tokens and chat templates of models that are to be merged, compared from their files wherever these are equal."""

import json
from pathlib import Path

from transformers import AutoTokenizer

from core.errors import ModelError
from merge.side_files import TOKENIZER_FILES

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


def chat_template(folder: Path) -> str | dict[str, str] | None:
    """The chat template that a tokenizer folder stores, read as transformers does, or None."""
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
    except (OSError, ValueError) as error:
        raise ModelError(f"no tokenizer in {folder} ({error}); copy the whole model") from None
