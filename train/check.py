"""Check that a saved checkpoint is usable: reopen it and look at what a judge needs. train.sft runs this at its end.

Run as:
    python -m train.check --model_name_or_path runs/judge

Weights are read shard by shard on CPU: every tensor that the config builds is there and no other, is finite and has
elements, an adapter is not zero. Tokenizer, chat template, generation config and judge.json are there, and the end-of-turn
token is among the stops. Then one verdict is written: where it does not end by itself within 32 tokens this is warned of
(a judge that has learned little does not stop); with --require_stop true, within 512, it is refused.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from pydantic import Field
from safetensors import SafetensorError, safe_open
from transformers import GenerationConfig
from transformers.integrations.deepspeed import unset_hf_deepspeed_config

from core.chat import encode_prompt, stop_token_id
from core.config import CommandConfig, run_command
from core.errors import ModelError
from core.length import VERDICT_TOKENS
from core.progress import say, warn
from core.prompt import build_messages
from core.prompt_spec import FILE, PromptSpec, load_prompt_spec
from core.records import JudgeRecord
from train.load import ADAPTER_WEIGHTS, INDEX, check_model, check_names, is_adapter, load_model, load_tokenizer
from train.unreadable import one_line

NEW_TOKENS = 32
AFTER_VERDICT = 4  # tokens: some templates close a turn with a line break before its token
# What the trial verdict is about.
TRIAL = JudgeRecord(
    id="trial", item_id="trial", language="en", instruction="Name three colours.", response="Red, green and blue.",
    criteria="Does the response name three colours?", score1_description="It names none.",
    score2_description="It names one.", score3_description="It names two.", score4_description="It names three, oddly.",
    score5_description="It names three.", reference_answer="Yellow, black and white.", reference_language="en",
)  # fmt: skip


class CheckConfig(CommandConfig):
    """What to check."""

    model_name_or_path: str = Field(description="folder of a model or a LoRA adapter")
    is_judge: bool = Field(True, description="false: a model that train.sft did not make may lack judge.json")
    require_stop: bool = Field(False, description="refuse a judge whose trial verdict does not end by itself")
    max_new_tokens: int | None = Field(
        None, ge=1, description=f"longest trial verdict, in tokens; {NEW_TOKENS}, with require_stop {VERDICT_TOKENS}"
    )


class Checked(NamedTuple):
    """What was found in a sound checkpoint; ``stops`` are the token ids that end a generation, ``written`` the tokens of
    the trial verdict.
    """

    tensors: int
    stops: list[int]
    stopped_by_itself: bool
    written: int


def main(config: CheckConfig) -> None:
    checked = check_checkpoint(**config.model_dump(exclude={"model_name_or_path"}), model=config.model_name_or_path)
    say(describe(config.model_name_or_path, checked))


def check_checkpoint(
    model: str | Path,
    is_judge: bool = False,
    require_stop: bool = False,
    max_new_tokens: int | None = None,
    tokenizer: Any = None,
    verdict: str | None = None,
) -> Checked:
    """Check one folder, in this process alone; ``is_judge`` says that it has to hold judge.json, ``tokenizer`` is the
    folder's where it is loaded already (a large one takes seconds). The trial goes on from ``verdict``, where one is given:
    a judge that knows the form then stops at once, however long its own would be.

    Warns of a trial verdict that does not end within ``max_new_tokens``. Raises ModelError that names the first fault.
    """
    folder = Path(model)
    if not folder.is_dir():
        raise ModelError(f"model folder {folder} does not exist; name the folder of a checkpoint")
    check_model(folder)
    # After a ZeRO-3 training transformers would still load and generate in step with the other processes.
    unset_hf_deepspeed_config()
    tensors = check_weights(folder)
    tokenizer = load_tokenizer(folder) if tokenizer is None else tokenizer
    stops = _generation_stops(folder)
    stop = stop_token_id(tokenizer)
    if stop not in stops:
        raise ModelError(
            f"{folder}: generation stops at {stops}, which lacks the end-of-turn token {stop} "
            f"({tokenizer.convert_ids_to_tokens(stop)}); add it to eos_token_id in generation_config.json"
        )
    if load_prompt_spec(folder) is None and is_judge:
        raise ModelError(f"{folder} has no {FILE}, which says how to prompt the judge; take it from its training")
    max_new_tokens = max_new_tokens or (
        VERDICT_TOKENS if require_stop else NEW_TOKENS if verdict is None else AFTER_VERDICT
    )
    written = _trial(folder, tokenizer, max_new_tokens, verdict)
    checked = Checked(tensors, stops, bool(written) and written[-1] in stops, len(written))
    if not checked.stopped_by_itself:
        after = "" if verdict is None else " after its score"
        unended = f"{folder}: a trial verdict did not end by itself within {max_new_tokens} tokens{after}"
        if require_stop:
            raise ModelError(f"{unended}; train longer, or allow longer verdicts with --max_new_tokens")
        warn(f"{unended}: trained too little to stop, or given to longer verdicts (--max_new_tokens)")
    return checked


def check_weights(folder: Path, values: bool = True, names: bool = True) -> int:
    """Look at every tensor of a model or adapter folder; their number. Not read are the ``values`` and not compared with the
    config are the ``names`` and shapes where the caller knows them to be sound.

    Raises ModelError for the first unsound one.
    """
    files = weight_files(folder)
    seen: dict[str, str] = {}
    learned = not is_adapter(folder)
    for file in files:
        for name, tensor in _tensors(file):
            if tensor.numel() == 0:
                raise ModelError(f"{file}: {name} has no elements; save the checkpoint again from the training")
            if values and not _is_finite(tensor):
                raise ModelError(
                    f"{file}: {name} holds NaN or infinity; train again, with a lower learning_rate or in bf16"
                )
            learned = learned or ("lora_B" in name and bool(tensor.any()))
            seen[name] = file.name
    if names:
        check_names(folder)
    if not learned:
        raise ModelError(
            f"{folder}: every lora_B is zero, so the adapter does nothing; it was saved untrained or empty"
        )
    if (folder / INDEX).is_file() and (named := _index(folder)) != seen:
        differing = sorted(name for name in named.keys() | seen.keys() if named.get(name) != seen.get(name))
        raise ModelError(
            f"{folder}: {INDEX} and the shards differ in {len(differing)} tensors ({', '.join(differing[:3])}); "
            "save the checkpoint again into an empty folder"
        )
    return len(seen)


def describe(model: str | Path, checked: Checked) -> str:
    """The one line that a sound checkpoint earns."""
    end = "stopped by itself after" if checked.stopped_by_itself else "had not stopped after"
    found = f"{checked.tensors} tensors finite, generation stops at tokens {checked.stops}"
    return f"checked {model}: {found}, a trial one {end} {checked.written} tokens"


def weight_files(folder: Path) -> list[Path]:
    """The weight files of a folder. Raises ModelError for two layouts at once, or files that the index does not name."""
    if is_adapter(folder):
        return [folder / ADAPTER_WEIGHTS]
    present = {path.name for path in folder.glob("model*.safetensors")}
    if not present:
        raise ModelError(f"{folder} has no safetensors weights; convert the checkpoint to safetensors")
    expected = set(_index(folder).values()) if (folder / INDEX).is_file() else {"model.safetensors"}
    if present != expected:
        raise ModelError(
            f"{folder}: weight files {', '.join(sorted(present ^ expected))} are of another save, or missing; "
            "save the checkpoint again into an empty folder"
        )
    return [folder / name for name in sorted(present)]


def _trial(folder: Path, tokenizer: Any, max_new_tokens: int, verdict: str | None) -> list[int]:
    """The tokens of one greedy verdict, prompted as the folder's judge.json says, or what follows ``verdict``."""
    judge = load_model(folder, device="cpu")
    spec = load_prompt_spec(folder) or PromptSpec()
    ids = encode_prompt(tokenizer, build_messages(TRIAL, spec.template, spec.with_reference))
    if verdict is not None:
        ids = [*ids, *tokenizer(verdict, add_special_tokens=False)["input_ids"]]
    prompt = torch.tensor([ids])
    with one_line(f"{folder} writes no trial verdict", "correct its generation_config.json or config.json"):
        written = judge.generate(
            input_ids=prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=max_new_tokens, do_sample=False
        )
    return written[0, len(ids) :].tolist()


