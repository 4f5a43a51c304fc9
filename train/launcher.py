"""How the processes of a training are laid out, as ``accelerate launch`` was told or is going to be.

A running training finds it in the environment that the launcher made; ``--plan`` reads the same from the launcher's
config file.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from core.config import load_yaml
from core.errors import ConfigError

_JSON_KEYS = (
    "train_batch_size",
    "train_micro_batch_size_per_gpu",
    "gradient_accumulation_steps",
    "gradient_clipping",
    "bf16.enabled",
    "fp16.enabled",
    "optimizer.params.lr",
    "optimizer.params.weight_decay",
)


class Launcher(NamedTuple):
    """``strategy`` is single, ddp, zero1, zero2, zero3 or fsdp. ``deepspeed`` holds what DeepSpeed was told itself, by
    its own names; values left to the trainer ("auto") are not in it. ``source`` names the file, or the launcher.
    """

    processes: int
    strategy: str
    offload_optimizer: bool
    offload_weights: bool
    mixed_precision: str | None
    deepspeed: dict[str, Any]
    source: str


def read_launcher(accelerate_config: str | None = None) -> Launcher:
    """From the launcher's config file, or else from the environment (one process where nothing launched it).

    Raises ConfigError for a file that cannot be read or has no sensible number of processes.
    """
    if accelerate_config:
        return _launcher(load_yaml(accelerate_config), accelerate_config)
    return _launcher(_from_environment(os.environ), "accelerate launch")


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    kinds = {"ACCELERATE_USE_DEEPSPEED": "DEEPSPEED", "ACCELERATE_USE_FSDP": "FSDP"}
    used = [kind for name, kind in kinds.items() if environ.get(name, "").lower() == "true"]
    deepspeed = {
        "zero_stage": environ.get("ACCELERATE_DEEPSPEED_ZERO_STAGE", "2"),
        "gradient_accumulation_steps": environ.get("ACCELERATE_GRADIENT_ACCUMULATION_STEPS", "auto"),
        "gradient_clipping": environ.get("ACCELERATE_GRADIENT_CLIPPING", "auto"),
        "offload_optimizer_device": environ.get("ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE"),
        "offload_param_device": environ.get("ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE"),
        "deepspeed_config_file": environ.get("ACCELERATE_DEEPSPEED_CONFIG_FILE"),
    }
    return {
        "num_processes": environ.get("WORLD_SIZE", "1"),
        "distributed_type": used[0] if used else "MULTI_GPU",
        "mixed_precision": environ.get("ACCELERATE_MIXED_PRECISION"),
        "deepspeed_config": deepspeed,
        "fsdp_config": {"fsdp_offload_params": environ.get("FSDP_OFFLOAD_PARAMS", "false")},
    }


def _launcher(values: Mapping[str, Any], source: str) -> Launcher:
    try:
        processes = int(values.get("num_processes") or 1)
    except ValueError:
        processes = 0
    if processes < 1:
        raise ConfigError(f"{source}: num_processes is {values.get('num_processes')!r}; give the number of processes")
    kind, precision = values.get("distributed_type"), values.get("mixed_precision")
    precision = "no" if precision is False else precision  # YAML's word for an unquoted no
    if kind == "DEEPSPEED":
        settings = dict(values.get("deepspeed_config") or {})
        file = settings.get("deepspeed_config_file")
        if file in (None, "none"):
            told = {"bf16.enabled": precision == "bf16", "fp16.enabled": precision == "fp16"}
            told |= {name: settings.get(name) for name in ("gradient_accumulation_steps", "gradient_clipping")}
            stage = settings.get("zero_stage", 2)
            devices = [settings.get(f"offload_{what}_device") for what in ("optimizer", "param")]
        else:
            told, stage, devices = _from_json(str(file))
        offload = [device not in (None, "none", False) for device in devices]
        numbers = {name: _number(value) for name, value in told.items() if value not in (None, "auto", "none")}
        strategy = f"zero{int(stage)}" if int(stage) else "ddp"
        return Launcher(processes, strategy, offload[0], offload[1], precision, numbers, source)
    if kind == "FSDP":
        offload_all = str((values.get("fsdp_config") or {}).get("fsdp_offload_params", False)).lower() == "true"
        return Launcher(processes, "fsdp", offload_all, offload_all, precision, {}, source)
    return Launcher(processes, "ddp" if processes > 1 else "single", False, False, precision, {}, source)


def _from_json(file: str) -> tuple[dict[str, Any], Any, list[Any]]:
    """The values of a DeepSpeed config file that the trainer has too, its ZeRO stage, and both offload devices."""
    try:
        config = json.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"deepspeed_config_file {file} cannot be read ({error}); name a JSON file") from None
    zero = config.get("zero_optimization", {})
    devices = [zero.get(f"offload_{what}", {}).get("device") for what in ("optimizer", "param")]
    return {key: _value(config, key) for key in _JSON_KEYS}, zero.get("stage", 0), devices


def _value(config: Any, key: str) -> Any:
    for part in key.split("."):
        config = config.get(part) if isinstance(config, dict) else None
    return config


def _number(value: Any) -> Any:
    try:
        return value if isinstance(value, bool | int | float) else float(value)
    except ValueError:
        return value
