"""Judging in a process whose memory ends, for a test.

Run as: python -m tests.eval.little_memory JUDGE_FOLDER
"""

import resource
import sys
from pathlib import Path

import torch

from core.errors import ModelError
from core.records import JudgeRecord
from eval.backends.transformers import TransformersBackend
from eval.grading import fit_records
from tests.eval.pico_judge import SPEC, record
from train.load import load_model, load_tokenizer

PROMPTS, ROOM = 32, 40 * 2**20


def main() -> None:
    folder = sys.argv[1]
    torch.set_num_threads(1)
    model, tokenizer = load_model(folder, "float32", "cpu"), load_tokenizer(folder)
    prompts = [one.prompt or [] for one in fit_records(records(PROMPTS, 350), tokenizer, SPEC)]
    whole = TransformersBackend(model, tokenizer, 12).complete(prompts[:1])  # what is loaded late is loaded
    whole += [TransformersBackend(model, tokenizer, 12).complete([prompt])[0] for prompt in prompts[1:]]
    end_memory(2**20)
    try:
        TransformersBackend(model, tokenizer, 12).complete([prompts[0] * 100])
    except ModelError:
        print("one prompt alone: ModelError", flush=True)
    end_memory(ROOM)
    halved = TransformersBackend(model, tokenizer, 12).complete(prompts)
    print(sum(a.text == b.text for a, b in zip(whole, halved, strict=True)), "equal", flush=True)


def records(count: int, words: int) -> list[JudgeRecord]:
    return [record(str(number), "juste " * (words + number)) for number in range(count)]


def end_memory(room: int) -> None:
    """Let this process have ``room`` bytes of address space more than now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + room, resource.RLIM_INFINITY))


if __name__ == "__main__":
    main()
