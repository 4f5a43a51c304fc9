"""Memory by the ZeRO paper's own example, activations by what autograd keeps, disk by what a training wrote."""

from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM
from transformers.models.llama import LlamaConfig

from tests.train.pico_training import make_folder, train
from train.memory import Setting, checkpoint_bytes, memory, model_bytes
from train.shapes import Shape, shape_of

# 7.5 billion parameters on 64 GPUs: figure 1 of arXiv 1910.02054.
ZERO = Shape(7_500_000_000, 7_500_000_000, 7_000_000_000, 2 * 10**8, 32, 4096, 16384, 32, 4096, 4096, 50_000)
BASE = Setting("full", "ddp", 64, 2, 2, 4096, 512, checkpointing=True)


def states(strategy: str, **changes: object) -> float:
    found = memory(ZERO, BASE._replace(strategy=strategy, **changes))
    return (found.weights + found.gradients + found.optimizer) / 1e9


def test_zero_is_the_papers_figure() -> None:
    assert states("zero1") == pytest.approx(31.4, abs=0.05)
    assert states("zero2") == pytest.approx(16.6, abs=0.05)
    assert states("zero3") == pytest.approx(1.9, abs=0.05)
    assert states("zero3", processes=1) == pytest.approx(120, abs=0.05)


def test_ddp_updates_weights_in_their_dtype_and_exchanges_gradients_in_buckets() -> None:
    # bf16: weights 2, gradients 2, moments 2 + 2 bytes a parameter; with more processes 2 for buckets.
    assert states("ddp", processes=1) == pytest.approx(7.5 * 8)
    assert states("ddp") == pytest.approx(7.5 * 10)
    assert states("ddp", processes=1, weight_bytes=4) == pytest.approx(7.5 * 16)


def test_offloading_leaves_the_gpu_what_is_computed_with() -> None:
    assert states("zero2", offload_states=True) == pytest.approx(15)
    assert states("zero3", offload_states=True) == pytest.approx(15 / 64)
    assert states("zero3", offload_states=True, offload_weights=True) == 0
    assert memory(ZERO, BASE._replace(strategy="zero3")).gathered == 2e9  # stage3_max_live_parameters


def test_lora_and_qlora_keep_the_frozen_weights_small() -> None:
    lora = ZERO._replace(trained=40_000_000)
    one = BASE._replace(processes=1)
    # 7.5e9 x 2, and 40e6 adapter parameters at 4 + 4 + 8 bytes.
    found = memory(lora, one._replace(method="lora"))
    assert found.weights + found.gradients + found.optimizer == pytest.approx(15e9 + 40e6 * 16)
    # 7e9 in 4 bits and a scale of 4 bytes for 64, 0.5e9 in bf16, adapters at 2 + 2 + 4.
    found = memory(lora, one._replace(method="qlora"))
    assert found.weights + found.gradients + found.optimizer == pytest.approx(7e9 * 0.5625 + 1e9 + 40e6 * 8)
    assert memory(lora, BASE._replace(method="lora", strategy="zero3")).weights < 0.3e9


def kept_by_autograd(config: LlamaConfig, dtype: torch.dtype, tokens: int, attention: str) -> int:
    """Bytes that a forward pass through the decoder keeps for the backward pass, weights aside."""
    model = AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation=attention).train()
    weights = {weight.untyped_storage().data_ptr() for weight in model.parameters()}
    kept: dict[int, tuple[int, torch.Tensor]] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes(), tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model.model(input_ids=torch.zeros(1, tokens, dtype=torch.long), use_cache=False)
    return sum(size for size, _ in kept.values())


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize(("dtype", "size"), [(torch.bfloat16, 2), (torch.float32, 4)])
def test_activations_are_what_autograd_keeps_of_a_layer(dtype: torch.dtype, size: int, attention: str) -> None:
    sizes = {"hidden_size": 128, "intermediate_size": 384, "num_attention_heads": 4, "num_key_value_heads": 2}
    configs = [LlamaConfig(**sizes, num_hidden_layers=layers, vocab_size=100) for layers in (2, 3)]
    two, three = (kept_by_autograd(config, dtype, 256, attention) for config in configs)
    shape = Shape(1, 1, 1, 1, 1, 128, 384, 4, 128, 64, 100)
    setting = Setting("full", "ddp", 1, size, size, 256, 16, False, eager_length=256 if attention == "eager" else 0)
    assert memory(shape, setting).activations == pytest.approx(three - two, rel=0.08)


@pytest.mark.parametrize("use_peft", [False, True])
def test_disk_is_what_a_training_writes(use_peft: bool, tmp_path: Path) -> None:
    make_folder(tmp_path)
    shape = shape_of(str(tmp_path / "base"), 16 if use_peft else None)
    setting = Setting("lora" if use_peft else "full", "ddp", 1, 4, 4, 1, 1, checkpointing=False)
    output = train(tmp_path, "out", max_steps=1, save_steps=1, use_peft=use_peft)
    weights = sum(path.stat().st_size for path in output.glob("*.safetensors"))
    states = output / "checkpoint-1" / "optimizer.pt"
    # Names and headers are the rest: the pico model has some 30,000 parameters.
    assert weights == pytest.approx(model_bytes(shape, setting), rel=0.1)
    assert weights + states.stat().st_size == pytest.approx(checkpoint_bytes(shape, setting), rel=0.15)
