"""COMET checkpoints as Unbabel publishes them: read whole, or refused with what is wrong. Nothing in them is run."""

import pickle
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from accelerate import init_empty_weights
from httpx2 import HTTPError  # what huggingface_hub speaks HTTP with
from huggingface_hub import snapshot_download
from torch import Tensor
from transformers import AutoConfig, AutoTokenizer, XLMRobertaConfig

from core.errors import ModelError
from eval.comet.hparams import HPARAMS, Hparams, as_trained, read_hparams
from eval.comet.network import CometNetwork
from train.hub import check_hub_model

CHECKPOINT = "checkpoints/model.ckpt"
TOKENIZER_FILES = ("tokenizer.json", "sentencepiece.bpe.model")
_ENCODER_FILES = ("config.json", "tokenizer_config.json", "special_tokens_map.json", *TOKENIZER_FILES)
# In a checkpoint but in no score: positions that count from 0, and what drops layers in training.
_WITHOUT_EFFECT = {
    "encoder.model.embeddings.position_ids",
    "layerwise_attention.dropout_mask",
    "layerwise_attention.dropout_fill",
}
_GLOBAL = re.compile(r"(?:GLOBAL|[Gg]lobal|[Cc]lass) ([\w.]+\.[\w.]+)")


class Loaded(NamedTuple):
    """A checkpoint in memory: the network in float32 and in eval mode, and the tokenizer of its encoder."""

    network: CometNetwork
    tokenizer: Any


def check_comet(name: str | Path, revision: str | None = None) -> None:
    """What can be known of a checkpoint before its weights are read. Raises ModelError."""
    if not _is_folder(name):
        check_hub_model(str(name), revision, files=(HPARAMS,))
        return
    folder = Path(name)
    hparams = read_hparams(folder)
    if not (folder / CHECKPOINT).is_file():
        raise ModelError(f"{folder} has no {CHECKPOINT}; copy the checkpoint again")
    source = _encoder_source(hparams, folder)
    if not Path(source).is_dir():
        check_hub_model(source)


def is_comet(name: str | Path) -> bool:
    """Whether a folder or Hub id holds a COMET checkpoint, and not a language model."""
    if Path(name).is_dir():
        return (Path(name) / HPARAMS).is_file()
    try:
        check_hub_model(str(name), files=(HPARAMS,))
    except ModelError:
        return False
    return True


def load_checkpoint(name: str | Path, revision: str | None = None) -> Loaded:
    """Read a checkpoint folder, or one of the Hub, which is fetched into its cache.

    Weights come from the checkpoint, also the encoder's; only config and tokenizer come from where hparams.yaml names its
    pretrained_model: a Hub id, or a folder, absolute or relative to that of hparams.yaml. Raises ModelError.
    """
    check_comet(name, revision)
    folder = Path(name) if _is_folder(name) else _fetched(str(name), revision)
    hparams = read_hparams(folder)
    source = _encoder_source(hparams, folder)
    encoder = Path(source) if Path(source).is_dir() else _fetched(source, patterns=_ENCODER_FILES)
    config, tokenizer = _encoder_config(encoder), _tokenizer(encoder)
    stored = _read_pickle(folder / CHECKPOINT)
    hparams = as_trained(hparams, stored.get("hyper_parameters") or {}, folder)
    if hparams.layer != "mix" and hparams.layer > config.num_hidden_layers:
        raise ModelError(f"{folder}: layer {hparams.layer}, but its encoder has {config.num_hidden_layers}")
    # Without memory for weights that the checkpoint's take the place of.
    with init_empty_weights(include_buffers=False):
        network = CometNetwork(config, hparams)
    weights = {key: weight for key, weight in stored["state_dict"].items() if key not in _WITHOUT_EFFECT}
    _check_weights(network, weights, folder)
    network.load_state_dict(weights, assign=True)
    return Loaded(network.float().requires_grad_(False).eval(), tokenizer)


def _is_folder(name: str | Path) -> bool:
    """Whether this is a folder, and not a Hub id. Raises ModelError for a path to nothing."""
    path = Path(name)
    if path.is_dir():
        return True
    if path.is_absolute() or str(name).startswith(".") or str(name).count("/") > 1 or path.exists():
        raise ModelError(f"COMET folder {name} does not exist; name the folder that holds {HPARAMS}, or a Hub id")
    return False


