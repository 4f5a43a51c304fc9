"""The network of a COMET regression metric, after Unbabel's estimator (Rei et al. 2020, arXiv 2009.09025).

An XLM-R encoder, a mix of its layers, a pool over tokens, and a feed-forward estimator over what two texts and their
reference have in common. Modules are named as in Unbabel's checkpoints.
"""

import torch
from torch import Tensor, nn
from transformers import XLMRobertaConfig, XLMRobertaModel

from eval.comet.hparams import Hparams

_ACTIVATIONS: dict[str, type[nn.Module]] = {"Tanh": nn.Tanh, "Sigmoid": nn.Sigmoid}
# mt, ref, mt·ref, |mt − ref|, mt·src, |mt − src|
FEATURES = 6
# Of the variance of a sentence's states, as upstream.
_EPSILON = 1e-12


def sparsemax(weights: Tensor) -> Tensor:
    """The point of the probability simplex nearest to weights [n] (Martins and Astudillo 2016, arXiv 1602.02068)."""
    ranked = weights.sort(descending=True).values
    excess = ranked.cumsum(0) - 1
    ranks = torch.arange(1, len(weights) + 1, device=weights.device)
    support = int((ranks * ranked > excess).sum())
    return (weights - excess[support - 1] / support).clamp(min=0)


class LayerMix(nn.Module):
    """gamma · Σ s_l · h_l over an encoder's layers, s the softmax or sparsemax of learned weights.

    ``layer_norm`` first gives each layer mean 0 and variance 1 over all entries of a sentence's tokens.
    """

    def __init__(self, layers: int, hparams: Hparams) -> None:
        super().__init__()
        self.scalar_parameters = nn.ParameterList([nn.Parameter(torch.zeros(1)) for _ in range(layers)])
        self.gamma = nn.Parameter(torch.ones(1))
        self.sparse, self.layer_norm = hparams.layer_transformation == "sparsemax", hparams.layer_norm

    def shares(self) -> Tensor:
        """The weight of each layer, without gamma; they sum to 1."""
        weights = torch.cat(list(self.scalar_parameters))
        return sparsemax(weights) if self.sparse else weights.softmax(0)

    def forward(self, layers: tuple[Tensor, ...], attention: Tensor) -> Tensor:
        """Mix hidden states [B, T, d] of each layer; attention [B, T] is 1 at tokens and 0 at padding."""
        mixed = torch.zeros_like(layers[0])
        for share, hidden in zip(self.shares(), layers, strict=True):
            mixed += share * (_normalized(hidden, attention) if self.layer_norm else hidden)
        return self.gamma * mixed


def _normalized(hidden: Tensor, attention: Tensor) -> Tensor:
    mask = attention[..., None].to(hidden.dtype)
    count = mask.sum((1, 2), keepdim=True) * hidden.shape[-1]
    mean = (hidden * mask).sum((1, 2), keepdim=True) / count
    variance = ((hidden - mean) * mask).square().sum((1, 2), keepdim=True) / count
    return (hidden - mean) / (variance + _EPSILON).sqrt()


class Encoder(nn.Module):
    """XLM-R without its pooler, under the name that checkpoints have it by."""

    def __init__(self, config: XLMRobertaConfig) -> None:
        super().__init__()
        self.model = XLMRobertaModel(config, add_pooling_layer=False)


class Estimator(nn.Module):
    """A feed-forward network over the features of three embeddings."""

    def __init__(self, width: int, hparams: Hparams) -> None:
        super().__init__()
        steps: list[nn.Module] = []
        sizes, activation = hparams.hidden_sizes, _ACTIVATIONS[hparams.activations]
        for inside, outside in zip([FEATURES * width, *sizes], sizes, strict=False):
            # Identity where training has dropout: checkpoints count it.
            steps += [nn.Linear(inside, outside), activation(), nn.Identity()]
        steps.append(nn.Linear(sizes[-1], 1))
        if hparams.final_activation is not None:
            steps.append(_ACTIVATIONS[hparams.final_activation]())
        self.ff = nn.Sequential(*steps)

    def forward(self, mt: Tensor, ref: Tensor, src: Tensor) -> Tensor:
        """Scores [...] from embeddings [..., d]."""
        parts = (mt, ref, mt * ref, (mt - ref).abs(), mt * src, (mt - src).abs())
        score: Tensor = self.ff(torch.cat(parts, -1)).squeeze(-1)
        return score


class CometNetwork(nn.Module):
    """Encoder, layer mix and estimator of a checkpoint."""

    def __init__(self, config: XLMRobertaConfig, hparams: Hparams) -> None:
        super().__init__()
        self.layer, self.pool = hparams.layer, hparams.pool
        self.encoder = Encoder(config)
        if hparams.layer == "mix":
            self.layerwise_attention = LayerMix(config.num_hidden_layers + 1, hparams)
        self.estimator = Estimator(config.hidden_size, hparams)

    def embed(self, ids: Tensor, attention: Tensor, pad_id: int) -> Tensor:
        """Sentence embeddings [B, d] of token ids [B, T]; attention [B, T] is 1 at tokens and 0 at padding."""
        out = self.encoder.model(input_ids=ids, attention_mask=attention, output_hidden_states=True)
        if self.pool == "default":
            first: Tensor = out.last_hidden_state[:, 0]
            return first
        hidden = self._hidden(out.hidden_states, attention)
        if self.pool == "cls":
            return hidden[:, 0]
        # By the pad id, as upstream: a text may spell it, and such a token then counts for nothing but length.
        padding = (ids == pad_id)[..., None]
        if self.pool == "max":
            return hidden.masked_fill(padding, -torch.inf).max(1).values
        return hidden.masked_fill(padding, 0).sum(1) / attention.sum(1, keepdim=True)

    def _hidden(self, layers: tuple[Tensor, ...], attention: Tensor) -> Tensor:
        if self.layer == "mix":
            mixed: Tensor = self.layerwise_attention(layers, attention)
            return mixed
        return layers[self.layer]
