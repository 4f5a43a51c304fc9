"""What hparams.yaml of a COMET checkpoint says of its network."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.errors import ModelError
from core.progress import warn

HPARAMS = "hparams.yaml"
# The classes of unbabel-comet; the first is the one with an estimator over mt, ref and src.
REGRESSION = "regression_metric"
Activation = Literal["Tanh", "Sigmoid"]


class Hparams(BaseModel):
    """The fields that scores depend on, by their names in hparams.yaml; what only trains is passed over.

    ``layer``: "mix", or the number of one layer, 0 the embeddings. ``layer_transformation``: unbabel-comet reads
    sparsemax_patch as softmax. ``pool`` default is the first token of the last layer, whatever ``layer`` says.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    encoder_model: Literal["XLM-RoBERTa"]
    pretrained_model: str
    layer: Literal["mix"] | Annotated[int, Field(ge=0)]
    layer_transformation: Literal["softmax", "sparsemax", "sparsemax_patch"]
    layer_norm: bool
    pool: Literal["avg", "max", "cls", "default"]
    hidden_sizes: Annotated[list[int], Field(min_length=1)]
    activations: Activation
    final_activation: Activation | None


# Where the checkpoint itself says otherwise, it is right, as upstream. Paths in it are those of the machine it was trained on.
_SHAPING = tuple(Hparams.model_fields.keys() - {"encoder_model", "pretrained_model"})


def read_hparams(folder: Path) -> Hparams:
    """hparams.yaml of a checkpoint folder. Raises ModelError, naming the field that is missing or of another kind of model."""
    path = folder / HPARAMS
    try:
        stored = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError:
        raise ModelError(f"{folder} has no {HPARAMS}; name the folder of a COMET checkpoint") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ModelError(f"{path} is no YAML ({reason}); copy the checkpoint again") from None
    if not isinstance(stored, dict):
        raise ModelError(f"{path} names no fields; copy the checkpoint again")
    kind = stored.get("class_identifier")
    if kind is None:
        raise ModelError(f"{path}: class_identifier is missing; copy the checkpoint again")
    if kind != REGRESSION:
        raise ModelError(f"{folder} is a COMET {kind}; only a {REGRESSION} is read, such as Unbabel/wmt22-comet-da")
    return _parsed(stored, path)


def as_trained(hparams: Hparams, saved: Mapping[str, Any], folder: Path) -> Hparams:
    """The fields with those that the checkpoint itself holds, a warning for each that differs from hparams.yaml.

    unbabel-comet 2.2.7 reads hparams.yaml for the class alone, and the rest from the checkpoint.
    """
    stored = hparams.model_dump()
    changed = {name: saved[name] for name in _SHAPING if name in saved and saved[name] != stored[name]}
    for name, value in changed.items():
        warn(f"{folder / HPARAMS} says {name} {stored[name]}, the checkpoint {value}, which is used")
    return _parsed(stored | changed, folder) if changed else hparams


def _parsed(stored: Mapping[str, Any], where: Path) -> Hparams:
    try:
        return Hparams.model_validate(stored)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        name = str(fault["loc"][0])
        if fault["type"] == "missing":
            raise ModelError(f"{where}: {name} is missing; copy the checkpoint again") from None
        raise ModelError(f"{where}: {name} {fault['input']!r} is not supported: {fault['msg']}") from None
