"""What train.sft is told: trl's SFTConfig and ModelConfig, every field under its trl name, and this project's own.

A YAML file and flags are read by trl's TrlParser; what it would answer with a traceback is a one-line error here.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, NamedTuple

import torch
from transformers.utils import is_torch_bf16_gpu_available
from trl import ModelConfig, SFTConfig

from core.chat import chat_template_names
from core.errors import ConfigError
from core.length import VERDICT_TOKENS
from core.prompt import TEMPLATES, check_template
from core.prompt_spec import PromptSpec
from train.launcher import read_launcher
from train.limits import check_limits
from train.parser import ArgumentParser
from train.placeholders import LANGUAGE, check_placeholders, expand, named

# The paper's learning rates (arXiv 2410.13394).
FULL_RATE, LORA_RATE = 1e-5, 5e-4
# Fields of trl that would fight with what this project does itself, and what to use.
_REPLACED = {
    "chat_template_path": "name a template with chat_template",
    "eos_token": "the end-of-turn token comes from the chat template",
    "model_init_kwargs": "use dtype, attn_implementation and the other model fields",
    "trust_remote_code": "remote code is never run",
    "completion_only_loss": "loss is always on the verdict only",
    "assistant_only_loss": "loss is always on the verdict only",
    "padding_free": "use packing, which includes it",
    "resume_from_checkpoint": "if_exists: resume goes on from the last complete checkpoint of the same run",
    "enable_jit_checkpoint": "SIGTERM saves a checkpoint without it",
    "auto_find_batch_size": "another batch is another training; --plan says what fits",
    "push_to_hub": "merge.publish sends a judge to the Hub",
    "hub_token": "checkpoints would keep it; log in with `hf auth login` or set HF_TOKEN",
    "deepspeed": "accelerate launch --config_file FILE sets it up, from a deepspeed_config_file named there if you have one",
    "fsdp": "accelerate launch --config_file FILE sets it up",
}


@dataclass
class DataArguments:
    """The records to train on. ``{language}`` in a file name or in output_dir stands for each language asked for."""

    train_file: list[str] = field(metadata={"help": "records.jsonl to train on; one or more"})
    validation_file: list[str] | None = field(
        default=None, metadata={"help": "records.jsonl to measure loss and agreement on"}
    )
    test_file: list[str] | None = field(
        default=None, metadata={"help": "records.jsonl to test on later, read only to see that training shares nothing"}
    )
    language: list[str] | None = field(
        default=None, metadata={"help": "code or codes of the languages to train on; all that the files hold if unset"}
    )
    allow_overlap: bool = field(
        default=False, metadata={"help": "train although validation or test shares items or instructions"}
    )
    max_refused: float = field(
        default=0.5,
        metadata={"help": "largest share of a language's training records that may be too long to learn from"},
    )
    strip_score_sentence: bool = field(
        default=False, metadata={"help": 'learn feedback without the sentence that says the score ("So … is 4.")'}
    )

    def __post_init__(self) -> None:
        check_limits(self)
        if self.language is not None:
            self.language = [code for word in named("language", self.language) for code in word.split()]
        self.train_file = expand("train_file", self.train_file, self.language)
        if self.validation_file is not None:
            self.validation_file = expand("validation_file", self.validation_file, self.language)
        if self.test_file is not None:
            self.test_file = expand("test_file", self.test_file, self.language)

    @property
    def files(self) -> list[str]:
        """Every file that decides what is trained."""
        return [*self.train_file, *(self.validation_file or []), *(self.test_file or [])]


@dataclass
class JudgeArguments:
    """How the judge is prompted, and what happens to an output folder that exists."""

    template: str = field(default="default", metadata={"help": f"prompt template: {' | '.join(TEMPLATES)}"})
    reference: str = field(
        default="english",
        metadata={
            "help": "reference answer in the prompt: english | none | target (in the language of the response)",
            "choices": ["english", "none", "target"],
        },
    )
    chat_template: str | None = field(
        default=None, metadata={"help": f"for a base model without one: {' | '.join(chat_template_names())}"}
    )
    if_exists: str = field(
        default="fail",
        metadata={"help": "output_dir exists: fail | resume | overwrite", "choices": ["fail", "resume", "overwrite"]},
    )
    require_stop: bool = field(
        default=False, metadata={"help": "fail where the saved judge does not end its trial verdict by itself"}
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
    learning_rate: float | None = field(  # set before it is used
        default=None, metadata={"help": "peak learning rate; the paper's if unset: 1e-5, and 5e-4 with use_peft"}
    )
    effective_batch_size: int | None = field(
        default=None,
        metadata={"help": "records a step, over all processes; gradient_accumulation_steps then follows from it"},
    )
    gradient_accumulation_steps: int | None = field(  # set before it is used
        default=None, metadata={"help": "batches of a device in a step; 1 if unset and no effective_batch_size"}
    )
    train_sampling_strategy: str = field(
        default="group_by_length",
        metadata={
            "help": "group_by_length: the records of a batch are of like length, batches in random order; random: no "
            "grouping, as the paper had it; or another of transformers'. Packed records need no grouping",
            "choices": ["group_by_length", "random", "sequential", "batch_rebalance"],
        },
    )
    plan: bool = field(
        default=False, metadata={"help": "print steps, tokens, memory and disk of this training, and end"}
    )
    accelerate_config: str | None = field(
        default=None, metadata={"help": "with plan: the file that accelerate launch will be given as --config_file"}
    )
    validation_samples: int = field(
        default=64,
        metadata={"help": "records a language to write verdicts on at each evaluation; 0: none, the loss alone"},
    )
    max_new_tokens: int = field(
        default=VERDICT_TOKENS, metadata={"help": "longest verdict of an evaluation, in tokens"}
    )
    early_stopping_patience: int | None = field(
        default=None, metadata={"help": "stop after this many evaluations in a row without a better one"}
    )
    restore_callback_states_from_checkpoint: bool = field(
        default=True, metadata={"help": "a resumed run remembers, e.g., for how long early stopping has waited"}
    )

    def __post_init__(self) -> None:
        check_limits(self)
        if not self.output_dir:
            raise ConfigError("output_dir is not set; name the folder to write the judge to")
        if self.accelerate_config and not self.plan:
            raise ConfigError("accelerate_config goes with plan; start with accelerate launch --config_file FILE")
        launcher = read_launcher(self.accelerate_config)
        self.use_cpu: bool = self.use_cpu or not torch.accelerator.is_available()
        if self.bf16 is None and not self.fp16:
            asked = launcher.mixed_precision
            self.bf16: bool | None = asked == "bf16" if asked else is_torch_bf16_gpu_available()
        if self.bf16 and not (self.use_cpu or self.plan or is_torch_bf16_gpu_available()):
            raise ConfigError("bf16 is asked for and this GPU has none; set fp16: true, or bf16: false for float32")
        self._settle_batch(launcher.processes)
        if self.packing and self.train_sampling_strategy == "group_by_length":
            self.train_sampling_strategy = "random"  # packed rows are all of max_length
        if self.ddp_find_unused_parameters is None:
            self.ddp_find_unused_parameters: bool | None = False  # a language model uses all of its weights
        if self.validation_samples and self.metric_for_best_model is None and self._picks_best():
            self.metric_for_best_model: str | None = "eval_kappa"
        super().__post_init__()
        if not self.packing:  # the data set comes tokenized and within max_length; preparing it again could only cut
            self.dataset_kwargs = {"skip_prepare_dataset": True}

    def _settle_batch(self, processes: int) -> None:
        """Make the number of accumulated batches what effective_batch_size asks for."""
        given, together = self.gradient_accumulation_steps, self.per_device_train_batch_size * processes
        asked = self.effective_batch_size or together * (given or 1)
        self.gradient_accumulation_steps = asked // together
        if asked != together * self.gradient_accumulation_steps or given not in (
            None,
            self.gradient_accumulation_steps,
        ):
            raise ConfigError(
                f"effective_batch_size {asked} is not per_device_train_batch_size {self.per_device_train_batch_size} x "
                f"{processes} processes{f' x gradient_accumulation_steps {given}' if given else ''}; "
                f"{'leave gradient_accumulation_steps out, or ' if given else ''}change one so that it divides"
            )

    def _picks_best(self) -> bool:
        return bool(self.load_best_model_at_end or self.early_stopping_patience or self.save_strategy == "best")


@dataclass
class ModelArguments(ModelConfig):
    """trl's ModelConfig, with LoRA on all linear projections unless told otherwise."""

    lora_target_modules: list[str] | None = field(
        default_factory=lambda: "all-linear",  # type: ignore[assignment]  # peft's own word, which trl's type forgets
        metadata={"help": "LoRA target modules; all-linear is every linear projection but the head"},
    )

    def __post_init__(self) -> None:
        check_limits(self)
        named = [self.lora_target_modules] if isinstance(self.lora_target_modules, str) else self.lora_target_modules
        super().__post_init__()
        # trl hands a single word to peft as a pattern of whole names, which the name of a module is none of.
        if named and len(named) == 1 and named != ["all-linear"] and re.fullmatch(r"[\w.]+", named[0]):
            self.lora_target_modules = named
        if self.use_peft and self.lora_task_type != "CAUSAL_LM":
            raise ConfigError(f"lora_task_type is {self.lora_task_type}; a judge is a CAUSAL_LM, so leave it out")


