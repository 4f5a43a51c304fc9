"""What is checked of a training's settings before data is read or weights are loaded, at a start and by ``--plan``."""

from importlib.util import find_spec
from typing import Any

from transformers import Trainer
from transformers.integrations import get_reporting_integration_callbacks

from core.chat import stop_token_id
from core.errors import ConfigError, ModelError
from core.progress import warn
from train.arguments import Arguments
from train.launcher import Launcher, read_launcher


def check_settings(arguments: Arguments) -> None:
    """Raises ConfigError for settings that contradict each other or the launcher's, or that this machine cannot start."""
    training, model = arguments.training, arguments.model
    launcher = read_launcher(training.accelerate_config)
    _check_deepspeed(training, launcher)
    if (model.load_in_4bit or model.load_in_8bit) and not model.use_peft:
        raise ConfigError("weights in 4 or 8 bits are frozen, so only an adapter can be trained; add use_peft: true")
    if not model.use_peft and model.dtype in ("bfloat16", "float16") and launcher.strategy in ("single", "ddp"):
        warn(
            f"full fine-tuning updates {model.dtype} weights without a float32 copy here, and small changes are rounded "
            "away; set dtype: float32, train LoRA, or launch with ZeRO or FSDP2, which keep the copy"
        )
    if training.plan:
        return
    if training.save_only_model and arguments.judge.if_exists == "resume":
        raise ConfigError(
            "save_only_model keeps no optimizer in a checkpoint, so no training goes on from one to the same result; "
            "leave save_only_model out, or start anew with if_exists: overwrite"
        )
    if training.n_gpu > 1 and launcher.strategy == "single":
        raise ConfigError(
            f"one process sees {training.n_gpu} GPUs; start with accelerate launch, or choose one with CUDA_VISIBLE_DEVICES"
        )
    if model.load_in_4bit or model.load_in_8bit:
        _check_installed("bitsandbytes", "qlora", "load_in_4bit and load_in_8bit")
    if training.use_liger_kernel:
        _check_installed("liger_kernel", "liger", "use_liger_kernel")
        if training.use_cpu:
            raise ConfigError("use_liger_kernel needs a GPU (its kernels are Triton's); leave it off on a CPU")
    if training.use_cpu and (training.fp16 or launcher.mixed_precision == "fp16"):
        raise ConfigError("fp16 needs a GPU; on a CPU train in bf16 or without mixed precision")
    _check_trackers(training.report_to)
    _check_optimizer(training)


def check_pad_token(tokenizer: Any, pad_token: str | None = None) -> None:
    """Raises ModelError where batches would be padded with the token that a judge learns to stop at."""
    pad = pad_token or tokenizer.pad_token
    if pad not in tokenizer.get_vocab():
        raise ModelError(f"pad_token {pad} is no token of {tokenizer.name_or_path}; name one that it has")
    if tokenizer.convert_tokens_to_ids(pad) == stop_token_id(tokenizer):
        raise ModelError(
            f"{tokenizer.name_or_path} pads with {pad}, which also ends a turn, so tools that mask padding "
            "would never teach the judge to stop; name another of its tokens with pad_token, e.g. its unknown token"
        )


def _check_deepspeed(training: Any, launcher: Launcher) -> None:
    micro, accumulation = training.per_device_train_batch_size, training.gradient_accumulation_steps
    ours = {
        "train_batch_size": ("effective batch", micro * accumulation * launcher.processes),
        "train_micro_batch_size_per_gpu": ("per_device_train_batch_size", micro),
        "gradient_accumulation_steps": ("gradient_accumulation_steps", accumulation),
        "gradient_clipping": ("max_grad_norm", training.max_grad_norm),
        "bf16.enabled": ("bf16", bool(training.bf16)),
        "fp16.enabled": ("fp16", bool(training.fp16)),
        "optimizer.params.lr": ("learning_rate", training.learning_rate),
        "optimizer.params.weight_decay": ("weight_decay", training.weight_decay),
    }
    wrong = [
        f"{name} {value} against {ours[name][0]} {ours[name][1]}"
        for name, value in launcher.deepspeed.items()
        if value != ours[name][1]
    ]
    if wrong:
        raise ConfigError(
            f"{launcher.source} and the training's config disagree: {'; '.join(wrong)}; "
            'leave DeepSpeed\'s value out or "auto", or make them equal'
        )


def _check_trackers(report_to: list[str]) -> None:
    for tracker in report_to:
        try:
            for callback in get_reporting_integration_callbacks([tracker]):
                callback()
        except (ValueError, RuntimeError, ImportError) as error:
            raise ConfigError(f"report_to {tracker}: {' '.join(str(error).split())[:200]}") from None


def _check_optimizer(training: Any) -> None:
    try:
        Trainer.get_optimizer_cls_and_kwargs(training)
    except ImportError as error:
        raise ConfigError(f"optim {training.optim}: {' '.join(str(error).split())[:200]}") from None
    except ValueError:
        pass  # some optimizers are told the model, which is not loaded yet


def _check_installed(package: str, extra: str, fields: str) -> None:
    if find_spec(package) is None:
        raise ConfigError(
            f'{fields} needs the package {package}, which is not installed; pip install "cross-lingual-judges[{extra}]"'
        )
