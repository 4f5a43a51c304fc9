"""What a training takes: memory of a GPU by strategy, and disk for its checkpoints. Estimates from sizes alone, in bytes.

Weights, gradients and optimizer follow Rajbhandari et al. 2020 (ZeRO, arXiv 1910.02054, section 3 and table 1): mixed
precision Adam keeps 2 bytes a parameter for its weight, 2 for its gradient and K = 12 for the float32 copy and the two
moments. With N processes ZeRO-1 shares out the 12, ZeRO-2 the gradients too, ZeRO-3 all 16. Offloading (ZeRO-Offload,
arXiv 2101.06840) puts what is shared out into host memory. FSDP2 as accelerate sets it up keeps trained weights,
gradients and moments in float32 (4 + 4 + 8) and shares them out. Plain data parallelism (DDP) updates the weights in the
dtype they have: 1 + 1 + 2 times its size, and once more for the buckets that gradients are exchanged in.
LoRA (arXiv 2106.09685) trains only its own parameters; QLoRA (arXiv 2305.14314) keeps the linear layers in 4 bits and
a float32 scale for each 64 weights.
"""

from typing import NamedTuple

from train.shapes import Shape

MOMENTS_AND_COPY = 12
# stage3_max_live_parameters of DeepSpeed: so many parameters stay gathered at most.
ZERO3_LIVE = 10**9
# trl's loss takes the logits in tiles of so many positions and tokens of the vocabulary, and so never holds them all.
TILE_POSITIONS, TILE_VOCABULARY = 4096, 32768
QUANTIZED_BYTES = 0.5 + 4 / 64


class Setting(NamedTuple):
    """How the model is trained. ``method`` is full, lora or qlora; ``strategy`` ddp (also for one process), zero1, zero2,
    zero3 or fsdp; offloading puts gradients and optimizer, or weights, into host memory. ``weight_bytes`` is 2 for a model loaded in bf16 or float16, else 4; ``compute_bytes``
    the same for what is computed with; ``batch_tokens`` are those of one device's batch, padding included;
    ``eager_length`` is the length of a record under eager attention, 0 under others.
    """

    method: str
    strategy: str
    processes: int
    weight_bytes: int
    compute_bytes: int
    batch_tokens: int
    learned_tokens: int
    checkpointing: bool
    offload_states: bool = False
    offload_weights: bool = False
    dropout: bool = False
    quantized_shared: bool = False
    eager_length: int = 0


class Memory(NamedTuple):
    """Bytes of one GPU by what they hold. ``gathered``: whole weights of what is being computed, and copies of weights."""

    weights: float
    gradients: float
    optimizer: float
    gathered: float
    activations: float
    logits: float

    @property
    def total(self) -> float:
        return sum(self)


def memory(shape: Shape, setting: Setting) -> Memory:
    """The peak of one GPU, without what CUDA and its allocator take themselves (leave a tenth for them)."""
    low, trained, n, strategy = setting.compute_bytes, shape.trained, setting.processes, setting.strategy
    shared = strategy in ("zero3", "fsdp") and (setting.method != "qlora" or setting.quantized_shared)
    frozen = _frozen(shape, setting) / (n if shared else 1)
    passing = _activations(shape, setting), _logits(shape, setting)
    weights: float
    gradients: float
    optimizer: float
    gathered: float = 0
    if strategy == "ddp":
        size = _trained_bytes(setting)
        weights, gradients, optimizer = (
            frozen + size * trained,
            size * trained * (2 if n > 1 else 1),
            2 * size * trained,
        )
        gathered = 2 * trained if size == 4 and low == 2 else 0  # autocast's copy
    elif strategy == "fsdp":
        outside = shape.parameters - shape.layers * shape.layer
        gathered = low * (outside + 2 * shape.layer) if shared else 0
        weights, gradients, optimizer = frozen + 4 * trained / n, 4 * trained / n, 8 * trained / n
    else:
        gathered = low * min(ZERO3_LIVE, shape.parameters) if strategy == "zero3" and shared else 0
        weights = frozen + low * trained / (n if strategy == "zero3" else 1)
        gradients = low * trained / (1 if strategy == "zero1" else n)
        optimizer = MOMENTS_AND_COPY * trained / n
    if setting.offload_weights and shared:
        weights = 0.0
    if setting.offload_states:
        gradients = optimizer = 0.0
    return Memory(weights, gradients, optimizer, gathered, *passing)


def checkpoint_bytes(shape: Shape, setting: Setting, only_model: bool = False) -> float:
    """One checkpoint: the model or adapter, and what goes on from it needs: the optimizer's state, which DeepSpeed keeps
    with the float32 copy, and beside it the weights once more where ZeRO leaves them whole.
    """
    trained, strategy = shape.trained, setting.strategy
    model = model_bytes(shape, setting)
    if only_model:
        return model
    if strategy.startswith("zero"):
        again = 0 if strategy == "zero3" else setting.compute_bytes * trained
        return model + MOMENTS_AND_COPY * trained + again
    return model + 2 * _trained_bytes(setting) * trained


def model_bytes(shape: Shape, setting: Setting) -> float:
    """What is saved to be used: the whole model, or the adapter."""
    if setting.strategy.startswith("zero"):
        return setting.compute_bytes * shape.trained
    return _trained_bytes(setting) * shape.trained


def _trained_bytes(setting: Setting) -> int:
    """A trained parameter without DeepSpeed: FSDP2 updates float32, peft makes adapters of it, trl those of QLoRA bf16."""
    if setting.strategy == "fsdp" or setting.method == "lora":
        return 4
    return setting.weight_bytes


def _frozen(shape: Shape, setting: Setting) -> float:
    """Bytes of the weights that LoRA leaves as they are."""
    if setting.method == "full":
        return 0
    if setting.method == "lora":
        return setting.weight_bytes * shape.parameters
    return QUANTIZED_BYTES * shape.linear + setting.weight_bytes * (shape.parameters - shape.linear)


def _activations(shape: Shape, setting: Setting) -> float:
    """Per token and layer 16·hidden + 8·intermediate + 6·queries + 4·keys bytes in 16 bits: two norms with their float32
    inputs, three inner values of the gated block and its product, queries, keys, values and the attention's output; the
    attention's scores only under eager attention (6 bytes a head and token attended to; FlashAttention and SDPA keep
    none). The count is what autograd keeps of a Llama layer
    (tests/train/test_memory.py). LoRA with dropout keeps each projection's input once more, in float32. Checkpointing
    keeps the layers' inputs, and one layer's share while it is computed again.
    """
    layer: float = 16 * shape.hidden + 8 * shape.intermediate + 6 * shape.queries + 4 * shape.keys
    scores = setting.eager_length * shape.heads * (6 if setting.compute_bytes == 2 else 4)
    if setting.compute_bytes == 4:
        layer *= 1.75
    elif setting.method != "full" and setting.dropout:
        layer *= 1.8
    layer += scores
    if setting.checkpointing:
        return setting.batch_tokens * (setting.compute_bytes * shape.hidden * shape.layers + layer)
    return setting.batch_tokens * layer * shape.layers


def _logits(shape: Shape, setting: Setting) -> float:
    """One tile of the logits, and the gradients that are summed over the tiles in float32: of the last hidden states,
    and of the head where it is trained.
    """
    positions = min(setting.learned_tokens, TILE_POSITIONS)
    tile = positions * min(shape.vocabulary, TILE_VOCABULARY) * setting.compute_bytes
    head = 4 * shape.vocabulary * shape.hidden if setting.method == "full" else 0
    return tile + head + 4 * setting.learned_tokens * shape.hidden
