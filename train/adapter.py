"""Whether the adapter that a training asks for can be built on its base: found without weights, before data is read."""

import re
from typing import Any

from peft import get_peft_model
from trl import get_peft_config

from core.errors import ConfigError
from train.arguments import ModelArguments
from train.shapes import empty_model, targeted


def check_adapter(config: Any, model: ModelArguments, attn_implementation: str | None = None) -> int | None:
    """Lay out the model of ``config`` on the meta device, with the attention and the LoRA that it will be given. Returns how
    many parameters that LoRA trains, whole modules among them; None without one.

    Raises ConfigError where one of them cannot be had, or where a name of ``lora_target_modules``,
    ``lora_modules_to_save`` or ``lora_target_parameters`` is of nothing in the model: peft passes over such a name.
    """
    try:
        empty = empty_model(config, attn_implementation)
    except (ValueError, ImportError) as error:
        raise ConfigError(f"{_sentence(error)} (attn_implementation); name a kernel that this model has") from None
    if not model.use_peft:
        return None
    modules = [name for name, _ in empty.named_modules()]
    parameters = [name for name, _ in empty.named_parameters()]
    try:
        _check_named("lora_target_modules", model.lora_target_modules, modules)
        _check_named("lora_modules_to_save", model.lora_modules_to_save, modules)
        _check_named("lora_target_parameters", model.lora_target_parameters, parameters)
        adapted = get_peft_model(empty, get_peft_config(model), low_cpu_mem_usage=True)
    except (ValueError, re.error) as error:
        raise ConfigError(f"this LoRA does not fit the model: {_sentence(error)}; correct the lora_ fields") from None
    return sum(weight.numel() for weight in adapted.parameters() if weight.requires_grad)


def _check_named(field: str, named: list[str] | str | None, places: list[str]) -> None:
    for target in [named] if isinstance(named, str) else [[name] for name in named or []]:
        if not any(targeted(place, target) for place in places):
            ends = {place.rsplit(".", 1)[-1] for place in places}
            known = ", ".join(sorted(end for end in ends if end and not end.isdecimal()))
            raise ConfigError(f"{field} {''.join(target)} is nothing in this model; it has {known}")


def _sentence(error: Exception) -> str:
    return str(error).strip().splitlines()[0].split(". ")[0][:200]
