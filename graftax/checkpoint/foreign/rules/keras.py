"""Rules for Keras: arrays are numbered in the order in which a layer creates them.

Source: the ``build`` of each layer of Keras 3.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax.checkpoint.arrays import HostArray
from graftax.checkpoint.foreign.rules.layouts import identity, reshape_to, single_choice
from graftax.checkpoint.foreign.unit import Choice, Choices, Rule

_ORDER = (
    "depthwise_kernel",
    "pointwise_kernel",
    "kernel",
    "recurrent_kernel",
    "embeddings",
    "position_embeddings",
    "alpha",
    "gamma",
    "scale",
    "beta",
    "bias",
    "moving_mean",
    "moving_variance",
)


def _rule_by_number(layer: object) -> Choices:
    """Return the rule for arrays in the order of Keras, whose attention projections have a separate axis for heads."""
    # some of these attributes are flags in other layers, and so have no shape
    names = [name for name in _ORDER if hasattr(getattr(layer, name, None), "shape")]
    found = {}
    for i, name in enumerate(names):
        shape = tuple(getattr(layer, name).shape)
        found[name] = (Choice((str(i),), identity), Choice((str(i),), reshape_to(shape)))
    return found


def _embedding(layer: object) -> Choices:
    return {"embeddings": single_choice("0"), "position_embeddings": single_choice("0")}


def _at_least_one(x: HostArray) -> HostArray:
    return np.maximum(x, 1)


def _statistics(layer: Any) -> Choices:
    """Return the rule for `Normalization`, of which Keras saves a count of 0 that says nothing."""
    found = {name: (Choice((str(i),), reshape_to(getattr(layer, name).shape)),) for i, name in enumerate(_STATISTICS)}
    return {**found, "count": single_choice("2", _at_least_one, "at least 1, since the statistics are known")}


_STATISTICS = ("mean", "variance")

RULES: dict[str, Rule] = {
    "dense.Dense": _rule_by_number,
    "einsum_dense.EinsumDense": _rule_by_number,
    "normalization.Normalization": _statistics,
    "conv.Conv": _rule_by_number,
    "conv_transpose.ConvTranspose": _rule_by_number,
    "depthwise_conv.DepthwiseConv": _rule_by_number,
    "embedding.Embedding": _embedding,
    "position_embedding.PositionEmbedding": _embedding,
    "layer_normalization.LayerNormalization": _rule_by_number,
    "group_normalization.GroupNormalization": _rule_by_number,
    "rms_normalization.RMSNormalization": _rule_by_number,
    "batch_normalization.BatchNormalization": _rule_by_number,
    "recurrent_weights.RecurrentWeights": _rule_by_number,
    "conv_lstm.ConvLSTM2D": _rule_by_number,
    "relu_layers.PReLU": _rule_by_number,
}
"""Rules by the class of the graftax layer."""
