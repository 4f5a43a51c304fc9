"""Where a recipe's inputs come from: a folder, or a Hub id whose files are fetched into the Hub's cache."""

import json
import re
from collections.abc import Collection
from pathlib import Path

from httpx2 import HTTPError  # what huggingface_hub speaks HTTP with
from huggingface_hub import snapshot_download

from core.errors import ModelError
from train.hub import CONFIG, check_hub_model
from train.load import ADAPTER_CONFIG

FILES = ("*.json", "*.safetensors", "*.jinja", "tokenizer.model", "*.txt", "README.md")
HUB_ID = r"[\w-][\w.-]*/[\w.-]+"
# What a relative path begins with that looks like a Hub id, where the folder is no longer there.
_FOLDERS = ("runs", "data", "models", "checkpoints", "outputs")
_SNAPSHOT = re.compile(r"models--(?P<owner>.+?)--(?P<name>.+)")


def local_folder(model: str) -> Path:
    """The folder of a model or adapter; ``model`` is a folder, a Hub id or ``id@revision``. Raises ModelError."""
    if Path(model).is_dir():
        return Path(model)
    name, _, revision = model.partition("@")
    check_hub_model(name, revision or None, files=(CONFIG, ADAPTER_CONFIG))
    try:
        return Path(snapshot_download(name, revision=revision or None, allow_patterns=list(FILES)))
    except (HTTPError, OSError, ValueError) as error:
        first = next(iter(str(error).splitlines()), type(error).__name__)
        raise ModelError(
            f"{model} could not be fetched whole from the Hub ({first}); run the command again, it goes on from what came"
        ) from None


def hub_commit(folder: Path) -> str | None:
    """``owner/name@commit`` of a folder in the Hub's cache, None for any other."""
    repository = _SNAPSHOT.fullmatch(folder.parent.parent.name)
    if folder.parent.name != "snapshots" or repository is None:
        return None
    return f"{repository['owner']}/{repository['name']}@{folder.name}"


def hub_id(model: str, local: Collection[str] = ()) -> str | None:
    """The Hub id (with its revision, where one is named) that a model in a record or recipe has; None for a folder of this
    machine.

    A folder of the Hub's cache has one, and one whose origin.json names it, as the embedded model's does. ``local`` are the
    folders that the record calls inputs.
    """
    folder = Path(model)
    if cached := hub_commit(folder.resolve() if folder.is_dir() else folder):
        return cached
    if folder.is_dir():
        return _origin(folder)
    looks_so = re.fullmatch(rf"{HUB_ID}(?:@[\w.-]+)?", model) is not None
    return model if looks_so and model not in local and model.split("/")[0] not in _FOLDERS else None


def _origin(folder: Path) -> str | None:
    try:
        return str(json.loads((folder / "origin.json").read_text(encoding="utf-8"))["hub_id"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
