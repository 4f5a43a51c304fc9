"""What a judge was made of, with every model by its Hub id: a path of this machine means nothing to those who read a card."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from core.config import check_known, load_yaml
from core.errors import ConfigError, ModelError
from core.prompt_spec import FILE as PROMPT_SPEC
from core.run import read_manifest
from merge.bases import recorded_base
from merge.recipe import BASE
from merge.run import ECHO
from merge.side_files import recorded_languages
from merge.source import hub_id
from train.load import ADAPTER_CONFIG, ADAPTER_WEIGHTS, is_adapter

UNPUBLISHED = "unpublished"


@dataclass(frozen=True)
class Lineage:
    """``base`` is the Hub id of the checkpoint that was tuned. Of a merge, ``inputs`` are the experts' Hub ids by name (None:
    unpublished), ``experts`` the folders or ids as its recipe has them, and ``recipe`` is the recipe with Hub ids alone.
    """

    kind: Literal["adapter", "finetune", "merge"]
    base: str
    inputs: dict[str, str | None]
    experts: dict[str, str]
    recipe: dict[str, Any] | None

    @property
    def base_models(self) -> list[str]:
        """What the card names as base: all published inputs of a merge, and the base where the merge read it or is left alone."""
        published = [one.partition("@")[0] for one in self.inputs.values() if one]
        reads_base = self.recipe is None or BASE in self.recipe
        return list(dict.fromkeys([*published, *([self.base] if reads_base or not published else [])]))


def read_lineage(folder: Path, base: str | None = None, base_models: Mapping[str, str | None] | None = None) -> Lineage:
    """What a model or adapter folder was made of. ``base`` overrides the base that it records; ``base_models`` gives Hub ids
    by expert or by path, None for one that is not published.

    Raises ConfigError where a model has no Hub id, ModelError where there is no folder, or adapter and full weights in one.
    """
    if not folder.is_dir():
        raise ModelError(f"model folder {folder} does not exist; name the folder that a training or merge wrote")
    given = dict(base_models or {})
    if is_adapter(folder):
        whole = [path.name for path in sorted(folder.glob("model*.safetensors"))]
        if whole:
            raise ModelError(
                f"{folder} holds an adapter ({ADAPTER_WEIGHTS}) and full weights ({whole[0]}); publish one of them, from a "
                "folder of its own"
            )
    local = (read_manifest(folder) or {}).get("inputs", {})
    if (folder / ECHO).is_file():
        return _merge_lineage(load_yaml(folder / ECHO), folder, base, given, local)
    kind: Literal["adapter", "finetune"] = "adapter" if is_adapter(folder) else "finetune"
    where = f"{folder}/{ADAPTER_CONFIG}" if kind == "adapter" else str(folder)
    tuned = _base(recorded_base(folder), where, base, given, local)
    if given:
        raise ConfigError(
            f"base_models names {next(iter(given))}, but {folder} was made of its base alone; leave it out"
        )
    return Lineage(kind, tuned, {}, {}, None)


def _merge_lineage(
    recipe: dict[str, Any], folder: Path, base: str | None, given: dict[str, str | None], local: Collection[str]
) -> Lineage:
    try:
        experts = {name: str(expert["model"]) for name, expert in recipe["experts"].items()}
    except (KeyError, TypeError, AttributeError):
        raise ModelError(f"{folder}/{ECHO} does not name the experts with their models; merge again") from None
    tuned = _base(recipe.get(BASE) or recorded_base(folder), f"{folder}/{ECHO}", base, given, local)
    known = {name: given.get(name, given.get(model, hub_id(model, local) or "")) for name, model in experts.items()}
    if lacking := [name for name, one in known.items() if one == ""]:
        places = ", ".join(experts[name] for name in lacking)
        wanted = ", ".join(f"{name}: owner/name" for name in lacking)
        raise ConfigError(
            f"{places} of {folder}/{ECHO} are folders of this machine; set their Hub ids: base_models: {{{wanted}}}, with null "
            "for one that is not published"
        )
    for name in given:
        check_known(name, list(dict.fromkeys([*experts, *experts.values()])), "base_models: expert ")
    models = {name: {**recipe["experts"][name], "model": one or UNPUBLISHED} for name, one in known.items()}
    shown = {**recipe, "experts": models} | ({BASE: tuned} if recipe.get(BASE) else {})
    return Lineage("merge", tuned, known, experts, shown)


def trained_languages(folder: Path) -> list[str]:
    """The codes of the languages that a judge was trained on. Raises ConfigError where its judge.json has none."""
    languages = recorded_languages(folder)
    if not languages:
        raise ConfigError(f"{folder}/{PROMPT_SPEC} does not say which languages it was trained on; set languages")
    return languages


def _base(
    recorded: str | None, where: str, base: str | None, given: dict[str, str | None], local: Collection[str]
) -> str:
    """The Hub id of the base; what ``given`` says of it is used up."""
    named = given.pop(recorded, None) if recorded else None
    found = base or named or (hub_id(recorded, local) if recorded else None)
    if found is None:
        fault = (
            f"names its base as {recorded}, a folder of this machine"
            if recorded
            else "does not say what it was tuned from"
        )
        raise ConfigError(f"{where} {fault}; set base to its Hub id (--base owner/name)")
    return found.partition("@")[0]
