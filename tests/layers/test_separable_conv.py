import numpy as np
import pytest

import graftax as gx
from graftax import layers

X = np.random.default_rng(0).normal(size=(2, 6, 5, 3)).astype("float32")
SETTINGS = [
    {},
    {"strides": 2, "padding": "same", "depth_multiplier": 2},
    {"dilation_rate": 2, "activation": "tanh"},
]


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("options", SETTINGS, ids=str)
def test_each_channel_is_convolved_on_its_own(options):
    layer = layers.DepthwiseConv2D((3, 2), use_bias=False, **options)
    out = np.asarray(layer(X))
    settings = {name: value for name, value in options.items() if name != "depth_multiplier"}
    many = options.get("depth_multiplier", 1)
    for channel in range(3):
        one = layers.Conv2D(many, (3, 2), use_bias=False, **settings)
        one.build_for(X[..., :1])
        one.set_weights([layer.kernel.numpy()[:, :, channel : channel + 1]])
        np.testing.assert_allclose(
            out[..., channel * many : (channel + 1) * many], one(X[..., channel, None]), rtol=1e-4
        )


@pytest.mark.in_turn(3, 1)
@pytest.mark.parametrize("options", SETTINGS, ids=str)
def test_a_separable_convolution_is_one_depthwise_and_one_of_size_1(options):
    layer = layers.SeparableConv2D(4, 3, bias_initializer="ones", **options)
    out = layer(X)
    depth = layers.DepthwiseConv2D(3, use_bias=False, **{k: v for k, v in options.items() if k != "activation"})
    point = layers.Conv2D(4, 1, activation=options.get("activation"))
    model = gx.Sequential([depth, point])
    model.build_for(X)
    depth.set_weights([layer.depthwise_kernel.numpy()])
    point.set_weights([layer.pointwise_kernel.numpy(), layer.bias.numpy()])
    np.testing.assert_allclose(out, model(X), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("options", SETTINGS, ids=str)
@pytest.mark.parametrize("name", ["DepthwiseConv2D", "SeparableConv2D", "DepthwiseConv1D", "SeparableConv1D"])
def test_values_are_those_of_keras(keras, name, options):
    x = X[:, :, 0] if "1D" in name else X
    first = (4,) if "Separable" in name else ()
    ours, theirs = getattr(layers, name)(*first, 3, **options), getattr(keras.layers, name)(*first, 3, **options)
    expected = theirs(x)
    ours.build_for(x)
    ours.set_weights([np.asarray(v.value) for v in theirs.weights])
    np.testing.assert_allclose(ours(x), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.broad
def test_bad_input_is_refused():
    for kind in (lambda **o: layers.SeparableConv2D(4, 3, **o), lambda **o: layers.DepthwiseConv2D(3, **o)):
        for options in (
            {"depth_multiplier": 0},
            {"padding": "causal"},
            {"use_bias": False, "bias_initializer": "ones"},
        ):
            with pytest.raises(gx.errors.ArgumentError, match=next(iter(options))):
                kind(**options)
        layer = kind()
        layer(X)
        with pytest.raises(gx.errors.ShapeError, match="the weights were made for 3"):
            layer(X[..., :2])
