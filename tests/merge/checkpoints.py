"""Pico judges on disk for the tests of merging: known numbers in one tensor, adapters, side files."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from core.prompt_spec import PromptSpec
from tests import pico

TENSOR = "model.norm.weight"
STOP = 6  # <end>, with which the pico chat template closes a turn


def judge(folder: Path, values: Sequence[float] | None = None, seed: int = 0, **changes: Any) -> Path:
    """A pico llama whose last norm holds ``values`` over and over: half of them are the larger half in any repetition."""
    template = changes.pop("chat_template", pico.CHAT_TEMPLATE)
    shards = changes.pop("max_shard_size", "1GB")
    model = pico.model("llama", seed, **changes)
    if values is not None:
        weight = model.get_parameter(TENSOR)
        weight.data = torch.tensor(values).repeat(weight.numel() // len(values))
    model.save_pretrained(folder, max_shard_size=shards)
    pico.tokenizer(template).save_pretrained(folder)
    if template:
        PromptSpec().save(folder, languages=[folder.name])
    return folder


def adapter(folder: Path, base: Path, tokens: int | None = None, seed: int = 1, **changes: Any) -> Path:
    """A LoRA adapter that does something, on ``base``, with its tokenizer; ``tokens`` resizes the vocabulary and stores it."""
    model = AutoModelForCausalLM.from_pretrained(base)
    if tokens is not None:
        model.resize_token_embeddings(tokens)
        changes["modules_to_save"] = ["embed_tokens", "lm_head"]
    torch.manual_seed(seed)
    tuned = get_peft_model(model, LoraConfig(r=4, lora_alpha=8, target_modules="all-linear", **changes))
    for name, parameter in tuned.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.2)
    tuned.save_pretrained(folder)
    pico.tokenizer().save_pretrained(folder)
    PromptSpec(with_reference=False).save(folder, languages=[folder.name], base_model=str(base))
    return folder


def tensors(folder: Path) -> dict[str, torch.Tensor]:
    return {name: value for file in folder.glob("model*.safetensors") for name, value in load_file(file).items()}


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