def _fetched(name: str, revision: str | None = None, patterns: Sequence[str] | None = None) -> Path:
    """The folder of a repository of the Hub; of a checkpoint the whole, for its encoder's files may lie in it too."""
    try:
        return Path(
            snapshot_download(name, revision=revision, allow_patterns=None if patterns is None else [*patterns])
        )
    except (HTTPError, OSError, ValueError) as error:
        raise ModelError(
            f"{name} could not be fetched whole from the Hub ({_first_line(error)}); run the command again"
        ) from None


def _encoder_source(hparams: Hparams, folder: Path) -> str:
    """The folder or Hub id of the encoder's config and tokenizer."""
    named = hparams.pretrained_model
    beside = folder / named  # an absolute path stays what it is
    if beside.is_dir():
        return str(beside)
    if Path(named).is_absolute() or named.startswith(".") or named.count("/") > 1:
        raise ModelError(
            f"{folder / HPARAMS}: pretrained_model {named} does not exist; "
            f"name a Hub id, or a folder, absolute or relative to {folder}"
        )
    return named


def _encoder_config(folder: Path) -> XLMRobertaConfig:
    try:
        config = AutoConfig.from_pretrained(folder)
    except (OSError, ValueError) as error:
        raise ModelError(
            f"no config of the encoder in {folder} ({_first_line(error)}); correct pretrained_model"
        ) from None
    if not isinstance(config, XLMRobertaConfig):
        raise ModelError(f"{folder} is a {config.model_type} where XLM-RoBERTa is needed; correct pretrained_model")
    return config


def _tokenizer(folder: Path) -> Any:
    # Without either, transformers makes a tokenizer that knows no word.
    if not any((folder / name).is_file() for name in TOKENIZER_FILES):
        raise ModelError(f"{folder} has no {' or '.join(TOKENIZER_FILES)} of the encoder; correct pretrained_model")
    try:
        return AutoTokenizer.from_pretrained(folder)
    except (OSError, ValueError) as error:
        raise ModelError(
            f"no tokenizer of the encoder in {folder} ({_first_line(error)}); correct pretrained_model"
        ) from None


def _read_pickle(path: Path) -> dict[str, Any]:
    """A Lightning checkpoint, read with weights_only. Raises ModelError, naming the global that it would have run."""
    try:
        stored = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        named = _GLOBAL.search(str(error))
        what = f"holds {named[1]}, which is no weight" if named else f"is no file of weights ({_first_line(error)})"
        raise ModelError(f"{path} {what}; it is not read: take a checkpoint with weights alone") from None
    except Exception as error:  # what is no pickle fails in any way
        raise ModelError(f"{path} cannot be read ({_first_line(error)}); copy the checkpoint again") from None
    if not isinstance(stored, dict) or not isinstance(stored.get("state_dict"), Mapping):
        raise ModelError(f"{path} has no state_dict; take the checkpoint that Lightning wrote")
    return stored


def _check_weights(network: CometNetwork, weights: Mapping[str, Tensor], folder: Path) -> None:
    """Raises ModelError where names or shapes are not exactly those of the network, and for weights that are not finite."""
    expected = {name: tuple(weight.shape) for name, weight in network.state_dict().items()}
    faults = {
        "lacks": sorted(expected.keys() - weights.keys()),
        "has, with no place in the network,": sorted(weights.keys() - expected.keys()),
        "has in another shape": sorted(n for n in expected.keys() & weights.keys() if expected[n] != weights[n].shape),
        "has, not finite,": sorted(name for name, weight in weights.items() if not weight.isfinite().all()),
    }
    found = [f"{fault} {len(names)} ({_listed(names)})" for fault, names in faults.items() if names]
    if found:
        raise ModelError(
            f"{folder / CHECKPOINT} does not fit its {HPARAMS} and encoder config: of {len(expected)} weights it "
            f"{'; it '.join(found)}; nothing was loaded: copy the checkpoint again, or correct {HPARAMS}"
        )


def _listed(names: list[str]) -> str:
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)[:200]