class Arguments(NamedTuple):
    """All four groups; ``resolved`` is the whole config as the manifest keeps it, ``spec`` how the judge is prompted."""

    data: DataArguments
    judge: JudgeArguments
    training: TrainingArguments
    model: ModelArguments

    @property
    def spec(self) -> PromptSpec:
        assert self.training.max_length is not None
        return PromptSpec(self.judge.template, self.judge.reference != "none", self.training.max_length)

    def resolved(self) -> dict[str, Any]:
        # Another number of processes has other checkpoints, and other records in a step.
        processes = {"num_processes": self.training.world_size}
        return asdict(self.data) | asdict(self.judge) | asdict(self.model) | self.training.to_dict() | processes


def parse_arguments(argv: Sequence[str] | None = None, description: str | None = None) -> Arguments:
    """Read ``--config FILE`` and flags; flags win.

    Raises ConfigError for a field that is unknown, missing or out of range.
    """
    parser = ArgumentParser(
        Arguments.__annotations__.values(), prog="python -m train.sft", description=description, allow_abbrev=False
    )
    try:
        arguments = Arguments(*parser.parse(argv))
    except (ValueError, TypeError) as error:  # what the dataclasses of trl and transformers refuse
        raise ConfigError(f"{str(error) or type(error).__name__}; correct the field it names") from None
    if arguments.training.learning_rate is None:
        arguments.training.learning_rate = LORA_RATE if arguments.model.use_peft else FULL_RATE
    _check(arguments)
    return arguments


def _check(arguments: Arguments) -> None:
    training, model = arguments.training, arguments.model
    if not model.model_name_or_path:
        raise ConfigError("model_name_or_path is not set; name the model folder or Hub id to train")
    check_placeholders("output_dir", training.output_dir)
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
    if training.packing and training.packing_strategy != "bfd":
        raise ConfigError(f"packing_strategy {training.packing_strategy} cuts records in two; leave it at bfd")
    defaults = {f.name: f.default for f in fields(TrainingArguments)}
    for name, instead in _REPLACED.items():
        if getattr(training, name) != defaults[name]:
            raise ConfigError(f"{name} cannot be set here: {instead}")
