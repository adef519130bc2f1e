"""One row per layer: how it is made, an input, and the shape of the output."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from graftax import layers, ops
from graftax.layers.layer import Layer


class Row(NamedTuple):
    make: Callable[..., Layer]
    inputs: Any
    """A shape, or a list of shapes."""
    output: tuple[int, ...]
    below: int | None = None
    """For integer inputs: the number that they lie below."""


L = layers
IMAGE, STEPS, FLAT, VOLUME = (2, 7, 6, 4), (2, 8, 4), (3, 5), (1, 4, 5, 4, 2)
ROWS = {
    "dense": Row(lambda **o: L.Dense(3, "tanh", **o), FLAT, (3, 3)),
    "dense_3d": Row(lambda **o: L.Dense(3, use_bias=False, **o), STEPS, (2, 8, 3)),
    "dense_1d": Row(lambda **o: L.Dense(3, **o), (5,), (3,)),
    "conv1d": Row(lambda **o: L.Conv1D(3, 3, strides=2, activation="gelu", **o), STEPS, (2, 3, 3)),
    "conv1d_causal": Row(lambda **o: L.Conv1D(6, 3, padding="causal", dilation_rate=2, **o), STEPS, (2, 8, 6)),
    "conv2d": Row(lambda **o: L.Conv2D(6, 3, padding="same", strides=(2, 1), **o), IMAGE, (2, 4, 6, 6)),
    "conv2d_groups": Row(lambda **o: L.Conv2D(6, (3, 2), groups=2, use_bias=False, **o), IMAGE, (2, 5, 5, 6)),
    "conv3d": Row(lambda **o: L.Conv3D(2, 2, **o), VOLUME, (1, 3, 4, 3, 2)),
    "max_pooling1d": Row(lambda **o: L.MaxPooling1D(3, 1, "same", **o), STEPS, (2, 8, 4)),
    "max_pooling2d": Row(lambda **o: L.MaxPooling2D(2, **o), IMAGE, (2, 3, 3, 4)),
    "max_pooling3d": Row(lambda **o: L.MaxPooling3D((2, 1, 2), **o), VOLUME, (1, 2, 5, 2, 2)),
    "average_pooling1d": Row(lambda **o: L.AveragePooling1D(3, 2, **o), STEPS, (2, 3, 4)),
    "average_pooling2d": Row(lambda **o: L.AveragePooling2D(3, 2, "same", **o), IMAGE, (2, 4, 3, 4)),
    "average_pooling3d": Row(lambda **o: L.AveragePooling3D(2, **o), VOLUME, (1, 2, 2, 2, 2)),
    "global_average_pooling1d": Row(lambda **o: L.GlobalAveragePooling1D(**o), STEPS, (2, 4)),
    "global_average_pooling2d": Row(lambda **o: L.GlobalAveragePooling2D(keepdims=True, **o), IMAGE, (2, 1, 1, 4)),
    "global_max_pooling1d": Row(lambda **o: L.GlobalMaxPooling1D(**o), STEPS, (2, 4)),
    "global_max_pooling2d": Row(lambda **o: L.GlobalMaxPooling2D(**o), IMAGE, (2, 4)),
    "flatten": Row(lambda **o: L.Flatten(**o), STEPS, (2, 32)),
    "reshape": Row(lambda **o: L.Reshape((2, -1, 2), **o), STEPS, (2, 2, 8, 2)),
    "activation": Row(lambda **o: L.Activation("softmax", **o), FLAT, (3, 5)),
    "dropout": Row(lambda **o: L.Dropout(0.4, **o), STEPS, (2, 8, 4)),
    "dropout_noise": Row(lambda **o: L.Dropout(0.4, (None, 1, None), seed=1, **o), STEPS, (2, 8, 4)),
    "batch_normalization": Row(lambda **o: L.BatchNormalization(momentum=0.8, **o), IMAGE, (2, 7, 6, 4)),
    "batch_normalization_axis": Row(
        lambda **o: L.BatchNormalization(axis=1, scale=False, center=False, **o), STEPS, (2, 8, 4)
    ),
    "layer_normalization": Row(lambda **o: L.LayerNormalization(**o), STEPS, (2, 8, 4)),
    "layer_normalization_axes": Row(lambda **o: L.LayerNormalization((1, 3), **o), IMAGE, (2, 7, 6, 4)),
    "embedding": Row(lambda **o: L.Embedding(9, 4, **o), (2, 6), (2, 6, 4), below=9),
    "lstm": Row(lambda **o: L.LSTM(3, return_sequences=True, **o), STEPS, (2, 8, 3)),
    "gru": Row(lambda **o: L.GRU(3, dropout=0.4, **o), STEPS, (2, 3)),
    "multi_head_attention": Row(lambda **o: L.MultiHeadAttention(2, 4, rotary_base=10.0, **o), STEPS, (2, 8, 4)),
    "rotary_embedding": Row(lambda **o: L.RotaryEmbedding(**o), IMAGE, (2, 7, 6, 4)),
    "add": Row(lambda **o: L.Add(**o), [FLAT, (3, 1), FLAT], (3, 5)),
    "subtract": Row(lambda **o: L.Subtract(**o), [FLAT, FLAT], (3, 5)),
    "multiply": Row(lambda **o: L.Multiply(**o), [FLAT, FLAT], (3, 5)),
    "average": Row(lambda **o: L.Average(**o), [FLAT, FLAT, FLAT], (3, 5)),
    "maximum": Row(lambda **o: L.Maximum(**o), [FLAT, FLAT], (3, 5)),
    "minimum": Row(lambda **o: L.Minimum(**o), [FLAT, FLAT], (3, 5)),
    "concatenate": Row(lambda **o: L.Concatenate(1, **o), [STEPS, (2, 3, 4)], (2, 11, 4)),
    "identity": Row(lambda **o: L.Identity(**o), FLAT, (3, 5)),
    "lambda": Row(lambda **o: L.Lambda(ops.tanh, **o), FLAT, (3, 5)),
    "relu": Row(lambda **o: L.ReLU(1.5, 0.1, 0.25, **o), FLAT, (3, 5)),
    "leaky_relu": Row(lambda **o: L.LeakyReLU(**o), FLAT, (3, 5)),
    "prelu": Row(lambda **o: L.PReLU(shared_axes=(1, -2), **o), IMAGE, (2, 7, 6, 4)),
    "elu": Row(lambda **o: L.ELU(0.5, **o), FLAT, (3, 5)),
    "gelu": Row(lambda **o: L.GELU(approximate=True, **o), FLAT, (3, 5)),
    "softmax": Row(lambda **o: L.Softmax((1, 2), **o), STEPS, (2, 8, 4)),
    "masking": Row(lambda **o: L.Masking(**o), STEPS, (2, 8, 4)),
    "group_normalization": Row(lambda **o: L.GroupNormalization(2, **o), IMAGE, (2, 7, 6, 4)),
    "group_normalization_axis": Row(lambda **o: L.GroupNormalization(4, axis=1, **o), STEPS, (2, 8, 4)),
    "instance_normalization": Row(lambda **o: L.InstanceNormalization(**o), IMAGE, (2, 7, 6, 4)),
    "rms_normalization": Row(lambda **o: L.RMSNormalization((1, -1), **o), STEPS, (2, 8, 4)),
    "unit_normalization": Row(lambda **o: L.UnitNormalization(**o), STEPS, (2, 8, 4)),
    "normalization": Row(lambda **o: L.Normalization(mean=0.5, variance=np.arange(1, 6), **o), FLAT, (3, 5)),
    "conv2d_circular": Row(
        lambda **o: L.Conv2D(3, 3, padding="same", padding_mode="circular", **o), IMAGE, (2, 7, 6, 3)
    ),
    "conv1d_pairs": Row(lambda **o: L.Conv1D(3, 3, padding=(2, 0), padding_mode="reflect", **o), STEPS, (2, 8, 3)),
    "max_pooling2d_pairs": Row(lambda **o: L.MaxPooling2D(3, 2, ((1, 0), (0, 2)), **o), IMAGE, (2, 3, 3, 4)),
    "average_pooling2d_circular": Row(
        lambda **o: L.AveragePooling2D(3, 2, 1, padding_mode="circular", **o), IMAGE, (2, 4, 3, 4)
    ),
    "conv1d_transpose": Row(lambda **o: L.Conv1DTranspose(3, 3, 2, "same", **o), STEPS, (2, 16, 3)),
    "conv2d_transpose": Row(lambda **o: L.Conv2DTranspose(3, 3, 2, 1, 1, **o), IMAGE, (2, 14, 12, 3)),
    "conv3d_transpose": Row(lambda **o: L.Conv3DTranspose(2, 2, dilation_rate=2, **o), VOLUME, (1, 6, 7, 6, 2)),
    "depthwise_conv1d": Row(lambda **o: L.DepthwiseConv1D(3, padding="causal", **o), STEPS, (2, 8, 4)),
    "depthwise_conv2d": Row(
        lambda **o: L.DepthwiseConv2D(3, 2, "same", 2, activation="tanh", **o), IMAGE, (2, 4, 3, 8)
    ),
    "separable_conv1d": Row(lambda **o: L.SeparableConv1D(3, 3, dilation_rate=2, **o), STEPS, (2, 4, 3)),
    "separable_conv2d": Row(lambda **o: L.SeparableConv2D(3, (3, 2), depth_multiplier=2, **o), IMAGE, (2, 5, 5, 3)),
}


TRAINED = [name for name in ROWS if name.startswith(("dropout", "batch_normalization", "gru"))]
WITHOUT_DROPOUT = ["lstm", "multi_head_attention", "lambda"]  # these do the same in training
WITHOUT_ROW: dict[str, str] = {}
"""Layers that have tests of their own only, and why."""
