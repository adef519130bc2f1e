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
    "simple_rnn": Row(lambda **o: L.SimpleRNN(3, go_backwards=True, **o), STEPS, (2, 3)),
    "rnn": Row(lambda **o: L.RNN(L.LSTMCell(3, **o), return_sequences=True, **o), STEPS, (2, 8, 3)),
    "rnn_stacked": Row(lambda **o: L.RNN([L.GRUCell(3, **o), L.SimpleRNNCell(2, **o)], **o), STEPS, (2, 2)),
    "bidirectional": Row(lambda **o: L.Bidirectional(L.GRU(3, return_sequences=True, **o), **o), STEPS, (2, 8, 6)),
    "time_distributed": Row(lambda **o: L.TimeDistributed(L.Dense(3, "tanh", **o), **o), STEPS, (2, 8, 3)),
    "conv_lstm2d": Row(lambda **o: L.ConvLSTM2D(2, 2, padding="same", **o), VOLUME, (1, 5, 4, 2)),
    "permute": Row(lambda **o: L.Permute((3, 1, 2), **o), IMAGE, (2, 4, 7, 6)),
    "repeat_vector": Row(lambda **o: L.RepeatVector(4, **o), FLAT, (3, 4, 5)),
    "zero_padding1d": Row(lambda **o: L.ZeroPadding1D((2, 1), **o), STEPS, (2, 11, 4)),
    "zero_padding2d": Row(lambda **o: L.ZeroPadding2D(((1, 0), (0, 2)), **o), IMAGE, (2, 8, 8, 4)),
    "zero_padding3d": Row(lambda **o: L.ZeroPadding3D((1, 0, 2), **o), VOLUME, (1, 6, 5, 8, 2)),
    "cropping1d": Row(lambda **o: L.Cropping1D((2, 1), **o), STEPS, (2, 5, 4)),
    "cropping2d": Row(lambda **o: L.Cropping2D(((1, 0), (0, 2)), **o), IMAGE, (2, 6, 4, 4)),
    "cropping3d": Row(lambda **o: L.Cropping3D((1, 0, 1), **o), VOLUME, (1, 2, 5, 2, 2)),
    "up_sampling1d": Row(lambda **o: L.UpSampling1D(3, **o), STEPS, (2, 24, 4)),
    "up_sampling2d": Row(lambda **o: L.UpSampling2D((2, 3), **o), IMAGE, (2, 14, 18, 4)),
    "up_sampling3d": Row(lambda **o: L.UpSampling3D((1, 2, 1), **o), VOLUME, (1, 4, 10, 4, 2)),
    "pixel_shuffle": Row(lambda **o: L.PixelShuffle(2, **o), IMAGE, (2, 14, 12, 1)),
    "global_average_pooling3d": Row(lambda **o: L.GlobalAveragePooling3D(**o), VOLUME, (1, 2)),
    "global_max_pooling3d": Row(lambda **o: L.GlobalMaxPooling3D(**o), VOLUME, (1, 2)),
    "adaptive_average_pooling1d": Row(lambda **o: L.AdaptiveAveragePooling1D(4, **o), STEPS, (2, 4, 4)),
    "adaptive_average_pooling2d": Row(lambda **o: L.AdaptiveAveragePooling2D((3, 4), **o), IMAGE, (2, 3, 4, 4)),
    "adaptive_average_pooling3d": Row(lambda **o: L.AdaptiveAveragePooling3D(2, **o), VOLUME, (1, 2, 2, 2, 2)),
    "adaptive_max_pooling1d": Row(lambda **o: L.AdaptiveMaxPooling1D(3, **o), STEPS, (2, 3, 4)),
    "adaptive_max_pooling2d": Row(lambda **o: L.AdaptiveMaxPooling2D((7, 4), **o), IMAGE, (2, 7, 4, 4)),
    "adaptive_max_pooling3d": Row(lambda **o: L.AdaptiveMaxPooling3D((1, 2, 3), **o), VOLUME, (1, 1, 2, 3, 2)),
    "dropout_spatial1d": Row(lambda **o: L.SpatialDropout1D(0.4, **o), STEPS, (2, 8, 4)),
    "dropout_spatial2d": Row(lambda **o: L.SpatialDropout2D(0.4, **o), IMAGE, (2, 7, 6, 4)),
    "dropout_spatial3d": Row(lambda **o: L.SpatialDropout3D(0.4, **o), VOLUME, (1, 4, 5, 4, 2)),
    "dropout_path": Row(lambda **o: L.DropPath(0.4, **o), STEPS, (2, 8, 4)),
    "dropout_alpha": Row(lambda **o: L.AlphaDropout(0.4, **o), STEPS, (2, 8, 4)),
    "gaussian_noise": Row(lambda **o: L.GaussianNoise(0.4, **o), STEPS, (2, 8, 4)),
    "gaussian_dropout": Row(lambda **o: L.GaussianDropout(0.4, **o), STEPS, (2, 8, 4)),
    "activity_regularization": Row(lambda **o: L.ActivityRegularization(0.4, **o), STEPS, (2, 8, 4)),
    "einsum_dense": Row(
        lambda **o: L.EinsumDense("abc,cde->abed", (None, 3, 2), "tanh", "e", **o), STEPS, (2, 8, 3, 2)
    ),
    "einsum_dense_front": Row(lambda **o: L.EinsumDense("...bc,bd->...cd", 3, **o), IMAGE, (2, 7, 4, 3)),
    "dot": Row(lambda **o: L.Dot((1, -1), normalize=True, **o), [(2, 3, 4), (2, 5, 3)], (2, 4, 5)),
    "attention": Row(lambda **o: L.Attention(True, dropout=0.4, **o), [(2, 3, 4), STEPS], (2, 3, 4)),
    "attention_concat": Row(
        lambda **o: L.Attention(score_mode="concat", **o), [(2, 3, 4), (2, 8, 5), STEPS], (2, 3, 5)
    ),
    "additive_attention": Row(lambda **o: L.AdditiveAttention(**o), [(2, 3, 4), STEPS], (2, 3, 4)),
    "position_embedding": Row(lambda **o: L.PositionEmbedding(9, **o), STEPS, (2, 8, 4)),
    "sine_position_encoding": Row(lambda **o: L.SinePositionEncoding(50.0, **o), STEPS, (2, 8, 4)),
    "transformer_encoder": Row(lambda **o: L.TransformerEncoder(6, 2, activation="gelu", **o), STEPS, (2, 8, 4)),
    "transformer_decoder": Row(lambda **o: L.TransformerDecoder(6, 2, normalize_first=True, **o), STEPS, (2, 8, 4)),
    "mixture_of_experts": Row(lambda **o: L.MixtureOfExperts(3, 5, **o), STEPS, (2, 8, 4)),
    "mixture_of_experts_capacity": Row(lambda **o: L.MixtureOfExperts(3, 5, 1, 0.75, **o), STEPS, (2, 8, 4)),
    "stack": Row(lambda **o: L.Stack(L.Dense(4, "tanh", **o), 3, **o), STEPS, (2, 8, 4)),
    "rescaling": Row(lambda **o: L.Rescaling(0.5, np.arange(5), **o), FLAT, (3, 5)),
    "resizing": Row(lambda **o: L.Resizing(4, 9, "bicubic", True, True, **o), IMAGE, (2, 4, 9, 4)),
    "center_crop": Row(lambda **o: L.CenterCrop(4, 8, **o), IMAGE, (2, 4, 8, 4)),
    "random_flip": Row(lambda **o: L.RandomFlip(**o), IMAGE, (2, 7, 6, 4)),
    "random_crop": Row(lambda **o: L.RandomCrop(4, 5, **o), IMAGE, (2, 4, 5, 4)),
    "random_translation": Row(lambda **o: L.RandomTranslation(0.2, (0.1, 0.3), **o), IMAGE, (2, 7, 6, 4)),
    "random_rotation": Row(lambda **o: L.RandomRotation(0.1, "constant", **o), IMAGE, (2, 7, 6, 4)),
    "random_zoom": Row(lambda **o: L.RandomZoom(0.2, **o), IMAGE, (2, 7, 6, 4)),
    "random_contrast": Row(lambda **o: L.RandomContrast(0.5, (-9, 9), **o), IMAGE, (2, 7, 6, 4)),
    "random_brightness": Row(lambda **o: L.RandomBrightness(0.2, (-9, 9), **o), IMAGE, (2, 7, 6, 4)),
    "random_erasing": Row(lambda **o: L.RandomErasing(0.8, (0.2, 0.5), None, (-2, 2), **o), IMAGE, (2, 7, 6, 4)),
}


