"""One row per layer: what it does with masks."""

from collections.abc import Callable
from typing import NamedTuple

from graftax import layers
from graftax.layers.layer import Layer
from tests.layers.foreign_modules import Linen, Torch

L = layers


class Row(NamedTuple):
    make: Callable[..., Layer]
    whole: bool = False
    """Whether the output has no steps, so that all of it is compared."""
    training: bool = False
    inputs: int = 1
    axes: int = 3
    passes: bool = True
    """Whether the output has a mask."""
    by_place: bool = False
    """Whether it matters where a position is, so that the others cannot be cut out."""


USES = {
    "dense": Row(lambda **o: L.Dense(3, "tanh", **o)),
    "dropout": Row(lambda **o: L.Dropout(0.5, **o)),
    "activation": Row(lambda **o: L.Activation("gelu", **o)),
    "layer_normalization": Row(lambda **o: L.LayerNormalization(**o)),
    "batch_normalization": Row(lambda **o: L.BatchNormalization(momentum=0.5, **o)),
    "batch_normalization_training": Row(lambda **o: L.BatchNormalization(momentum=0.5, **o), training=True),
    "rotary_embedding": Row(lambda **o: L.RotaryEmbedding(**o), axes=4, by_place=True),
    "lstm": Row(lambda **o: L.LSTM(3, return_sequences=True, **o)),
    "lstm_last": Row(lambda **o: L.LSTM(3, **o), whole=True, passes=False),
    "gru": Row(lambda **o: L.GRU(3, return_sequences=True, **o)),
    "gru_backwards": Row(lambda **o: L.GRU(3, go_backwards=True, **o), whole=True, passes=False),
    "multi_head_attention": Row(lambda **o: L.MultiHeadAttention(2, 4, num_key_value_heads=1, **o)),
    "global_average_pooling1d": Row(lambda **o: L.GlobalAveragePooling1D(**o), whole=True, passes=False),
    "global_max_pooling1d": Row(lambda **o: L.GlobalMaxPooling1D(**o), whole=True, passes=False),
    "add": Row(lambda **o: L.Add(**o), inputs=2),
    "subtract": Row(lambda **o: L.Subtract(**o), inputs=2),
    "multiply": Row(lambda **o: L.Multiply(**o), inputs=2),
    "average": Row(lambda **o: L.Average(**o), inputs=2),
    "maximum": Row(lambda **o: L.Maximum(**o), inputs=2),
    "minimum": Row(lambda **o: L.Minimum(**o), inputs=2),
    "concatenate": Row(lambda **o: L.Concatenate(**o), inputs=2),
    "identity": Row(lambda **o: L.Identity(**o)),
    "relu": Row(lambda **o: L.ReLU(**o)),
    "leaky_relu": Row(lambda **o: L.LeakyReLU(**o)),
    "prelu": Row(lambda **o: L.PReLU(shared_axes=1, **o)),
    "elu": Row(lambda **o: L.ELU(**o)),
    "gelu": Row(lambda **o: L.GELU(**o)),
    "softmax": Row(lambda **o: L.Softmax(**o)),
    "group_normalization": Row(lambda **o: L.GroupNormalization(2, **o)),
    "instance_normalization": Row(lambda **o: L.InstanceNormalization(**o)),
    "rms_normalization": Row(lambda **o: L.RMSNormalization(**o)),
    "unit_normalization": Row(lambda **o: L.UnitNormalization(**o)),
    "normalization": Row(lambda **o: L.Normalization(mean=0.5, variance=2.0, **o)),
    "simple_rnn": Row(lambda **o: L.SimpleRNN(3, return_sequences=True, **o)),
    "rnn": Row(lambda **o: L.RNN(L.GRUCell(3, **o), return_sequences=True, **o)),
    "rnn_last": Row(lambda **o: L.RNN([L.LSTMCell(3, **o), L.GRUCell(2, **o)], **o), whole=True, passes=False),
    "bidirectional": Row(lambda **o: L.Bidirectional(L.LSTM(3, return_sequences=True, **o), **o)),
    "bidirectional_last": Row(lambda **o: L.Bidirectional(L.GRU(3, **o), "sum", **o), whole=True, passes=False),
    "time_distributed": Row(lambda **o: L.TimeDistributed(L.Dense(3, "tanh", **o), **o)),
    "dropout_spatial": Row(lambda **o: L.SpatialDropout1D(0.4, **o)),
    "drop_path": Row(lambda **o: L.DropPath(0.4, **o)),
    "alpha_dropout": Row(lambda **o: L.AlphaDropout(0.4, **o)),
    "gaussian_noise": Row(lambda **o: L.GaussianNoise(0.4, **o)),
    "gaussian_dropout": Row(lambda **o: L.GaussianDropout(0.4, **o)),
    "activity_regularization": Row(lambda **o: L.ActivityRegularization(0.4, **o)),
    "position_embedding": Row(lambda **o: L.PositionEmbedding(5, **o), by_place=True),
    "sine_position_encoding": Row(lambda **o: L.SinePositionEncoding(**o), by_place=True),
    "transformer_encoder": Row(lambda **o: L.TransformerEncoder(6, 2, **o)),
    "transformer_decoder": Row(lambda **o: L.TransformerDecoder(6, 2, **o)),
    "mixture_of_experts": Row(lambda **o: L.MixtureOfExperts(3, 5, **o)),
    "stack": Row(lambda **o: L.Stack(L.Dense(4, "tanh", **o), 2, **o)),
    "rescaling": Row(lambda **o: L.Rescaling(2.0, 1.0, **o)),
}
# Their outputs mix positions, or have others: they refuse a mask, and one that comes along is dropped with a warning.
DROPS: dict[str, tuple[Callable[..., Layer], tuple[int, ...]]] = {
    "conv1d": (lambda: L.Conv1D(3, 2), (2, 5, 4)),
    "conv2d": (lambda: L.Conv2D(3, 2), (2, 5, 4, 1)),
    "conv3d": (lambda: L.Conv3D(3, 2), (2, 5, 4, 3, 1)),
    "flatten": (lambda: L.Flatten(), (2, 5, 4)),
    "reshape": (lambda: L.Reshape((4, 5)), (2, 5, 4)),
    "conv1d_transpose": (lambda: L.Conv1DTranspose(3, 2), (2, 5, 4)),
    "conv2d_transpose": (lambda: L.Conv2DTranspose(3, 2), (2, 5, 4, 1)),
    "conv3d_transpose": (lambda: L.Conv3DTranspose(3, 2), (2, 5, 4, 3, 1)),
    "depthwise_conv1d": (lambda: L.DepthwiseConv1D(2), (2, 5, 4)),
    "depthwise_conv2d": (lambda: L.DepthwiseConv2D(2), (2, 5, 4, 1)),
    "separable_conv1d": (lambda: L.SeparableConv1D(3, 2), (2, 5, 4)),
    "separable_conv2d": (lambda: L.SeparableConv2D(3, 2), (2, 5, 4, 1)),
    "permute": (lambda: L.Permute((2, 1)), (2, 5, 4)),
    "repeat_vector": (lambda: L.RepeatVector(3), (2, 5)),
    "up_sampling2d": (lambda: L.UpSampling2D(), (2, 5, 4, 1)),
    "pixel_shuffle": (lambda: L.PixelShuffle(2), (2, 5, 4, 4)),
    "einsum_dense": (lambda: L.EinsumDense("abc,cd->abd", (None, 3)), (2, 5, 4)),
    "resizing": (lambda: L.Resizing(3, 3), (2, 5, 4, 1)),
    "center_crop": (lambda: L.CenterCrop(3, 3), (2, 5, 4, 1)),
    "random_crop": (lambda: L.RandomCrop(3, 3), (2, 5, 4, 1)),
}
SIBLINGS = frozenset(
    """
    activation batch_normalization lstm gru subtract multiply average maximum minimum identity relu leaky_relu
    prelu elu gelu instance_normalization rms_normalization unit_normalization normalization simple_rnn rnn
    bidirectional_last dropout_spatial drop_path alpha_dropout gaussian_noise gaussian_dropout
    activity_regularization global_max_pooling1d sine_position_encoding transformer_encoder rescaling
    """.split()
)
"""Rows for the slow lane: most of the code that they run is that of another row."""
DROP_SIBLINGS = frozenset(
    """
    conv1d conv3d conv1d_transpose conv3d_transpose depthwise_conv1d separable_conv1d center_crop
    """.split()
)
"""Rows for the slow lane: most of the code that they run is that of another row."""
MAKES = {"embedding": lambda **o: L.Embedding(9, 3, mask_zero=True, **o)}
OWN: dict[str, Callable[..., Layer]] = {
    "lambda": lambda: L.Lambda(abs),
    "masking": lambda: L.Masking(),
    "lstm_cell": lambda: L.LSTMCell(3),
    "gru_cell": lambda: L.GRUCell(3),
    "simple_rnn_cell": lambda: L.SimpleRNNCell(3),
    "stacked_rnn_cells": lambda: L.StackedRNNCells([L.GRUCell(3)]),
    "conv_lstm2d": lambda: L.ConvLSTM2D(3, 2),
    "spatial_dropout2d": lambda: L.SpatialDropout2D(0.4),
    "spatial_dropout3d": lambda: L.SpatialDropout3D(0.4),
    "dot": lambda: L.Dot(1),
    "attention": lambda: L.Attention(),
    "additive_attention": lambda: L.AdditiveAttention(),
    "mix_up": lambda: L.MixUp(),
    "cut_mix": lambda: L.CutMix(),
    "random_flip": lambda: L.RandomFlip(),
    "random_translation": lambda: L.RandomTranslation(0.2, 0.2),
    "random_rotation": lambda: L.RandomRotation(0.1),
    "random_zoom": lambda: L.RandomZoom(0.1),
    "random_contrast": lambda: L.RandomContrast(0.1),
    "random_brightness": lambda: L.RandomBrightness(0.1),
    "random_erasing": lambda: L.RandomErasing(0.1),
    "category_encoding": lambda: L.CategoryEncoding(4),
    "discretization": lambda: L.Discretization([0.0]),
    "hashing": lambda: L.Hashing(4),
    "integer_lookup": lambda: L.IntegerLookup(),
    "string_lookup": lambda: L.StringLookup(),
    "text_vectorization": lambda: L.TextVectorization(),
    "global_max_pooling2d": lambda: L.GlobalMaxPooling2D(),
    "global_average_pooling2d": lambda: L.GlobalAveragePooling2D(),
    "global_average_pooling3d": lambda: L.GlobalAveragePooling3D(),
    "global_max_pooling3d": lambda: L.GlobalMaxPooling3D(),
    "max_pooling1d": lambda: L.MaxPooling1D(2),
    "max_pooling2d": lambda: L.MaxPooling2D(2),
    "max_pooling3d": lambda: L.MaxPooling3D(2),
    "average_pooling1d": lambda: L.AveragePooling1D(2),
    "average_pooling2d": lambda: L.AveragePooling2D(2),
    "average_pooling3d": lambda: L.AveragePooling3D(2),
    "adaptive_average_pooling1d": lambda: L.AdaptiveAveragePooling1D(2),
    "adaptive_average_pooling2d": lambda: L.AdaptiveAveragePooling2D(2),
    "adaptive_average_pooling3d": lambda: L.AdaptiveAveragePooling3D(2),
    "adaptive_max_pooling1d": lambda: L.AdaptiveMaxPooling1D(2),
    "adaptive_max_pooling2d": lambda: L.AdaptiveMaxPooling2D(2),
    "adaptive_max_pooling3d": lambda: L.AdaptiveMaxPooling3D(2),
    "zero_padding1d": lambda: L.ZeroPadding1D(),
    "zero_padding2d": lambda: L.ZeroPadding2D(),
    "zero_padding3d": lambda: L.ZeroPadding3D(),
    "cropping1d": lambda: L.Cropping1D(),
    "cropping2d": lambda: L.Cropping2D(),
    "cropping3d": lambda: L.Cropping3D(),
    "up_sampling1d": lambda: L.UpSampling1D(),
    "up_sampling3d": lambda: L.UpSampling3D(),
    "jax_layer": lambda: L.JaxLayer(lambda params, inputs: inputs, params={}),
    "flax_layer": lambda: L.FlaxLayer(Linen(3)),
    "torch_layer": lambda: L.TorchLayer(Torch()),
}
"""Those whose inputs are no floating arrays, or whose masks are tested in their own files."""
