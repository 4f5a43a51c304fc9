"""Whether a written checkpoint is what was asked for, reopened from disk: same tensors, one dtype, and a usable judge."""

from pathlib import Path
from typing import Any

from core.errors import ModelError
from merge.preflight import Source, expected_shapes, read_source
from merge.vocabulary import chat_template, check_rows
from train.check import Checked, check_checkpoint


def check_written(
    folder: Path,
    like: Source,
    dtype: str,
    tokenizer: Any,
    require_stop: bool = False,
    max_new_tokens: int | None = None,
) -> Checked:
    """Compare a model folder with the one it was made from, and check it as train.check does. Raises ModelError.

    ``tokenizer`` is the folder's own, loaded once for all that needs it.
    """
    written = read_source("the written model", str(folder))
    shapes, wanted = expected_shapes(written), expected_shapes(like)
    if shapes != wanted:
        name = min(name for name, _ in shapes.items() ^ wanted.items())
        raise ModelError(
            f"{name} is {shapes.get(name, 'absent')} after the merge, {wanted.get(name, 'absent')} in {like.name}; "
            f"mergekit does not take {like.config.model_type} models whole"
        )
    stored = {name: header.dtype for name, header in written.headers.items() if header.is_float}
    stored["config.json"] = str(written.config.dtype).removeprefix("torch.")
    for name, found in stored.items():
        if found != dtype:
            raise ModelError(f"{name} is {found} in the written model, not {dtype} as asked")
    if chat_template(written.tokenizer) != chat_template(like.tokenizer):
        raise ModelError(f"the chat template of the written model is not that of {like.name}")
    check_rows(str(like.folder), tokenizer, written.config)
    try:
        return check_checkpoint(folder, require_stop=require_stop, max_new_tokens=max_new_tokens, tokenizer=tokenizer)
    except ModelError as error:
        fault, _, _ = str(error).partition("; ")
        if not fault.endswith("NaN or infinity"):
            raise
        raise ModelError(
            f"{fault} though no input does: {dtype} is too narrow (take bfloat16), or the recipe's weights are too large"
        ) from None
