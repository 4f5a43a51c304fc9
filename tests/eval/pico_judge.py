"""A pico judge that was taught a verdict for each of a few records, so that its output parses."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import GenerationConfig

from core.chat import encode_example, stop_token_ids
from core.prompt import build_messages, build_verdict
from core.prompt_spec import PromptSpec
from core.records import JudgeRecord
from tests import pico

SPEC = PromptSpec(template="default", with_reference=False, max_length=2048)


def record(name: str, response: str, score: int | None = None, **changes: Any) -> JudgeRecord:
    """A short record; ``changes`` are any other of its fields."""
    scores = {f"score{n}_description": str(n) for n in range(1, 6)}
    values = {"item_id": name, "language": "fr", "instruction": "x", "criteria": "fair", "score": score, **scores}
    return JudgeRecord(**{"id": name, "response": response, **values, **changes})


# Of different lengths and languages, in no order.
RECORDS = [
    record("a", "bad", 1),
    record("b", "juste " * 40, 4, language="hi"),
    record("c", "good answer " * 9, 5),
    record("d", "", 2, language="hi"),
]


def save_judge(folder: Path, steps: int = 50, records: Sequence[JudgeRecord] = RECORDS, **changes: Any) -> Path:
    """A model folder as train.sft leaves it, whose judge gives each record its gold score, not yet with certainty.

    ``changes`` are of the model's config.
    """
    tokenizer, model = pico.tokenizer(), pico.model("llama", **changes)
    examples = [
        encode_example(tokenizer, build_messages(one, *SPEC[:2]), build_verdict("good feedback.", one.score or 0))
        for one in records
    ]
    longest = max(len(one.prompt) + len(one.completion) for one in examples)
    ids = torch.zeros(len(examples), longest, dtype=torch.long)
    labels = torch.full_like(ids, -100)
    for row, (prompt, completion) in enumerate(examples):
        end = len(prompt) + len(completion)
        ids[row, :end] = torch.tensor([*prompt, *completion])
        labels[row, len(prompt) : end] = torch.tensor(completion)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(steps):
        model(input_ids=ids, attention_mask=(ids != 0).long(), labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.generation_config = GenerationConfig(eos_token_id=stop_token_ids(tokenizer), pad_token_id=0)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    SPEC.save(folder)
    return folder
