"""Where a recipe's inputs come from: a folder, or a Hub id whose files are fetched into the Hub's cache."""

import re
from pathlib import Path

from httpx2 import HTTPError  # what huggingface_hub speaks HTTP with
from huggingface_hub import snapshot_download

from core.errors import ModelError
from train.hub import CONFIG, check_hub_model
from train.load import ADAPTER_CONFIG

FILES = ("*.json", "*.safetensors", "*.jinja", "tokenizer.model", "*.txt", "README.md")
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
