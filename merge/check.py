"""Whether a written checkpoint is what was asked for, reopened from disk: same tensors, one dtype, and a usable judge."""

from pathlib import Path

from core.errors import ModelError
from merge.preflight import Source, expected_shapes, read_source
from merge.vocabulary import chat_template
from train.check import Checked, check_checkpoint


def check_written(folder: Path, like: Source, dtype: str) -> Checked:
    """Compare a model folder with the one it was made from, and check it as train.check does. Raises ModelError."""
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
    return check_checkpoint(folder)
