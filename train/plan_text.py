"""The plan of a training as lines to read."""

from train.memory import Memory, checkpoint_bytes, memory, model_bytes
from train.plan import LanguagePlan, Plan

METHODS = {"full": "full fine-tuning", "lora": "LoRA", "qlora": "QLoRA"}
STRATEGIES = {
    "DDP": ("ddp", False),
    "ZeRO-2": ("zero2", False),
    "ZeRO-2 offload": ("zero2", True),
    "ZeRO-3": ("zero3", False),
    "ZeRO-3 offload": ("zero3", True),
    "FSDP2": ("fsdp", False),
}
GB = 1e9


def describe(plan: Plan) -> str:
    """What is to be run, then batch, steps, data, memory and disk, then what is unknown."""
    training, setting = plan.arguments.training, plan.setting
    many = "process" if setting.processes == 1 else "processes"
    what = f"{plan.arguments.model.model_name_or_path}, {METHODS[setting.method]}, learning rate {training.learning_rate:g}"
    batch = f"{training.per_device_train_batch_size} a device x {setting.processes} {many}"
    order = "packed" if training.packing else training.train_sampling_strategy
    lines = [
        f"plan: {what}, to {training.output_dir}",
        f"launch: {plan.launcher.source}, {setting.processes} {many}, {plan.launcher.strategy}",
        f"batch: {plan.effective_batch} records a step = {batch} x {training.gradient_accumulation_steps} accumulated; {order}",
        f"steps: {'unknown' if plan.steps is None else format(plan.steps, ',')}, {_duration(plan)}",
        *(_language(language, counted) for language, counted in plan.languages.items()),
        *_memory(plan),
        *_disk(plan),
        *(f"unknown: {reason}" for reason in plan.missing),
    ]
    return "\n".join(lines)


def _duration(plan: Plan) -> str:
    training = plan.arguments.training
    return "set by max_steps" if training.max_steps > 0 else f"{training.num_train_epochs:g} epochs"


def _language(language: str, counted: LanguagePlan) -> str:
    line = f"data {language}: {counted.records:,} records"
    if counted.tokens is None or counted.learned is None:
        return line
    scaled = f" (from {counted.sampled:,} of them)" if counted.sampled < counted.records else ""
    return (
        f"{line}, {counted.tokens:,} tokens an epoch, {counted.learned:,} of them learned; "
        f"{counted.shortened:.1%} shortened, {counted.refused:.1%} refused{scaled}"
    )


def _memory(plan: Plan) -> list[str]:
    if plan.shapes is None:
        return []
    setting, shapes = plan.setting, plan.shapes
    lines = ["memory of a GPU in GB, estimated at full batches of max_length; leave a tenth for CUDA itself:"]
    lines.append(f"  {'':15}" + "".join(f"{METHODS[method].removesuffix(' fine-tuning'):>8}" for method in METHODS))
    for name, (strategy, offload) in STRATEGIES.items():
        row = setting._replace(strategy=strategy, offload_states=offload, offload_weights=offload)
        cells = [memory(shapes[method], row._replace(method=method)).total for method in METHODS]
        lines.append(f"  {name:15}" + "".join(f"{cell / GB:8.1f}" for cell in cells))
    chosen = memory(shapes[setting.method], setting)
    other = memory(shapes[setting.method], setting._replace(checkpointing=not setting.checkpointing))
    parts = " + ".join(f"{part} {size / GB:.1f}" for part, size in zip(Memory._fields, chosen, strict=True))
    lines.append(f"  this training: {chosen.total / GB:.1f} = {parts}")
    word = "without" if setting.checkpointing else "with"
    lines.append(f"  {word} gradient_checkpointing: {other.total / GB:.1f}, activations {other.activations / GB:.1f}")
    return lines


def _disk(plan: Plan) -> list[str]:
    if plan.shapes is None:
        return []
    training, shape = plan.arguments.training, plan.shapes[plan.setting.method]
    one = checkpoint_bytes(shape, plan.setting, training.save_only_model)
    final = model_bytes(shape, plan.setting)
    if training.save_strategy == "no":
        return [f"disk: {_size(final)}, no checkpoints"]
    kept = training.save_total_limit
    if kept is None:
        return [f"disk: {_size(one)} a checkpoint, and all are kept; {_size(final)} for the judge"]
    total = f"{_size(kept * one + final)}, and {_size(one)} more while one is written"
    return [f"disk: {total} ({kept} checkpoints of {_size(one)}, the judge {_size(final)})"]


def _size(size: float) -> str:
    return f"{size / GB:.1f} GB" if size >= GB else f"{size / 1e6:.3g} MB"
