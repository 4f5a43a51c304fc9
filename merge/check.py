"""Whether inputs hold numbers, and whether a written checkpoint is what was asked for, reopened from disk."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.errors import ModelError
from core.prompt import build_verdict
from merge.preflight import Source, check_tensors, expected_shapes, read_source
from merge.recipe import MergeConfig
from merge.vocabulary import chat_template, check_rows, check_vocabulary
from train.check import Checked, check_checkpoint, check_weights

# With it the trial begins: what is asked of a merge is that it still ends its turn, not how long it writes before.
_VERDICT = build_verdict("The response names three colours.", 5)


def check_inputs(sources: Mapping[str, Source], values: bool = True) -> None:
    """Once more after folding, and every value, unless told not to: NaN in an input is NaN in the merge. Raises ModelError
    that names both.
    """
    check_tensors(sources)
    built: list[tuple[int, dict[str, tuple[int, ...]]]] = []
    for name, source in sources.items():
        # Configs are alike by now, so that the first one's model is that of all with the same tensors.
        layout = source.config.get_text_config().vocab_size, {key: one.shape for key, one in source.headers.items()}
        try:
            check_weights(source.folder, values, names=layout not in built)
        except ModelError as error:
            raise ModelError(f"{name}: {error}") from None
        built.append(layout)


def check_written(config: MergeConfig, sources: Mapping[str, Source], folder: Path, tokenizer: Any) -> Checked:
    """Compare a merged folder with what it was made from, and check it as train.check does. Raises ModelError.

    ``tokenizer`` is the chosen expert's, loaded once for all that needs it; the folder's files have to be equal to its.
    """
    like, dtype = sources[config.donor], config.written_dtype
    written = read_source("the written model", str(folder))
    check_vocabulary(written.name, written.tokenizer, like.name, like.tokenizer)
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
    whole = config.require_stop or config.max_new_tokens is not None
    try:
        return check_checkpoint(
            folder,
            require_stop=config.require_stop,
            max_new_tokens=config.max_new_tokens,
            tokenizer=tokenizer,
            verdict=None if whole else _VERDICT,
        )
    except ModelError as error:
        fault, _, _ = str(error).partition("; ")
        if not fault.endswith("NaN or infinity"):
            raise
        check_inputs(sources)
        narrow = "float16 is too narrow (take bfloat16), or " if "float16" in (config.dtype, dtype) else ""
        raise ModelError(
            f"{fault} though no input does: {narrow}the recipe's weights are too large, or sum to 0 where they are normalised"
        ) from None
