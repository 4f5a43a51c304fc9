"""Pico models and tokenizers that tests build from a config: real architectures, a few kilobytes, no download."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast
from transformers.models.bloom import BloomConfig
from transformers.models.cohere import CohereConfig
from transformers.models.falcon import FalconConfig
from transformers.models.gemma3 import Gemma3TextConfig
from transformers.models.llama import LlamaConfig

CHAT_TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}{{ '<' + m['role'] + '>' + m['content'] + '<end>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"
)
NO_SYSTEM_TEMPLATE = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    + CHAT_TEMPLATE
)
SPECIAL = ["<pad>", "<s>", "</s>", "<unk>", "<system>", "<user>", "<end>", "<assistant>"]
TEXT = [
    "good feedback. [RESULT] 4 and bad feedback. [RESULT] 1 the response meets the rubric well",
    "Judge the response by the rubric alone. Score 1: Score 2: Score 3: Score 4: Score 5: reference answer instruction",
    "a fair answer that is complete, correct and polite; La réponse est juste. उत्तर सही है।",
]


def tokenizer(chat_template: str | None = CHAT_TEMPLATE) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer (every text of every script encodes) that adds BOS by itself, as most do."""
    fast = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(_byte_level()),
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        padding_side="right",
    )
    fast.add_special_tokens({"additional_special_tokens": ["<system>", "<user>", "<end>", "<assistant>"]})
    fast.chat_template = chat_template
    fast.name_or_path = "pico-tokenizer"
    return fast


@lru_cache(maxsize=1)
def _byte_level() -> str:
    tok = Tokenizer(models.BPE(unk_token="<unk>"))
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tok.train_from_iterator(TEXT, trainer)
    tok.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return str(tok.to_str())


def model(kind: str = "llama", seed: int = 0, vocab_size: int | None = None, **changes: Any) -> Any:
    """A randomly initialised causal language model in float32: ``llama``, ``gemma3``, ``cohere``, or ``bloom`` and
    ``falcon``, whose layers return tuples."""
    size = vocab_size or len(tokenizer())
    shared = {"vocab_size": size, "hidden_size": 32, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    attention = {"num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 64, "num_hidden_layers": 2}
    configs = {
        "llama": lambda: LlamaConfig(**shared, **attention, max_position_embeddings=8192, **changes),
        "gemma3": lambda: Gemma3TextConfig(**shared, **attention, head_dim=8, sliding_window=64, **changes),
        "cohere": lambda: CohereConfig(**shared, **attention, logit_scale=2.0, **changes),
        "bloom": lambda: BloomConfig(**shared, n_layer=2, n_head=4, **changes),
        "falcon": lambda: FalconConfig(**shared, num_hidden_layers=2, num_attention_heads=4, **changes),
    }
    torch.manual_seed(seed)
    return AutoModelForCausalLM.from_config(configs[kind](), dtype=torch.float32).eval()


def save(
    folder: Path, kind: str = "llama", seed: int = 0, chat_template: str | None = CHAT_TEMPLATE, **changes: Any
) -> Path:
    """A model folder as the Hub would have it: weights, config, tokenizer."""
    model(kind, seed, **changes).save_pretrained(folder)
    tokenizer(chat_template).save_pretrained(folder)
    return folder
