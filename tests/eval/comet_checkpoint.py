"""Pico COMET checkpoints, written as Unbabel's are without unbabel-comet, and a forward pass of one written out in numpy."""

import json
import math
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from numpy.typing import NDArray
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast, XLMRobertaConfig, XLMRobertaModel

Floats = NDArray[np.float64]

HEADS, LAYERS, WIDTH, POSITIONS = 2, 2, 8, 24
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
LETTERS = "▁abcdefghijklmnopqrstuvwxyzéñअआकखगघ委员会开"
HPARAMS: dict[str, Any] = {
    "class_identifier": "regression_metric",
    "encoder_model": "XLM-RoBERTa",
    "pretrained_model": "encoder",
    "layer": "mix",
    "layer_transformation": "sparsemax",
    "layer_norm": False,
    "pool": "avg",
    "hidden_sizes": [10, 6],
    "activations": "Tanh",
    "final_activation": None,
    "dropout": 0.1,
    "batch_size": 4,
}


def write(
    folder: Path,
    seed: int = 0,
    shape: dict[str, int] | None = None,
    words: PreTrainedTokenizerFast | None = None,
    **changes: Any,
) -> Path:
    """A checkpoint folder with its encoder's config and tokenizer (``words``, else one of letters) in encoder/. ``changes`` are
    fields of hparams.yaml, ``shape`` those of the encoder's config.

    The state has what Unbabel's has: positions of an older transformers, masks that drop layers in training.
    """
    fields = {**HPARAMS, **changes}
    config = encoder_config(**(shape or {}))
    (folder / "checkpoints").mkdir(parents=True)
    config.save_pretrained(folder / "encoder")
    (words or tokenizer()).save_pretrained(folder / "encoder")
    (folder / "hparams.yaml").write_text(yaml.safe_dump(fields), encoding="utf-8")
    state = weights(config, fields, seed)
    torch.save({"epoch": 1, "state_dict": state, "hyper_parameters": fields}, folder / "checkpoints" / "model.ckpt")
    return folder


def encoder_config(**shape: int) -> XLMRobertaConfig:
    pico = {
        "hidden_size": WIDTH,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "intermediate_size": 12,
        "max_position_embeddings": POSITIONS,
    }
    pico["vocab_size"] = len(SPECIAL) + len(LETTERS)
    special = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2}
    return XLMRobertaConfig(type_vocab_size=1, **special, **(pico | shape))


def weights(config: XLMRobertaConfig, hparams: dict[str, Any], seed: int) -> dict[str, torch.Tensor]:
    """Random weights under the names that Unbabel's checkpoints have."""
    encoder = XLMRobertaModel(config, add_pooling_layer=False)
    state = {f"encoder.model.{name}": weight for name, weight in encoder.state_dict().items()}
    if hparams["layer"] == "mix":
        layers = config.num_hidden_layers + 1
        state |= {f"layerwise_attention.scalar_parameters.{layer}": torch.empty(1) for layer in range(layers)}
        state["layerwise_attention.gamma"] = torch.empty(1)
    sizes = [6 * config.hidden_size, *hparams["hidden_sizes"], 1]
    for number, (inside, outside) in enumerate(pairwise(sizes)):
        # Every third: an activation and a dropout lie between.
        state[f"estimator.ff.{3 * number}.weight"] = torch.empty(outside, inside)
        state[f"estimator.ff.{3 * number}.bias"] = torch.empty(outside)
    draw = torch.Generator().manual_seed(seed)
    state = {name: torch.empty_like(weight).normal_(0, 0.5, generator=draw) for name, weight in state.items()}
    state["encoder.model.embeddings.position_ids"] = torch.arange(config.max_position_embeddings)[None]
    if hparams["layer"] == "mix":
        state["layerwise_attention.dropout_mask"] = torch.zeros(layers)
        state["layerwise_attention.dropout_fill"] = torch.full((layers,), -1e20)
    return state


def tokenizer() -> PreTrainedTokenizerFast:
    """One token a letter, ▁ before each word, <s> and </s> around each text: "ab c" is <s> ▁ a b ▁ c </s>."""
    vocabulary = [(piece, 0.0) for piece in SPECIAL] + [(letter, -1.0) for letter in LETTERS]
    return as_xlm_roberta(models.Unigram(vocabulary, unk_id=3))


def as_xlm_roberta(model: models.Unigram, corpus: Iterable[str] = ()) -> PreTrainedTokenizerFast:
    """A tokenizer like XLM-R's around a Unigram model, which is trained first where there is a corpus."""
    tok = Tokenizer(model)
    tok.pre_tokenizer = pre_tokenizers.Metaspace()
    tok.decoder = decoders.Metaspace()
    if corpus:
        trainer = trainers.UnigramTrainer(
            vocab_size=4000, special_tokens=SPECIAL, unk_token="<unk>", show_progress=False
        )
        tok.train_from_iterator(corpus, trainer)
    tok.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tok,
        bos_token="<s>",
        eos_token="</s>",
        cls_token="<s>",
        sep_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
    )


