"""Models and tokenizers from a folder or the Hub: plain checkpoints and LoRA adapters, whole or refused."""

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from httpx2 import HTTPError  # what huggingface_hub speaks HTTP with
from huggingface_hub import hf_hub_download, snapshot_download
from huggingface_hub.errors import (
    EntryNotFoundError,
    HFValidationError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from peft import PeftConfig, PeftModel, get_peft_model, get_peft_model_state_dict
from safetensors import SafetensorError, safe_open
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig
from transformers.utils.logging import disable_progress_bar

from core.chat import set_chat_template
from core.errors import ModelError
from core.progress import is_main_process
from train.hub import CONFIG, check_hub_model
from train.template import check_renders
from train.tokenizer_file import added_tokens, uncollected
from train.unreadable import one_line, reason

ADAPTER_CONFIG = "adapter_config.json"
ADAPTER_WEIGHTS = "adapter_model.safetensors"
INDEX = "model.safetensors.index.json"
_ADAPTER_FILES = ["*.json", ADAPTER_WEIGHTS, "*.jinja", "tokenizer.model", "*.txt"]
WEIGHTS = ("model.safetensors", INDEX, "pytorch_model.bin", "pytorch_model.bin.index.json")


def check_model(model: str | Path, whole: bool = False, revision: str | None = None) -> None:
    """What can be known of a model before it loads: the folder is there and holds weights, and so is an adapter's base;
    a name that is no folder is a Hub id that this login may read.

    ``whole`` refuses an adapter. Raises ModelError.
    """
    folder = Path(model)
    if not folder.is_dir():
        if folder.is_absolute() or str(model).startswith(".") or str(model).count("/") > 1 or folder.exists():
            raise ModelError(f"model folder {model} does not exist; name a folder with a model, or a Hub id")
        check_hub_model(str(model), revision, files=(CONFIG,) if whole else (CONFIG, ADAPTER_CONFIG))
    elif is_adapter(folder):
        if whole:
            raise ModelError(
                f"{model} is an adapter where a whole model is needed; fold it first (python -m merge.fold)"
            )
        if not (folder / ADAPTER_WEIGHTS).is_file():
            raise ModelError(f"adapter folder {model} has no {ADAPTER_WEIGHTS}; take it from a finished training")
        try:
            check_model(base_of(folder), whole=True)
        except ModelError as error:
            raise ModelError(
                f"the base of adapter {model}: {error} (it stands in {ADAPTER_CONFIG} as base_model_name_or_path, "
                "relative to the working folder)"
            ) from None
    elif not (folder / "config.json").is_file() or not any((folder / name).is_file() for name in WEIGHTS):
        lacking = "no weights" if (folder / "config.json").is_file() else "no config.json"
        raise ModelError(f"model folder {model} has {lacking}; name the folder that a training or download finished")


def is_adapter(model: str | Path) -> bool:
    """Whether this is a folder that holds a LoRA adapter, and not a whole model."""
    return (Path(model) / ADAPTER_CONFIG).is_file()


def adapter_folder(model: str | Path, revision: str | None = None) -> Path | None:
    """The folder of a LoRA adapter, fetched where ``model`` is the Hub id of one; None for a whole model.

    transformers would attach an adapter of the Hub by itself, but without looking for weights that it lacks. Raises
    ModelError where one cannot be fetched.
    """
    if Path(model).is_dir():
        return Path(model) if is_adapter(model) else None
    try:
        hf_hub_download(str(model), ADAPTER_CONFIG, revision=revision)
        return Path(snapshot_download(str(model), revision=revision, allow_patterns=_ADAPTER_FILES))
    except (EntryNotFoundError, RepositoryNotFoundError, RevisionNotFoundError, HFValidationError):
        return None  # no adapter, or nothing at all, which loading says better
    except (HTTPError, OSError, ValueError) as error:
        raise ModelError(
            f"adapter {model} could not be fetched whole from the Hub ({reason(error)}); run the command again"
        ) from None


def base_of(adapter: str | Path) -> str:
    """The folder or Hub id of the model that an adapter was trained on. Raises ModelError where it is not recorded."""
    path = Path(adapter) / ADAPTER_CONFIG
    try:
        base = json.loads(path.read_text(encoding="utf-8"))["base_model_name_or_path"]
    except (OSError, ValueError, KeyError, TypeError):
        base = None
    if not isinstance(base, str) or not base:
        raise ModelError(
            f"{path} names no base_model_name_or_path; write the model that the adapter was trained on there"
        )
    return base


def load_model(
    model: str | Path,
    dtype: str | torch.dtype = "auto",
    device: str | torch.device | None = "auto",
    attn_implementation: str | None = None,
    **kwargs: Any,
) -> Any:
    """A causal language model in eval mode; an adapter (folder or Hub id) gives a PeftModel on the base that it records.

    ``device`` "auto" is the GPU where there is one; None leaves placement to the caller (DeepSpeed). Raises ModelError
    for a folder or Hub id that cannot be loaded whole: a missing, misshapen or unreadable weight is never made up.
    """
    check_model(model, revision=kwargs.get("revision"))
    if not (sys.stderr.isatty() and is_main_process()):
        disable_progress_bar()
    kwargs |= {"dtype": dtype, "attn_implementation": attn_implementation}
    adapter = adapter_folder(model, kwargs.get("revision"))
    if adapter is not None and not Path(model).is_dir():
        kwargs.pop("revision", None)  # the adapter's own, which its base knows nothing of
    loaded = _load_base(str(model), kwargs) if adapter is None else _load_adapter(adapter, kwargs)
    _check_stops(loaded.generation_config, model)
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    return (loaded if device is None else loaded.to(device)).eval()


def check_names(model: str | Path) -> None:
    """Compare the tensors of a model or adapter folder with what its config builds: names and shapes, tied weights once.
    Nothing is loaded. Raises ModelError where one is missing, misshapen or without a place.
    """
    folder, whole = Path(model), not is_adapter(model)
    base = _load_base(str(model) if whole else base_of(folder), {"device_map": "meta"}, exact=whole)
    if whole:
        return
    stored = _shapes(folder / ADAPTER_WEIGHTS)
    _fit_vocabulary(base, stored, folder)
    with _adapter_errors(folder):
        built = get_peft_model(base, PeftConfig.from_pretrained(folder), low_cpu_mem_usage=True)
    _check_adapter_names(folder, built, stored)


def load_tokenizer(
    model: str | Path,
    chat_template: str | None = None,
    revision: str | None = None,
    needs_chat_template: bool = True,
) -> Any:
    """The tokenizer of a model or adapter folder or Hub id, with its own chat template or the one named.

    An adapter without a tokenizer takes its base's. A tokenizer without a pad token gets a reserved one, else
    its unknown token, else EOS: labels and attention are masked by length here, never by the pad id. Raises ModelError,
    also where there is no chat template and one is needed, and ConfigError for an unknown one.
    """
    source = str(model)
    adapter = adapter_folder(model, revision)
    if adapter is not None and not (adapter / "tokenizer_config.json").is_file():
        source, revision = base_of(adapter), None
    with one_line(f"no tokenizer in {source}", "name a model folder or Hub id with one"), uncollected():
        tokenizer = AutoTokenizer.from_pretrained(source, revision=revision or "main", **added_tokens(source))
    if needs_chat_template:
        set_chat_template(tokenizer, chat_template)
        check_renders(tokenizer)
    if tokenizer.pad_token is None:
        reserved = [str(token) for token in tokenizer.added_tokens_decoder.values() if "pad" in str(token).lower()]
        tokenizer.pad_token = reserved[0] if reserved else tokenizer.unk_token or tokenizer.eos_token
    return tokenizer


def _load_base(model: str, kwargs: dict[str, Any], exact: bool = False) -> Any:
    with one_line(f"model {model} cannot be loaded", "correct the file or setting that this is of, or copy it again"):
        loaded, info = AutoModelForCausalLM.from_pretrained(
            model, output_loading_info=True, ignore_mismatched_sizes=True, **kwargs
        )
    for fault in ("missing_keys", "mismatched_keys", *(["unexpected_keys"] if exact else [])):
        if info[fault]:
            names = sorted(key if isinstance(key, str) else key[0] for key in info[fault])
            raise ModelError(
                f"model {model} has {len(names)} {fault.removesuffix('_keys')} weights ({', '.join(names[:3])}); "
                "copy the whole checkpoint again"
            )
    return loaded


def _load_adapter(folder: Path, kwargs: dict[str, Any]) -> Any:
    try:
        base = _load_base(base_of(folder), kwargs)
    except ModelError as error:
        raise ModelError(f"the base of adapter {folder} is looked for from the working folder: {error}") from None
    stored = _shapes(folder / ADAPTER_WEIGHTS)
    _fit_vocabulary(base, stored, folder)
    with warnings.catch_warnings(), _adapter_errors(folder):
        warnings.simplefilter("ignore", UserWarning)  # peft only warns of missing weights; they are refused below
        warnings.simplefilter("ignore", FutureWarning)  # peft calls transformers by names that it will drop
        if (folder / "generation_config.json").is_file():
            base.generation_config = GenerationConfig.from_pretrained(folder)
        loaded = PeftModel.from_pretrained(base, folder, config=PeftConfig.from_pretrained(folder))
    _check_adapter_names(folder, loaded, stored)
    return loaded


def _check_stops(config: GenerationConfig, model: str | Path) -> None:
    found = config.eos_token_id
    if not all(isinstance(token, int) for token in (found if isinstance(found, list) else [found or 0])):
        raise ModelError(
            f"{model}: its generation config's eos_token_id is {found!r}; make it one token id, or several"
        )


@contextmanager
def _adapter_errors(folder: Path) -> Iterator[None]:
    """One line for an adapter whose config is none, or that its base cannot take."""
    with one_line(f"{folder / ADAPTER_CONFIG} is no adapter's, or of another base", "copy it again"):
        try:
            yield
        except RuntimeError as error:  # of many lines, of which one names the first weight
            misfit = [line.strip() for line in str(error).splitlines() if "size mismatch" in line]
            if misfit:
                raise RuntimeError(misfit[0]) from None
            raise


def _check_adapter_names(folder: Path, model: Any, stored: dict[str, list[int]]) -> None:
    expected = get_peft_model_state_dict(model, save_embedding_layers=False)
    if missing := sorted(expected.keys() - stored.keys()):
        raise ModelError(
            f"adapter {folder} lacks {len(missing)} of {len(expected)} weights ({missing[0]}), so it would judge as "
            "its base does; take it from a finished training"
        )
    if stray := sorted(name for name in stored.keys() - expected.keys() if "lora_" in name):
        raise ModelError(
            f"adapter {folder} holds {len(stray)} weights that its base has no place for ({stray[0]}); "
            "use the base that it was trained on"
        )
    if misshapen := sorted(name for name, weight in expected.items() if list(weight.shape) != stored[name]):
        name = misshapen[0]
        raise ModelError(
            f"adapter {folder} holds {name} in shape {stored[name]}, its config and base build {list(expected[name].shape)}; "
            "copy it again from a finished training"
        )


def _shapes(file: Path) -> dict[str, list[int]]:
    try:
        with safe_open(file, framework="pt") as tensors:
            return {name: tensors.get_slice(name).get_shape() for name in tensors.keys()}  # noqa: SIM118 (no mapping)
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{file} cannot be read ({reason(error)}); copy the adapter again") from None


def _fit_vocabulary(base: Any, stored: dict[str, list[int]], folder: Path) -> None:
    """Grow the base's embeddings to the rows that an adapter stored. Raises ModelError where these are fewer."""
    rows = next((shape[0] for name, shape in stored.items() if name.endswith("embed_tokens.weight")), None)
    have = base.get_input_embeddings().weight.shape[0]
    if rows is None or rows == have:
        return
    if rows < have:
        raise ModelError(
            f"adapter {folder} was trained with {rows} tokens, its base has {have}; use the base it was trained on"
        )
    base.resize_token_embeddings(rows, mean_resizing=False)
