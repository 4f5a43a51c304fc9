"""How a judge was trained, for its card: from the manifests of the runs that made it, without a path of this machine."""

from pathlib import Path
from typing import Any

from core.run import read_manifest
from merge.lineage import UNPUBLISHED, Lineage
from merge.payload import recipe_text

_PACKAGES = ("torch", "transformers", "trl", "peft", "mergekit")


def training_text(folder: Path, lineage: Lineage) -> str:
    """A table of what was trained, the recipe of a merge, and the versions."""
    judges = {name: Path(model) for name, model in lineage.experts.items()} or {"this judge": folder}
    rows = ["| judge | examples | tuned | learning rate | length of training | batch | seed |", "|---" * 7 + "|"]
    rows += [f"| {_cell(name, lineage)} | {' | '.join(_row(training_manifest(at)))} |" for name, at in judges.items()]
    parts = ["\n".join(rows)]
    if lineage.recipe is not None:
        parts.append(f"Merged by mergekit with this recipe:\n\n```yaml\n{recipe_text(lineage.recipe)}```")
    manifest = read_manifest(folder) or {}
    versions = manifest.get("packages", {})
    if versions:
        commit = (manifest.get("git") or {}).get("commit")
        source = f"; source commit {commit[:12]}" if commit else ""
        parts.append(
            f"Made with {', '.join(f'{one} {versions[one]}' for one in _PACKAGES if one in versions)}{source}."
        )
    return "\n\n".join(parts)


def training_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest of the training that made a folder, also of the adapter that was folded into it; None where none is here."""
    manifest = read_manifest(folder)
    if manifest is not None and manifest["command"] == "merge.fold":
        manifest = read_manifest(manifest["config"]["adapter"])
    return manifest if manifest is not None and manifest["command"] == "train.sft" else None


def _cell(name: str, lineage: Lineage) -> str:
    published = lineage.inputs.get(name)
    return name if name not in lineage.inputs else f"{name}: {published or UNPUBLISHED}"


def _row(manifest: dict[str, Any] | None) -> list[str]:
    if manifest is None:
        return ["not recorded", *["–"] * 5]
    config = manifest["config"]
    counts = manifest.get("counts") or {}
    examples = ", ".join(f"{code} {count['examples']:,}" for code, count in counts.items())
    whole = "all weights"
    tuned = f"LoRA, r {config['lora_r']}, alpha {config['lora_alpha']}" if config.get("use_peft") else whole
    steps = config.get("max_steps", -1)
    length = f"{steps:,} steps" if steps > 0 else f"{config['num_train_epochs']:g} epochs"
    batch = f"{config['per_device_train_batch_size']} × {config['gradient_accumulation_steps']} a device"
    return [
        examples,
        tuned,
        f"{config['learning_rate']:g}, {config['lr_scheduler_type']}",
        length,
        batch,
        str(manifest["seed"]),
    ]
