"""Where a recipe's inputs come from: a folder, or a Hub id whose files are fetched into the Hub's cache."""

from pathlib import Path

from huggingface_hub import snapshot_download

from core.errors import ModelError
from train.load import check_model

FILES = ("*.json", "*.safetensors", "*.jinja", "tokenizer.model", "*.txt")


def local_folder(model: str) -> Path:
    """The folder of a model or adapter; ``model`` is a folder, a Hub id or ``id@revision``. Raises ModelError."""
    if Path(model).is_dir():
        return Path(model)
    check_model(model)
    repo, _, revision = model.partition("@")
    try:
        return Path(snapshot_download(repo, revision=revision or None, allow_patterns=list(FILES)))
    except (OSError, ValueError) as error:
        first = next(iter(str(error).splitlines()), type(error).__name__)
        raise ModelError(
            f"{model} is no folder here and cannot be had from the Hub ({first}); correct the name, or log in with an "
            "account that may read it"
        ) from None
