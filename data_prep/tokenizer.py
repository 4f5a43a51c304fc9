"""A tokenizer alone, from a folder or the Hub, without its model and without torch in this package's source."""

from typing import Any

from core.chat import set_chat_template
from core.errors import ModelError
from data_prep.tables import is_hub_id


def load_tokenizer(name: str, chat_template: str | None = None, needs_chat_template: bool = False) -> Any:
    """The tokenizer of a Hub id or folder. One without a chat template of its own takes the one named.

    Raises ModelError where there is no tokenizer, or no chat template and one is needed.
    """
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        gated = (
            f"; where it is gated, accept its terms at https://huggingface.co/{name} and log in with `hf auth login`"
        )
        raise ModelError(
            f"no tokenizer in {name} ({reason}); name a folder or Hub id with one{gated if is_hub_id(name) else ''}"
        ) from None
    if needs_chat_template:
        set_chat_template(tokenizer, None if tokenizer.chat_template else chat_template)
    return tokenizer
