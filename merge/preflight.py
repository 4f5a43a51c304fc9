"""Whether models can be merged, from their configs, tokenizers and weight headers alone: before any weight loads."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import AutoConfig

from core.errors import ConfigError, ModelError
from core.prompt_spec import FILE as PROMPT_SPEC
from core.prompt_spec import load_prompt_spec
from core.run import fingerprint, shown_path
from merge.headers import Header, read_headers
from merge.recipe import MergeConfig
from merge.source import local_folder
from merge.vocabulary import chat_template, check_vocabulary
from train.load import base_of, check_model, is_adapter

# Fields of a config that may differ between models of one architecture: they do not enter the forward pass.
_FREE = {
    "architectures", "attention_dropout", "bos_token_id", "dtype", "eos_token_id", "id2label", "initializer_range",
    "label2id", "pad_token_id", "transformers_version", "use_cache", "vocab_size",
}  # fmt: skip


@dataclass(frozen=True)
class Source:
    """One input of a merge. ``weights`` is the folder whose headers were read: an adapter's base until it is folded.

    No tokenizer is kept: a large one costs seconds to load and a gigabyte beside the merge.
    """

    name: str
    folder: Path
    weights: Path
    headers: dict[str, Header]
    config: Any

    @property
    def is_adapter(self) -> bool:
        return self.folder != self.weights

    @property
    def tokenizer(self) -> Path:
        """The folder with the tokenizer: its own, or the base's for an adapter that was saved without one."""
        return self.folder if (self.folder / "tokenizer_config.json").is_file() else self.weights


def read_source(name: str, model: str) -> Source:
    """Fetch and open one input, weights unread. Raises ModelError where a part is missing or broken."""
    folder = local_folder(model)
    check_model(folder)
    weights = local_folder(base_of(folder)) if is_adapter(folder) else folder
    try:
        config = AutoConfig.from_pretrained(weights)
    except (OSError, ValueError) as error:
        raise ModelError(f"{name}: the config of {weights} cannot be read ({error}); copy the whole model") from None
    return Source(name, folder, weights, read_headers(weights), config)


def check_alike(config: MergeConfig, sources: Mapping[str, Source]) -> None:
    """Refuse inputs that do not belong together: same vocabulary, configuration, tensors, base; one template and prompt.

    The base may lack a chat template. Raises ModelError, or ConfigError where ``tokenizer_from`` has to choose.
    """
    experts = [sources[name] for name in config.experts]
    first, *others = sources.values()
    _check_distinct(sources.values())
    for other in others:
        check_vocabulary(first.name, first.tokenizer, other.name, other.tokenizer)
    check_tensors(sources)
    for expert in experts:
        if config.base_model is not None:
            _check_base(expert, config.base_model)
        if chat_template(expert.tokenizer) is None:
            raise ModelError(
                f"expert {expert.name} ({expert.folder}) has no chat template, so it cannot be prompted as a judge; "
                "copy chat_template.jinja from its training"
            )
    if config.tokenizer_from is None:
        _check_one({expert.name: chat_template(expert.tokenizer) for expert in experts}, "chat templates")
        prompts = {expert.name: load_prompt_spec(expert.folder) for expert in experts}
        _check_one({name: spec and spec[:2] for name, spec in prompts.items()}, "prompts (judge.json)")


def check_tensors(sources: Mapping[str, Source]) -> None:
    """Refuse inputs whose configs or tensors differ; again after adapters are folded. Raises ModelError."""
    first, *others = sources.values()
    for other in others:
        _check_config(first, other)
        _check_shapes(first, other)


def recorded_base(folder: Path) -> str | None:
    """The model that a judge was tuned from, as train.sft noted it in judge.json; None where it did not."""
    path = folder / PROMPT_SPEC
    return json.loads(path.read_text(encoding="utf-8")).get("base_model") if path.is_file() else None


def expected_shapes(source: Source) -> dict[str, tuple[int, ...]]:
    """Shape of each tensor that a checkpoint has to hold. A head tied to the embeddings may be stored or not."""
    tied = getattr(source.config, "tie_word_embeddings", False)
    return {
        name: header.shape for name, header in source.headers.items() if not (tied and name.endswith("lm_head.weight"))
    }


def _check_base(expert: Source, base: str) -> None:
    """A change is measured from the checkpoint that was tuned: from any other (pretrained for Instruct) it is noise."""
    tuned = base_of(expert.folder) if expert.is_adapter else recorded_base(expert.folder)
    if tuned is None or shown_path(tuned) == shown_path(base):
        return
    if Path(tuned).is_dir() and Path(base).is_dir():
        same = fingerprint(tuned) == fingerprint(base)
    else:
        same = "/" not in tuned or Path(base).is_dir()  # a folder may hold what the Hub has under another name
    if not same:
        raise ConfigError(
            f"expert {expert.name} was tuned from {tuned}, but base_model is {base}; set base_model to the former (or, "
            f"where they are one model, correct base_model in {expert.folder}/{PROMPT_SPEC})"
        )


def _check_distinct(sources: Iterable[Source]) -> None:
    seen: dict[Path, str] = {}
    for source in sources:
        other = seen.setdefault(source.folder.resolve(), source.name)
        if other != source.name:
            raise ConfigError(f"{other} and {source.name} are the same folder {source.folder}; name each model once")


def _check_config(one: Source, other: Source) -> None:
    if type(one.config) is not type(other.config):
        kinds = f"{one.config.model_type} and {other.config.model_type}"
        raise ModelError(f"{one.name} and {other.name} have different architectures ({kinds}); merge like with like")
    a, b = one.config.to_dict(), other.config.to_dict()
    known = type(one.config)().to_dict().keys()
    for field in sorted(known - _FREE):
        if not field.startswith("_") and a.get(field) != b.get(field):
            raise ModelError(
                f"{one.name} and {other.name} differ in their config: {field} is {a.get(field)} and {b.get(field)}; "
                "merge models tuned from one checkpoint"
            )


def _check_shapes(one: Source, other: Source) -> None:
    a, b = expected_shapes(one), expected_shapes(other)
    for name in sorted(a.keys() | b.keys()):
        if a.get(name) != b.get(name):
            shapes = [list(shapes[name]) if name in shapes else "absent" for shapes in (a, b)]
            raise ModelError(
                f"{one.name} and {other.name} differ in {name}: {shapes[0]} and {shapes[1]}; merge models tuned from "
                "one checkpoint, with embeddings of one size"
            )


def _check_one(values: Mapping[str, Any], what: str) -> None:
    first = next(iter(values))
    odd = [name for name, value in values.items() if value != values[first]]
    if odd:
        raise ConfigError(
            f"the experts' {what} differ ({odd[0]} from {first}), and the merge can have only one; choose with "
            f"tokenizer_from: {' | '.join(values)}"
        )
