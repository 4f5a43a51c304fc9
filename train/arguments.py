"""What train.sft is told: trl's SFTConfig and ModelConfig, every field under its trl name, and this project's own.

A YAML file and flags are read by trl's TrlParser; what it would answer with a traceback is a one-line error here.
"""

import os
import sys
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, NamedTuple, NoReturn, get_args, get_type_hints

import torch
from transformers.utils import is_torch_bf16_gpu_available
from trl import ModelConfig, SFTConfig, TrlParser

from core.chat import chat_template_names
from core.config import check_known, load_yaml, unquoted_word
from core.errors import ConfigError
from core.length import VERDICT_TOKENS
from core.prompt import TEMPLATES, check_template
from core.prompt_spec import PromptSpec

LANGUAGE = "{language}"
# Fields of trl that would fight with what this project does itself, and what to use.
_REPLACED = {
    "chat_template_path": "name a template with chat_template",
    "eos_token": "the end-of-turn token comes from the chat template",
    "model_init_kwargs": "use dtype, attn_implementation and the other model fields",
    "trust_remote_code": "remote code is never run",
    "completion_only_loss": "loss is always on the verdict only",
    "assistant_only_loss": "loss is always on the verdict only",
    "padding_free": "use packing, which includes it",
}


@dataclass
class DataArguments:
    """The records to train on. ``{language}`` in a file name or in output_dir stands for each language asked for."""

    train_file: list[str] = field(metadata={"help": "records.jsonl to train on; one or more"})
    validation_file: list[str] | None = field(default=None, metadata={"help": "records.jsonl to measure the loss on"})
    language: list[str] | None = field(
        default=None, metadata={"help": "code or codes of the languages to train on; all that the files hold if unset"}
    )
    allow_overlap: bool = field(
        default=False, metadata={"help": "train although validation shares items or instructions"}
    )

    def __post_init__(self) -> None:
        if self.language:
            self.language = [code for word in _as_list(self.language) for code in word.split()]
        self.train_file = self._expand(_as_list(self.train_file))
        if self.validation_file:
            self.validation_file = self._expand(_as_list(self.validation_file))

    def _expand(self, names: list[str]) -> list[str]:
        expanded = []
        for name in names:
            if LANGUAGE in name and not self.language:
                raise ConfigError(f"{name} needs a language; pass --language, e.g. --language hi")
            expanded += [name.replace(LANGUAGE, code) for code in self.language or [""]] if LANGUAGE in name else [name]
        return expanded


@dataclass
class JudgeArguments:
    """How the judge is prompted, and what happens to an output folder that exists."""

    template: str = field(default="default", metadata={"help": f"prompt template: {' | '.join(TEMPLATES)}"})
    with_reference: bool = field(default=True, metadata={"help": "show the reference answer"})
    chat_template: str | None = field(
        default=None, metadata={"help": f"for a base model without one: {' | '.join(chat_template_names())}"}
    )
    if_exists: str = field(
        default="fail",
        metadata={"help": "output_dir exists: fail | resume | overwrite", "choices": ["fail", "resume", "overwrite"]},
    )

    def __post_init__(self) -> None:
        check_template(self.template)


@dataclass
class TrainingArguments(SFTConfig):
    """trl's SFTConfig with other defaults: max_length is the length policy's, two checkpoints are kept, and a machine
    without a GPU needs no flag.
    """

    max_length: int | None = field(
        default=4096,
        metadata={"help": "tokens of prompt and verdict; longer records are shortened or refused, never cut"},
    )
    save_total_limit: int | None = field(default=2, metadata={"help": "how many checkpoints are kept"})

    def __post_init__(self) -> None:
        if not self.output_dir:
            raise ConfigError("output_dir is not set; name the folder to write the judge to")
        self.use_cpu: bool = self.use_cpu or not torch.accelerator.is_available()
        if self.bf16 is None and not self.fp16:
            launched_with = os.environ.get("ACCELERATE_MIXED_PRECISION")
            self.bf16: bool | None = launched_with == "bf16" if launched_with else is_torch_bf16_gpu_available()
        if self.ddp_find_unused_parameters is None:
            self.ddp_find_unused_parameters: bool | None = False  # a language model uses all of its weights
        super().__post_init__()
        if not self.packing:  # the data set comes tokenized and within max_length; preparing it again could only cut
            self.dataset_kwargs = {"skip_prepare_dataset": True}


