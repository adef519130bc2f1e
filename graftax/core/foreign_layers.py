"""Layers that Keras and torch have, and that are other layers or a few lines here: the line to write."""

from __future__ import annotations

_IMAGES = "a Layer of your own over ops.image, or albumentations and torchvision.transforms in the loader of the data"
_PADDED = 'graftax.layers.Conv2D(..., padding="reflect") or "circular"; ops.pad(x, widths, mode) by itself'


LAYERS: dict[str, str] = {
    **dict.fromkeys(
        (
            "AugMix AutoContrast ContrastLimitedAdaptiveHistogramEqualization Equalization MaxNumBoundingBoxes "
            "RandomColorDegeneration RandomColorJitter RandomElasticTransform RandomGaussianBlur RandomGrayscale "
            "RandomInvert RandomPerspective RandomPosterization RandomSharpness RandomShear Solarization"
        ).split(),
        _IMAGES,
    ),
    "AdaptiveAvgPool1d": "graftax.layers.AdaptiveAveragePooling1D(output_size)",
    "AdaptiveMaxPool1d": "graftax.layers.AdaptiveMaxPooling1D(output_size)",
    "ConvTranspose1d": "graftax.layers.Conv1DTranspose(filters, kernel_size)",
    "LazyConvTranspose1d": "graftax.layers.Conv1DTranspose(filters, kernel_size)",
    "Convolution1DTranspose": "graftax.layers.Conv1DTranspose(filters, kernel_size)",
    "LazyConv1d": "graftax.layers.Conv1D(filters, kernel_size)",
    "ZeroPad1d": "graftax.layers.ZeroPadding1D(padding)",
    "Dropout1d": "graftax.layers.SpatialDropout1D(rate)",
    "MaxUnpool1d": "graftax.layers.UpSampling1D(size)",
    "LPPool1d": "(graftax.layers.AveragePooling1D(size)(x**p) * size**1) ** (1 / p)",
    "AdaptiveAvgPool2d": "graftax.layers.AdaptiveAveragePooling2D(output_size)",
    "AdaptiveMaxPool2d": "graftax.layers.AdaptiveMaxPooling2D(output_size)",
    "FractionalMaxPool2d": "graftax.layers.AdaptiveMaxPooling2D(output_size)",
    "ConvTranspose2d": "graftax.layers.Conv2DTranspose(filters, kernel_size)",
    "LazyConvTranspose2d": "graftax.layers.Conv2DTranspose(filters, kernel_size)",
    "Convolution2DTranspose": "graftax.layers.Conv2DTranspose(filters, kernel_size)",
    "LazyConv2d": "graftax.layers.Conv2D(filters, kernel_size)",
    "ZeroPad2d": "graftax.layers.ZeroPadding2D(padding)",
    "Dropout2d": "graftax.layers.SpatialDropout2D(rate)",
    "MaxUnpool2d": "graftax.layers.UpSampling2D(size)",
    "LPPool2d": "(graftax.layers.AveragePooling2D(size)(x**p) * size**2) ** (1 / p)",
    "AdaptiveAvgPool3d": "graftax.layers.AdaptiveAveragePooling3D(output_size)",
    "AdaptiveMaxPool3d": "graftax.layers.AdaptiveMaxPooling3D(output_size)",
    "FractionalMaxPool3d": "graftax.layers.AdaptiveMaxPooling3D(output_size)",
    "ConvTranspose3d": "graftax.layers.Conv3DTranspose(filters, kernel_size)",
    "LazyConvTranspose3d": "graftax.layers.Conv3DTranspose(filters, kernel_size)",
    "Convolution3DTranspose": "graftax.layers.Conv3DTranspose(filters, kernel_size)",
    "LazyConv3d": "graftax.layers.Conv3D(filters, kernel_size)",
    "ZeroPad3d": "graftax.layers.ZeroPadding3D(padding)",
    "Dropout3d": "graftax.layers.SpatialDropout3D(rate)",
    "MaxUnpool3d": "graftax.layers.UpSampling3D(size)",
    "LPPool3d": "(graftax.layers.AveragePooling3D(size)(x**p) * size**3) ** (1 / p)",
    "SeparableConvolution1D": "graftax.layers.SeparableConv1D(filters, kernel_size)",
    "SeparableConvolution2D": "graftax.layers.SeparableConv2D(filters, kernel_size)",
    **dict.fromkeys(("LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d"), "graftax.layers.BatchNormalization()"),
    **dict.fromkeys(
        "InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d".split(),
        "graftax.layers.InstanceNormalization()",
    ),
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
