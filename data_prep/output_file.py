"""The file that convert writes and the manifest beside it (FILE.manifest.json), with the policy for a file that exists."""

import json
from pathlib import Path
from typing import Any

from core.errors import AlreadyDone, ConfigError, RunFolderError
from core.jsonl import write_json
from core.run import fingerprint, git_state, package_versions, shown_path
from data_prep.options import ConvertConfig
from data_prep.tables import is_hub_id

_PLACES = ("output", "holdout_output")


def start(config: ConvertConfig) -> dict[str, Any]:
    """Apply ``if_exists`` and return the manifest to be written by `finish`.

    Raises RunFolderError where a file is in the way (fail), was not written by this command (overwrite) or by another
    config or from other data (resume); AlreadyDone where it is finished and unchanged.
    """
    outputs = _outputs(config)
    inputs = [path for path in (config.input, config.documents) if path is not None and not is_hub_id(str(path))]
    if any(output.resolve() == Path(path).resolve() for output in outputs for path in inputs):
        raise ConfigError(f"output {config.output} is the input; name another file")
    manifest = {
        "command": "data_prep.convert",
        "config": _shown(config),
        "seed": config.seed,
        "inputs": {shown_path(path): fingerprint(path) for path in inputs},
        "packages": package_versions(),
        "git": git_state(),
    }
    taken = next((output for output in outputs if output.exists()), None)
    if taken is None:
        return manifest
    if config.if_exists == "fail":
        raise RunFolderError(f"output {taken} exists; name another, or pass --if_exists overwrite or resume")
    old = _read(config.output)
    if old is None:
        raise RunFolderError(f"output {taken} exists and this command did not write it; name another file or delete it")
    if config.if_exists == "resume":
        _check_same(old, manifest, outputs)
        raise AlreadyDone(f"{config.output}: finished before, nothing left to do")
    return manifest


def finish(config: ConvertConfig, manifest: dict[str, Any], counts: dict[str, Any]) -> None:
    """Write the manifest, with counts and fingerprints of what was written."""
    outputs = {shown_path(path): fingerprint(path) for path in _outputs(config)}
    write_json({**manifest, "outputs": outputs, "counts": counts}, _manifest_path(config.output))


def _outputs(config: ConvertConfig) -> list[Path]:
    return [path for path in (config.output, config.holdout_output) if path is not None]


def _manifest_path(output: Path) -> Path:
    return output.with_name(f"{output.name}.manifest.json")


def _read(output: Path) -> dict[str, Any] | None:
    try:
        return json.loads(_manifest_path(output).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _shown(config: ConvertConfig) -> dict[str, Any]:
    values = config.model_dump(mode="json", exclude={"if_exists"})
    paths = ("documents", *_PLACES) if is_hub_id(config.input) else ("input", "documents", *_PLACES)
    return values | {name: shown_path(values[name]) for name in paths if values[name]}


def _check_same(old: dict[str, Any], new: dict[str, Any], outputs: list[Path]) -> None:
    before, now = ({**manifest["config"], **dict.fromkeys(_PLACES)} for manifest in (old, new))
    changed = [name for name in now if before.get(name) != now[name]]
    if old["inputs"] != new["inputs"]:
        changed.append("the input's content")
    written = {shown_path(path): fingerprint(path) for path in outputs if path.exists()}
    if written != old["outputs"]:
        changed.append("the file written")
    if changed:
        raise RunFolderError(
            f"output {outputs[0]} was written otherwise ({', '.join(changed)} changed), so there is nothing to resume; "
            "name another file or pass --if_exists overwrite"
        )
