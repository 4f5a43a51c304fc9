"""Whether models can be merged, from their configs, tokenizers and weight headers alone: before any weight loads."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import AutoConfig

from core.errors import ConfigError, ModelError
from core.progress import warn
from core.prompt_spec import load_prompt_spec
from merge.bases import check_base, check_one_base
from merge.headers import Header, read_headers
from merge.recipe import BASE, MergeConfig, base_is_second
from merge.side_files import check_side_files
from merge.source import local_folder
from merge.vocabulary import chat_template, check_template, check_vocabulary
from train.load import base_of, check_model, is_adapter
from train.unreadable import one_line

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
    with one_line(f"{name}: the config of {weights} cannot be read", "copy the whole model"):
        config = AutoConfig.from_pretrained(weights)
    if not isinstance(config.architectures, list) or len(config.architectures) != 1:  # mergekit goes by it
        raise ModelError(f"{name}: {weights}/config.json has to name one architecture; copy the whole model")
    headers = read_headers(weights)
    if folder != weights:
        # An adapter may bring embeddings of its own, with more rows than its base has.
        own = {tensor.removeprefix("base_model.model."): header for tensor, header in read_headers(folder).items()}
        headers |= {tensor: headers[tensor]._replace(shape=own[tensor].shape) for tensor in headers.keys() & own.keys()}
    source = Source(name, folder, weights, headers, config)
    _check_floats(source)
    return source


def check_alike(config: MergeConfig, sources: Mapping[str, Source]) -> None:
    """Refuse inputs that do not belong together: same vocabulary, configuration, tensors, base; one template and prompt.

    The base may lack a chat template. Raises ModelError, or ConfigError where ``tokenizer_from`` has to choose or the base
    is not the one that an expert was tuned from.
    """
    experts = [sources[name] for name in config.experts]
    first, *others = sources.values()
    _check_distinct(sources.values())
    for other in others:
        check_vocabulary(first.name, first.tokenizer, other.name, other.tokenizer)
    check_tensors(sources)
    _check_bases(config, sources)
    for expert in experts:
        check_side_files(expert.folder)
        if chat_template(expert.tokenizer) is None:
            raise ModelError(
                f"expert {expert.name} ({expert.folder}) has no chat template, so it cannot be prompted as a judge; "
                "copy chat_template.jinja from its training"
            )
    check_template(sources[config.donor].tokenizer)
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


def expected_shapes(source: Source) -> dict[str, tuple[int, ...]]:
    """Shape of each tensor that a checkpoint has to hold. A head tied to the embeddings may be stored or not."""
    tied = getattr(source.config, "tie_word_embeddings", False)
    return {
        name: header.shape for name, header in source.headers.items() if not (tied and name.endswith("lm_head.weight"))
    }


def warn_of_dtypes(sources: Mapping[str, Source], dtype: str) -> None:
    """Say which inputs are stored in another dtype than the merge computes in."""
    others: dict[str, list[str]] = {}
    for source in sources.values():
        stored = {header.dtype for header in source.headers.values() if header.is_float}
        if stored != {dtype}:
            others.setdefault(", ".join(sorted(stored)), []).append(source.name)
    for stored_in, names in others.items():
        warn(f"{', '.join(names)}: stored in {stored_in}, converted to {dtype} before the merge")


def _check_bases(config: MergeConfig, sources: Mapping[str, Source]) -> None:
    folders = {name: sources[name].folder for name in config.experts}
    if config.base_model is None or base_is_second(config):
        check_one_base(folders if config.base_model is None else {**folders, BASE: sources[BASE].folder})
        return
    for name, folder in folders.items():
        check_base(name, folder, config.base_model)


def _check_floats(source: Source) -> None:
    """Quantized weights have no arithmetic that a merge could use."""
    packed = sorted(name for name, header in source.headers.items() if name.endswith("weight") and not header.is_float)
    if packed or getattr(source.config, "quantization_config", None):
        what = f"{packed[0]} is {source.headers[packed[0]].dtype}" if packed else "its config says so"
        raise ModelError(
            f"{source.name} ({source.folder}) is quantized ({what}); merge the float weights it was made from"
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