class ByHand:
    """What a checkpoint folder scores, for texts of letters and spaces, one text at a time and without padding."""

    def __init__(self, folder: Path) -> None:
        self.hparams = yaml.safe_load((folder / "hparams.yaml").read_text(encoding="utf-8"))
        stored = torch.load(folder / "checkpoints" / "model.ckpt", weights_only=True)["state_dict"]
        self.w: dict[str, Floats] = {name: weight.double().numpy() for name, weight in stored.items()}
        self.epsilon = json.loads((folder / "encoder" / "config.json").read_text())["layer_norm_eps"]

    def score(self, mt: str, ref: str, src: str) -> float:
        """The score of three texts."""
        return self.estimate(self.embed(mt), self.embed(ref), self.embed(src))

    def estimate(self, mt: Floats, ref: Floats, src: Floats) -> float:
        """The score of three embeddings [d]."""
        x = np.concatenate([mt, ref, mt * ref, abs(mt - ref), mt * src, abs(mt - src)])
        last = 3 * len(self.hparams["hidden_sizes"])
        for step in range(0, last, 3):
            x = np.tanh(self._linear(f"estimator.ff.{step}", x))
        return float(self._linear(f"estimator.ff.{last}", x)[0])

    def embed(self, text: str) -> Floats:
        """The sentence embedding [d]."""
        layers = self.layers(self.ids(text))
        if self.hparams["pool"] == "default":
            return layers[-1][0]
        hidden = layers[self.hparams["layer"]] if self.hparams["layer"] != "mix" else self.mix(layers)
        pools = {"avg": hidden.mean(0), "max": hidden.max(0), "cls": hidden[0]}
        return np.asarray(pools[self.hparams["pool"]])

    def ids(self, text: str) -> list[int]:
        letters = "".join(f"▁{word}" for word in text.split(" ")) if text else ""
        return [0, *(len(SPECIAL) + LETTERS.index(letter) for letter in letters), 2]

    def layers(self, ids: list[int]) -> list[Floats]:
        """Hidden states [T, d] of the embeddings and after each layer."""
        at = "encoder.model.embeddings"
        positions = np.arange(len(ids)) + 2  # the first two are of padding
        hidden = self.w[f"{at}.word_embeddings.weight"][ids] + self.w[f"{at}.position_embeddings.weight"][positions]
        found = [self._norm(f"{at}.LayerNorm", hidden + self.w[f"{at}.token_type_embeddings.weight"][0])]
        for layer in range(LAYERS):
            found.append(self._layer(f"encoder.model.encoder.layer.{layer}", found[-1]))
        return found

    def mix(self, layers: list[Floats]) -> Floats:
        raw = np.concatenate([self.w[f"layerwise_attention.scalar_parameters.{n}"] for n in range(len(layers))])
        shares = sparsemax(raw) if self.hparams["layer_transformation"] == "sparsemax" else np.exp(raw)
        if self.hparams["layer_norm"]:
            layers = [(hidden - hidden.mean()) / np.sqrt(hidden.var() + 1e-12) for hidden in layers]
        mixed = sum(share * hidden for share, hidden in zip(shares / shares.sum(), layers, strict=True))
        return np.asarray(self.w["layerwise_attention.gamma"] * mixed)

    def _layer(self, at: str, hidden: Floats) -> Floats:
        parts = [self._linear(f"{at}.attention.self.{part}", hidden) for part in ("query", "key", "value")]
        query, key, value = (np.split(part, HEADS, axis=1) for part in parts)
        heads = []
        for q, k, v in zip(query, key, value, strict=True):
            odds = np.exp(q @ k.T / math.sqrt(WIDTH / HEADS))
            heads.append(odds / odds.sum(1, keepdims=True) @ v)
        attended = self._linear(f"{at}.attention.output.dense", np.concatenate(heads, 1))
        hidden = self._norm(f"{at}.attention.output.LayerNorm", attended + hidden)
        inner = self._linear(f"{at}.intermediate.dense", hidden)
        gelu = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        return self._norm(f"{at}.output.LayerNorm", self._linear(f"{at}.output.dense", gelu) + hidden)

    def _linear(self, at: str, x: Floats) -> Floats:
        return np.asarray(x @ self.w[f"{at}.weight"].T + self.w[f"{at}.bias"])

    def _norm(self, at: str, x: Floats) -> Floats:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + self.epsilon)
        return np.asarray(scaled * self.w[f"{at}.weight"] + self.w[f"{at}.bias"])


def sparsemax(raw: Floats) -> Floats:
    """By its definition: the threshold τ at which Σ max(raw − τ, 0) = 1, found by halving."""
    low, high = raw.max() - 1, raw.max()
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(raw - middle, 0).sum() > 1 else (low, middle)
    return np.asarray(np.maximum(raw - low, 0))
