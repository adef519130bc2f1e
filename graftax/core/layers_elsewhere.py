"""Layers that Keras and torch have, and that are other layers or a few lines here: the line to write."""

from __future__ import annotations

_IMAGES = "a Layer of your own over ops.image, or albumentations and torchvision.transforms in the loader of the data"
_PADDED = 'graftax.layers.Conv2D(..., padding="reflect") or "circular"; ops.pad(x, widths, mode) by itself'
_LAZY = ", which finds the size of its input at the first call"


def _by_axes(torch: str, here: str) -> dict[str, str]:
    """Return answers for a layer of torch in one, two and three dimensions."""
    return {f"{torch}{n}d": f"graftax.layers.{here.format(n)}" for n in (1, 2, 3)}


LAYERS: dict[str, str] = {
    **dict.fromkeys(
        (
            "AugMix AutoContrast ContrastLimitedAdaptiveHistogramEqualization Equalization MaxNumBoundingBoxes "
            "RandomColorDegeneration RandomColorJitter RandomElasticTransform RandomGaussianBlur RandomGrayscale "
            "RandomInvert RandomPerspective RandomPosterization RandomSharpness RandomShear Solarization"
        ).split(),
        _IMAGES,
    ),
    **_by_axes("AdaptiveAvgPool", "AdaptiveAveragePooling{}D(output_size)"),
    **_by_axes("AdaptiveMaxPool", "AdaptiveMaxPooling{}D(output_size)"),
    **_by_axes("ConvTranspose", "Conv{}DTranspose(filters, kernel_size)"),
    **_by_axes("LazyConv", "Conv{}D(filters, kernel_size)" + _LAZY),
    **_by_axes("LazyConvTranspose", "Conv{}DTranspose(filters, kernel_size)" + _LAZY),
    **_by_axes("LazyBatchNorm", "BatchNormalization()"),
    **_by_axes("InstanceNorm", "InstanceNormalization()"),
    **_by_axes("LazyInstanceNorm", "InstanceNormalization()"),
    **_by_axes("ZeroPad", "ZeroPadding{}D(padding)"),
    **_by_axes("Dropout", "SpatialDropout{}D(rate)"),
    **{f"Convolution{n}DTranspose": f"graftax.layers.Conv{n}DTranspose" for n in (1, 2, 3)},
    **{f"SeparableConvolution{n}D": f"graftax.layers.SeparableConv{n}D" for n in (1, 2)},
    **{f"{kind}Pad{n}d": _PADDED for kind in ("Reflection", "Circular", "Replication") for n in (1, 2, 3)},
    **{f"ConstantPad{n}d": "ops.pad(x, widths, constant_values=value)" for n in (1, 2, 3)},
    **{
        f"LocallyConnected{n}D": "a Layer of your own: ops.einsum('bhwp,hwpo->bhwo', ops.image.extract_patches(x, "
        "size), self.kernel)"
        for n in (1, 2)
    },
    **dict.fromkeys(
        ("LocalResponseNorm", "LocalResponseNormalization", "CrossMapLRN2d", "LRN"),
        "graftax.layers.GroupNormalization(groups); or x / (1 + 1e-4 / 5 * ops.reshape(ops.sum_pool(ops.reshape(x * x, "
        '(-1, channels, 1)), 5, 1, "same"), x.shape)) ** 0.75',
    ),
    **{f"MaxUnpool{n}d": f"graftax.layers.UpSampling{n}D(size)" for n in (1, 2, 3)},
    **{f"LPPool{n}d": f"(graftax.layers.AveragePooling{n}D(size)(x**p) * size**{n}) ** (1 / p)" for n in (1, 2, 3)},
    **{f"FractionalMaxPool{n}d": f"graftax.layers.AdaptiveMaxPooling{n}D(output_size)" for n in (2, 3)},
    "Upsample": "graftax.layers.UpSampling2D(size), or graftax.layers.Resizing(height, width)",
    "UpsamplingBilinear2d": 'graftax.layers.UpSampling2D(size, interpolation="bilinear")',
    "UpsamplingNearest2d": "graftax.layers.UpSampling2D(size)",
    "FeatureAlphaDropout": "graftax.layers.AlphaDropout(rate, noise_shape=...)",
    "ChannelShuffle": 'ops.rearrange(x, "... (g c) -> ... (c g)", g=groups)',
    "ConvLSTM3D": "graftax.layers.RNN(cell), with a cell of your own over ops.conv",
    "Fold": "ops.fold(x, output_size, kernel_size)",
    "Unfold": "ops.unfold(x, kernel_size), or ops.image.extract_patches(x, size)",
    "PairwiseDistance": "ops.norm(a - b, axis=-1)",
    "PixelUnshuffle": "ops.space_to_depth(x, block)",
    "ParameterList": "a list of graftax.Variable, kept in an attribute",
    "ParameterDict": "a dict of graftax.Variable, kept in an attribute",
    "Parameter": "graftax.Variable(value), or add_weight(shape) in build",
    "Buffer": 'graftax.Variable(value, trainable=False, role="state")',
    "RNNCell": "graftax.layers.SimpleRNNCell(units)",
    "RNNBase": "graftax.layers.RNN(cell)",
    "Softmax2d": "graftax.layers.Softmax(axis=-1), since channels are last",
    "Softmin": "ops.softmax(-x)",
    "Transformer": "graftax.layers.TransformerEncoder and graftax.layers.TransformerDecoder",
    "TransformerEncoderLayer": "graftax.layers.TransformerEncoder(intermediate_dim, num_heads)",
    "TransformerDecoderLayer": "graftax.layers.TransformerDecoder(intermediate_dim, num_heads)",
    "TFSMLayer": "graftax.layers.JaxLayer, FlaxLayer or TorchLayer around what another library computes",
}
"""By the name as it is spelt there."""