@dataclass
class ModelArguments(ModelConfig):
    """trl's ModelConfig, with LoRA on all linear projections unless told otherwise."""

    lora_target_modules: list[str] | None = field(
        default_factory=lambda: "all-linear",  # type: ignore[assignment]  # peft's own word, which trl's type forgets
        metadata={"help": "LoRA target modules; all-linear is every linear projection but the head"},
    )


class Arguments(NamedTuple):
    """All four groups; ``resolved`` is the whole config as the manifest keeps it, ``spec`` how the judge is prompted."""

    data: DataArguments
    judge: JudgeArguments
    training: TrainingArguments
    model: ModelArguments

    @property
    def spec(self) -> PromptSpec:
        assert self.training.max_length is not None
        return PromptSpec(self.judge.template, self.judge.with_reference, self.training.max_length)

    def resolved(self) -> dict[str, Any]:
        return asdict(self.data) | asdict(self.judge) | asdict(self.model) | self.training.to_dict()


def parse_arguments(argv: Sequence[str] | None = None, description: str | None = None) -> Arguments:
    """Read ``--config FILE`` and flags; flags win.

    Raises ConfigError for a field that is unknown, missing or out of range.
    """
    parser = _Parser(
        Arguments.__annotations__.values(), prog="python -m train.sft", description=description, allow_abbrev=False
    )
    try:
        arguments = Arguments(*parser.parse(argv))
    except (ValueError, TypeError) as error:  # what the dataclasses of trl and transformers refuse
        raise ConfigError(f"{str(error) or type(error).__name__}; correct the field it names") from None
    _check(arguments)
    return arguments


class _Parser(TrlParser):
    def parse(self, argv: Sequence[str] | None) -> tuple[Any, ...]:
        words = list(sys.argv[1:] if argv is None else argv)
        words = [part for word in words for part in (word.split("=", 1) if word.startswith("--config=") else [word])]
        known = [word.removeprefix("--") for action in self._actions for word in action.option_strings]
        for word in words:
            if word.startswith("--"):
                check_known(word[2:].split("=", 1)[0], [*known, "config"], "flag --")
        if "--config" in words:
            at = words.index("--config")
            path = words[at + 1] if at + 1 < len(words) else self.error("--config needs a file")
            del words[at : at + 2]
            self._take_yaml(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # trl's own defaults use names that transformers will drop
            return self.parse_args_into_dataclasses(words, look_for_args_file=False)

    def _take_yaml(self, path: str) -> None:
        values = load_yaml(path)
        types = {name: kind for group in self.dataclass_types for name, kind in get_type_hints(group).items()}
        for name, value in values.items():
            check_known(name, types, f"{path}: field ")
            for word in value if isinstance(value, list) else [value]:
                if isinstance(word, bool) and not {bool, int, float} & {types[name], *get_args(types[name])}:
                    raise unquoted_word(name, word, path)
        # As text, a number passes through the flag's own type check.
        self.set_defaults_with_config(
            **{name: str(value) if isinstance(value, int | float) else value for name, value in values.items()}
        )

    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message}; --help lists the fields")


def _check(arguments: Arguments) -> None:
    training, model = arguments.training, arguments.model
    if not model.model_name_or_path:
        raise ConfigError("model_name_or_path is not set; name the model folder or Hub id to train")
    if LANGUAGE in training.output_dir:
        training.output_dir = training.output_dir.replace(LANGUAGE, "-".join(arguments.data.language or ["all"]))
    if training.max_length is None or training.max_length <= VERDICT_TOKENS:
        raise ConfigError(
            f"max_length is {training.max_length}, and {VERDICT_TOKENS} tokens of it are the verdict's; give more"
        )
    if training.packing and "flash" not in (model.attn_implementation or ""):
        raise ConfigError(
            "packing lets records attend to one another without a variable-length attention kernel; "
            "set attn_implementation: flash_attention_2, or leave it off"
        )
    defaults = {f.name: f.default for f in fields(TrainingArguments)}
    for name, instead in _REPLACED.items():
        if getattr(training, name) != defaults[name]:
            raise ConfigError(f"{name} cannot be set here: {instead}")


def _as_list(value: list[str] | str) -> list[str]:
    """A list; from YAML one text may come alone."""
    return [value] if isinstance(value, str) else list(value)
