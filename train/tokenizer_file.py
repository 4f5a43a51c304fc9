"""Reading a large tokenizer's files in little more than half of the time: Gemma's are 33 MB."""

import gc
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_ADDED = re.compile(r'"added_tokens":\s*(?=\[)')
# Where one of these is there, transformers takes more from the files than their added tokens.
_OLDER = ("special_tokens_map.json", "added_tokens.json")


@contextmanager
def uncollected() -> Iterator[None]:
    """No garbage collection: a file of merges holds half a million lists, all needed, that each pass looks through."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def added_tokens(model: str | Path) -> dict[str, Any]:
    """What AutoTokenizer.from_pretrained may be given, so that it does not parse a folder's tokenizer.json once more for its
    added tokens: these, by id. Empty where they cannot be told without parsing the whole.
    """
    folder = Path(model)
    try:
        if any((folder / name).is_file() for name in _OLDER):
            return {}
        if "added_tokens_decoder" in json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8")):
            return {}
        text = (folder / "tokenizer.json").read_text(encoding="utf-8")
        found = _ADDED.search(text)
        rows = json.JSONDecoder().raw_decode(text, found.end())[0] if found else []
        return {"added_tokens_decoder": {row.pop("id"): row for row in rows}} if rows else {}
    except (OSError, ValueError, TypeError, AttributeError, KeyError):
        return {}  # faults are transformers' to find
