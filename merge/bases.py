"""Which checkpoint an expert was tuned from, as its files say, and whether two names mean one checkpoint."""

import json
import re
from pathlib import Path
from typing import Any

import torch
import yaml
from safetensors import safe_open

from core.errors import ConfigError
from core.progress import warn
from core.prompt_spec import FILE as PROMPT_SPEC
from core.run import shown_path
from merge.headers import read_headers
from merge.source import hub_id
from train.load import base_of, is_adapter

_CARD = "README.md"
_FRONT_MATTER = re.compile(r"---\n(.*?)\n---", re.DOTALL)


def recorded_base(folder: Path) -> str | None:
    """The model that a judge was tuned from: by its adapter config, the judge.json that train.sft wrote, or its card.

    None where nothing is recorded. Raises ModelError for an adapter that names no base.
    """
    if is_adapter(folder):
        return base_of(folder)
    if base := _mapping(folder / PROMPT_SPEC, json.loads).get("base_model"):
        return str(base)
    bases = _mapping(folder / _CARD, _front_matter).get("base_model")
    bases = bases if isinstance(bases, list) else [bases]
    return str(bases[0]) if len(bases) == 1 and bases[0] else None  # several: a merge, tuned from none of them


def check_base(expert: str, folder: Path, base: str) -> None:
    """Refuse a base that the expert was not tuned from. Raises ConfigError; one that is recorded nowhere is warned of."""
    tuned = recorded_base(folder)
    if tuned is None:
        warn(f"expert {expert} does not say what it was tuned from; that it was {base} is taken on trust")
    elif not (same := same_checkpoint(tuned, base)):
        doubt = f", or correct its record in {folder} where they are one model" if same is None else ""
        raise ConfigError(
            f"expert {expert} was tuned from {tuned}, but base_model is {base}, and measured from another checkpoint (the "
            f"pretrained for the Instruct one) its change is mostly the difference of the two; set base_model to {tuned}{doubt}"
        )


def check_one_base(folders: dict[str, Path]) -> None:
    """Refuse experts (name → folder) that were tuned from different checkpoints, as far as they say. Raises ConfigError."""
    known = {name: base for name, folder in folders.items() if (base := recorded_base(folder)) is not None}
    for name, base in known.items():
        first, its = next(iter(known.items()))
        if same_checkpoint(its, base) is False:
            raise ConfigError(
                f"expert {first} was tuned from {its} and {name} from {base}; only models tuned from one checkpoint can be "
                "merged, so leave one out"
            )


def same_checkpoint(one: str, other: str) -> bool | None:
    """Whether two folders or Hub ids are one checkpoint: by their weights, or else by their names. None: cannot be told."""
    if Path(one).is_dir() and Path(other).is_dir():
        return _same_weights(Path(one), Path(other))
    ids = [hub_id(one), hub_id(other)]
    a, b = (_name(found or shown_path(model)) for found, model in zip(ids, (one, other), strict=True))
    same_name = _last(a) == _last(b)
    if all(ids):  # of two owners one may have copied the other's
        return a == b or (None if same_name else False)
    return True if same_name else None


def _same_weights(one: Path, other: Path) -> bool:
    """Whether both hold the same tensors, judged by the first row of each, of which tuning leaves few as they were."""
    if one.resolve() == other.resolve():
        return True
    a, b = read_headers(one), read_headers(other)
    return a.keys() == b.keys() and all(
        a[name].shape == b[name].shape and torch.equal(_first_row(a[name].file, name), _first_row(b[name].file, name))
        for name in a
    )


def _first_row(file: Path, name: str) -> torch.Tensor:
    with safe_open(file, framework="pt") as tensors:
        return tensors.get_slice(name)[:1].float()


def _name(model: str) -> str:
    return model.partition("@")[0]


def _last(name: str) -> str:
    return name.rstrip("/").rsplit("/", 1)[-1].casefold()


def _front_matter(text: str) -> Any:
    found = _FRONT_MATTER.match(text)
    return yaml.safe_load(found[1]) if found else None


def _mapping(path: Path, parse: Any) -> dict[str, Any]:
    """What a file holds, empty where it is absent or holds no mapping."""
    try:
        content = parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    return content if isinstance(content, dict) else {}
