"""Rules for Keras: arrays are numbered in the order in which a layer creates them.

Source: the ``build`` of each layer of Keras 3.
"""

from __future__ import annotations

from graftax.checkpoint.foreign.rules.layouts import one, reshaped, same
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
    "beta",
    "bias",
    "moving_mean",
    "moving_variance",
)


def _numbered(layer: object) -> Choices:
    """Return the rule for arrays in the order of Keras, whose attention projections have a separate axis for heads."""
    # some of these attributes are flags in other layers, and so have no shape
    names = [name for name in _ORDER if hasattr(getattr(layer, name, None), "shape")]
    found = {}
    for i, name in enumerate(names):
        shape = tuple(getattr(layer, name).shape)
        found[name] = (Choice((str(i),), same), Choice((str(i),), reshaped(shape)))
    return found


def _embedding(layer: object) -> Choices:
    return {"embeddings": one("0"), "position_embeddings": one("0")}


RULES: dict[str, Rule] = {
    "dense.Dense": _numbered,
    "conv.Conv": _numbered,
    "conv_transpose.ConvTranspose": _numbered,
    "depthwise_conv.DepthwiseConv": _numbered,
    "embedding.Embedding": _embedding,
    "position_embedding.PositionEmbedding": _embedding,
    "layer_normalization.LayerNormalization": _numbered,
    "group_normalization.GroupNormalization": _numbered,
    "rms_normalization.RMSNormalization": _numbered,
    "batch_normalization.BatchNormalization": _numbered,
    "recurrent_weights.RecurrentWeights": _numbered,
    "conv_lstm.ConvLSTM2D": _numbered,
    "relu_layers.PReLU": _numbered,
}
"""Rules by the class of the graftax layer."""