WITHOUT_DROPOUT = [
    "lstm",
    "rnn",
    "rnn_stacked",
    "simple_rnn",
    "multi_head_attention",
    "lambda",
    "attention_concat",
    "additive_attention",
    "mixture_of_experts",
    "mixture_of_experts_capacity",
]
"""These take ``training`` and do the same in it."""
TRAINED = [
    name
    for name in ROWS
    if name.startswith(("dropout", "batch_normalization", "gru", "gaussian", "attention", "random_"))
    and name not in WITHOUT_DROPOUT
]
SIBLINGS = frozenset(
    """
    max_pooling1d max_pooling3d average_pooling1d average_pooling3d conv3d conv2d_groups
    global_average_pooling2d global_average_pooling3d global_max_pooling1d global_max_pooling3d conv1d_pairs
    max_pooling2d_pairs average_pooling2d_circular conv1d_transpose conv3d_transpose depthwise_conv1d
    separable_conv1d rnn_stacked simple_rnn lstm zero_padding1d zero_padding3d cropping1d cropping3d
    up_sampling1d up_sampling3d adaptive_average_pooling1d adaptive_average_pooling3d adaptive_max_pooling1d
    adaptive_max_pooling3d dropout_spatial1d dropout_spatial2d dropout_spatial3d gaussian_dropout
    einsum_dense_front attention_concat mixture_of_experts_capacity transformer_encoder group_normalization_axis
    instance_normalization layer_normalization_axes batch_normalization_axis random_translation random_zoom
    random_brightness leaky_relu elu gelu relu identity subtract maximum minimum average multiply dense_3d
    resizing center_crop
    """.split()
)
"""Rows for the slow lane: most of the code that they run is that of another row, in other dimensions."""
WITHOUT_ROW = {
    "InputLayer": "computes nothing, and its dtype is that of the input",
    "JaxLayer": "wraps what is not of this package",
    "FlaxLayer": "wraps what is not of this package",
    "TorchLayer": "wraps what is not of this package, and needs torch",
    "CategoryEncoding": "takes integers, and has nothing to differentiate",
    "Discretization": "gives integers",
    "Hashing": "takes text, on the host",
    "IntegerLookup": "computes on the host",
    "StringLookup": "takes text, on the host",
    "TextVectorization": "takes text, on the host",
    "MixUp": "takes a dict, of images and labels",
    "CutMix": "takes a dict, of images and labels",
    "LSTMCell": "gives a pair; it is in the row of RNN",
    "GRUCell": "gives a pair; it is in the row of RNN",
    "SimpleRNNCell": "gives a pair; it is in the row of RNN",
    "StackedRNNCells": "gives a pair; it is in the row of RNN",
}
"""Layers that have tests of their own only, and why."""
