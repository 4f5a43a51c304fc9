"""Fold a LoRA adapter into full weights, in its base's dtype, and show that the result answers as base + adapter does.

Run as:
    python -m merge.fold --adapter runs/hi --output_dir runs/hi-full
"""

import math
from pathlib import Path
from typing import Any, NamedTuple

import torch
from pydantic import Field

from core import prompt_spec
from core.chat import stop_token_id
from core.config import CommandConfig, IfExists, run_command
from core.errors import ModelError, RunFolderError
from core.progress import say, warn
from core.run import Run, shown_path
from merge.device import Device
from merge.headers import read_headers
from merge.shards import ShardSize
from merge.side_files import (
    GENERATION_CONFIG,
    TOKENIZER_FILES,
    check_side_files,
    copy_side_files,
    write_generation_config,
)
from merge.source import local_folder
from merge.staging import keep_inputs, staged
from merge.vocabulary import check_rows
from train.check import check_checkpoint, check_weights, describe
from train.load import ADAPTER_CONFIG, base_of, check_model, is_adapter, load_model, load_tokenizer

# Both sides are computed in float32: one part in ten thousand is a hundred times their noise, and far below any adapter.
TOLERANCE = 1e-4
_TEXT = "Judge the response: La réponse est juste. उत्तर सही है। [RESULT] 4"


class FoldConfig(CommandConfig):
    """Config of merge.fold."""

    adapter: str = Field(description="adapter folder or Hub id, as train.sft writes it")
    output_dir: str = Field(description="folder of the full model; never the adapter's own")
    device: Device = Field("cpu", description="where the arithmetic runs: cpu, cuda or auto; 4 bytes a parameter")
    max_shard_size: ShardSize = Field("5GB", description="largest weight file of the output")
    require_stop: bool = Field(False, description="refuse a model whose trial verdict does not end by itself")
    max_new_tokens: int | None = Field(None, ge=1, description="longest trial verdict; as in train.check")
    if_exists: IfExists = Field("fail", description="what to do where output_dir exists")


class Folded(NamedTuple):
    """What folding did to the logits of one text, as largest absolute differences from base + adapter in float32."""

    base_model: str
    dtype: str
    adapter_effect: float
    fold_error: float
    rounding_error: float
    reload_error: float


def main(config: FoldConfig) -> None:
    """Fold one adapter. Raises ModelError and RunFolderError."""
    adapter = adapter_folder(config.adapter)
    output = Path(config.output_dir)
    keep_inputs(output, [adapter, local_folder(base_of(adapter))])
    if (output / ADAPTER_CONFIG).exists():
        raise RunFolderError(
            f"output {output} holds an adapter, which would be attached again to the folded weights; name another folder"
        )
    run = Run(output, command="merge.fold", config=config, inputs=[adapter], if_exists=config.if_exists)
    with run, staged(run.path) as folder:
        tokenizer = load_tokenizer(adapter)
        folded = fold(adapter, folder, config.device, config.max_shard_size, tokenizer)
        checked = check_checkpoint(
            folder, require_stop=config.require_stop, max_new_tokens=config.max_new_tokens, tokenizer=tokenizer
        )
        run.note(**folded._asdict(), trial_stopped=checked.stopped_by_itself)
    say(f"{output}: full weights in {folded.dtype}; logits as base + adapter within {folded.fold_error:.1e}")
    say(describe(output, checked))


def adapter_folder(adapter: str) -> Path:
    """The adapter's folder, checked as far as can be before its base loads. Raises ModelError."""
    folder = local_folder(adapter)
    if not is_adapter(folder):
        raise ModelError(f"{adapter} is no adapter folder (no {ADAPTER_CONFIG}); full weights need no folding")
    check_model(folder)
    check_side_files(folder)
    check_weights(folder)
    return folder


