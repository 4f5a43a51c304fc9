"""The files of a judge that go to the Hub: weights of one layout, what loads them and prompts them, and nothing of this machine.

Never: manifest, checkpoints, optimizer states, training_args.bin, logs. Files that name other models are written anew with Hub ids.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from core.errors import ModelError
from core.jsonl import write_json
from core.prompt_spec import FILE as PROMPT_SPEC
from merge.licences import Licence
from merge.lineage import Lineage
from merge.run import ECHO
from merge.side_files import GENERATION_CONFIG, TOKENIZER_FILES
from train.check import weight_files
from train.load import ADAPTER_CONFIG, INDEX

NOTICE = "NOTICE.txt"
_CONFIG = "config.json"
_TOKENIZER = "tokenizer_config.json"
# What an earlier upload may have left there and this one does not bring: another layout, an adapter, a template.
REPLACES = (
    *("model*.safetensors", "adapter_model.*", "pytorch_model*.bin", "*model*.index.json", _CONFIG, ADAPTER_CONFIG),
    *(*TOKENIZER_FILES, GENERATION_CONFIG, PROMPT_SPEC, ECHO, NOTICE),
)


def lay_out(
    folder: Path, lineage: Lineage, languages: Sequence[str], licence: Licence, written: Path
) -> dict[str, Path]:
    """Path there → path here of all files but the card; those that differ from the folder's are written into ``written``.

    Raises ModelError for weights that are not of one whole save and for a folder without tokenizer.
    """
    files = {path.name: path for path in weight_files(folder)}
    names = [GENERATION_CONFIG, *TOKENIZER_FILES, *([] if lineage.kind == "adapter" else [INDEX, _CONFIG])]
    files |= {name: folder / name for name in names if (folder / name).is_file()}
    if _TOKENIZER not in files:
        raise ModelError(f"{folder} has no tokenizer ({_TOKENIZER}); copy the tokenizer files of its base there")
    for name, content in _with_hub_ids(folder, lineage, languages).items():
        files[name] = written / name
        write_json(content, files[name])
    if lineage.recipe is not None:
        files[ECHO] = written / ECHO
        files[ECHO].write_text(recipe_text(lineage.recipe), encoding="utf-8")
    if licence.notice:
        files[NOTICE] = written / NOTICE
        files[NOTICE].write_text(licence.notice, encoding="utf-8")
    return dict(sorted(files.items()))


def left_out(folder: Path, files: Mapping[str, Path]) -> list[str]:
    """What of the folder does not go up."""
    return sorted(path.name + "/" * path.is_dir() for path in folder.iterdir() if path.name not in files)


def recipe_text(recipe: Mapping[str, Any]) -> str:
    """A merge's recipe as YAML."""
    return yaml.safe_dump(dict(recipe), sort_keys=False, allow_unicode=True)


def _with_hub_ids(folder: Path, lineage: Lineage, languages: Sequence[str]) -> dict[str, dict[str, Any]]:
    judge = json.loads((folder / PROMPT_SPEC).read_text(encoding="utf-8"))
    changed = {PROMPT_SPEC: {**judge, "languages": list(languages), "base_model": lineage.base}}
    if lineage.kind == "adapter":
        adapter = json.loads((folder / ADAPTER_CONFIG).read_text(encoding="utf-8"))
        changed[ADAPTER_CONFIG] = {**adapter, "base_model_name_or_path": lineage.base}
    return changed