def _index(folder: Path) -> dict[str, str]:
    """Tensor name → shard, from the index file."""
    try:
        shards = dict(json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"])
        if not all(isinstance(name, str) for name in shards.values()):
            raise TypeError
        return shards
    except (OSError, ValueError, KeyError, TypeError):
        raise ModelError(f"{folder / INDEX} is not an index; save the checkpoint again into an empty folder") from None


def _is_finite(tensor: torch.Tensor) -> bool:
    # Least and greatest value carry any NaN along, and are found over ten times faster than by isfinite in bfloat16.
    if not tensor.is_floating_point():
        return True
    least, greatest = torch.aminmax(tensor)
    return bool(torch.isfinite(least) & torch.isfinite(greatest))


def _tensors(file: Path) -> Iterator[tuple[str, torch.Tensor]]:
    try:
        with safe_open(file, framework="pt", device="cpu") as opened:
            for name in opened.keys():  # noqa: SIM118 (safe_open is no mapping)
                yield name, opened.get_tensor(name)
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{file} cannot be read ({error}); save the checkpoint again") from None


def _generation_stops(folder: Path) -> list[int]:
    with one_line(f"{folder} has no generation_config.json to read", "save the checkpoint again from the training"):
        stops = GenerationConfig.from_pretrained(folder).eos_token_id
    return stops if isinstance(stops, list) else [] if stops is None else [stops]


if __name__ == "__main__":
    run_command(main, CheckConfig)