def fold(
    adapter: Path, folder: Path, device: str = "cpu", max_shard_size: str = "5GB", tokenizer: Any = None
) -> Folded:
    """Write base + adapter as a plain checkpoint into the empty ``folder``, with the adapter's tokenizer (``tokenizer``, where
    it is loaded already) and side files.

    Merging is done in float32 and rounded once. Raises ModelError where the adapter changes nothing, where the merged
    logits are not those of base + adapter, and where the files do not give back what was written.
    """
    tokenizer = load_tokenizer(adapter) if tokenizer is None else tokenizer
    dtype = stored_dtype(local_folder(base_of(adapter)))
    model = load_model(adapter, torch.float32, device)
    check_rows(f"adapter {adapter}", tokenizer, model.config)
    ids = torch.tensor([tokenizer(_TEXT)["input_ids"]], device=model.device)
    wanted = _logits(model, ids)
    with model.disable_adapter():
        effect = _difference(_logits(model, ids), wanted)
    if effect == 0:
        raise ModelError(
            f"adapter {adapter} changes nothing (its logits are its base's); take it from a finished training"
        )
    model = model.merge_and_unload()
    fold_error = _checked(_logits(model, ids), wanted, f"folding {adapter}")
    _round(model, dtype)
    rounded = _logits(model, ids)
    model.to(dtype).save_pretrained(folder, max_shard_size=max_shard_size)
    del model
    reload_error = _checked(_logits(load_model(folder, torch.float32, device), ids), rounded, f"reloading {adapter}")
    _side_files(adapter, folder, stop_token_id(tokenizer))
    folded = Folded(
        shown_path(base_of(adapter)), str(dtype).removeprefix("torch."), effect, fold_error,
        _difference(rounded, wanted), reload_error,
    )  # fmt: skip
    if folded.rounding_error > effect / 2:
        warn(
            f"{adapter}: rounding to {folded.dtype} moves the logits by {folded.rounding_error:.2g}, the adapter itself "
            f"by {effect:.2g}: much of what it learned is below the precision of its base"
        )
    return folded


def stored_dtype(model: Path) -> torch.dtype:
    """The dtype of a checkpoint's largest tensor, as its file has it (a config may say another). Raises ModelError where
    that is quantized.
    """
    largest = max(read_headers(model).values(), key=lambda header: math.prod(header.shape))
    if not largest.is_float:
        raise ModelError(
            f"base {model} is quantized ({largest.dtype}); write the model that it was made from as "
            f"base_model_name_or_path into {ADAPTER_CONFIG}"
        )
    return getattr(torch, largest.dtype)


def _side_files(adapter: Path, folder: Path, stop_token: int) -> None:
    base = local_folder(base_of(adapter))
    copy_side_files(adapter if (adapter / "tokenizer_config.json").is_file() else base, folder, TOKENIZER_FILES)
    copy_side_files(adapter, folder, (prompt_spec.FILE,))
    write_generation_config(folder, adapter if (adapter / GENERATION_CONFIG).is_file() else base, [], stop_token)


def _round(model: Any, dtype: torch.dtype) -> None:
    """Round the weights to ``dtype`` but keep computing in float32, as the comparison does after reloading."""
    for parameter in model.parameters():
        parameter.data = parameter.data.to(dtype).float()


@torch.no_grad()
def _logits(model: Any, ids: torch.Tensor) -> torch.Tensor:
    return model(input_ids=ids).logits[0].float().cpu()


def _difference(a: torch.Tensor, b: torch.Tensor) -> float:
    return float((a - b).abs().max())


def _checked(logits: torch.Tensor, wanted: torch.Tensor, what: str) -> float:
    """The largest difference. Raises ModelError above TOLERANCE times the largest logit, and on NaN."""
    difference, limit = _difference(logits, wanted), TOLERANCE * float(wanted.abs().max())
    if not difference <= limit:
        raise ModelError(
            f"{what} changed the logits by {difference:.3g} where at most {limit:.3g} is rounding; nothing was written"
        )
    return difference


if __name__ == "__main__":
    run_command(main, FoldConfig)
