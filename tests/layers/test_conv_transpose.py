import numpy as np
import pytest

import graftax as gx
from graftax import layers

X = np.random.default_rng(0).normal(size=(2, 4, 3, 2)).astype("float32")
SETTINGS = [
    {"strides": 1},
    {"strides": 2, "padding": "same"},
    {"strides": (3, 1), "padding": "valid"},
    {"strides": 2, "padding": 1},
    {"strides": 2, "padding": (1, 0), "output_padding": (1, 0)},
    {"strides": 3, "padding": "same", "output_padding": 2},
    {"strides": 3, "padding": "valid", "output_padding": 2},
    {"padding": ((0, 1), (2, 0)), "dilation_rate": 2},
]


def by_hand(x, kernel, strides, dilation):
    """Each value writes a window: all of it, in float64."""
    sizes = [(n - 1) * s + (k - 1) * d + 1 for n, s, k, d in zip(x.shape[1:-1], strides, kernel.shape, dilation)]  # noqa: B905
    out = np.zeros((len(x), *sizes, kernel.shape[2]))
    for i, j in np.ndindex(*x.shape[1:3]):
        for k, m in np.ndindex(*kernel.shape[:2]):
            place = (i * strides[0] + k * dilation[0], j * strides[1] + m * dilation[1])
            out[:, place[0], place[1]] += x[:, i, j].astype("float64") @ kernel[k, m].T
    return out


def cut(out, layer, sizes):
    """What the settings leave of all that the windows write."""
    slices, shape = [], []
    for i, n in enumerate(sizes):
        k, s, d = layer.kernel_size[i], layer.strides[i], layer.dilation_rate[i]
        span = (k - 1) * d + 1
        if layer.padding == "same" and layer.output_padding is None:
            low, size = max(span - s, 0) // 2, n * s
        elif isinstance(layer.padding, str):
            extra = max(s - span, 0) if layer.output_padding is None else layer.output_padding[i]
            total = 2 * (span // 2) if layer.padding == "same" else 0  # cut from both ends, before what is added
            low = max(total - extra, 0) // 2
            size = (n - 1) * s + span - total + extra
        else:
            low, high = layer.padding[i]
            size = (n - 1) * s + span - low - high + (layer.output_padding[i] if layer.output_padding else 0)
        slices.append(slice(low, low + size))
        shape.append(size)
    grown = np.pad(out, [(0, 0), (0, 9), (0, 9), (0, 0)])
    result = grown[:, slices[0], slices[1]]
    assert result.shape[1:3] == tuple(shape)
    return result


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("options", SETTINGS, ids=str)
def test_the_numbers_are_those_of_the_definition(options):
    layer = layers.Conv2DTranspose(3, (3, 2), bias_initializer="ones", **options)
    out = layer(X)
    expected = cut(by_hand(X, layer.kernel.numpy(), layer.strides, layer.dilation_rate), layer, X.shape[1:3]) + 1
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)
    assert layer.compute_output_shape((None, 4, 3, 2)) == (None, *expected.shape[1:])


@pytest.mark.parametrize("options", [one for one in SETTINGS if isinstance(one.get("padding", ""), str)], ids=str)
def test_values_are_those_of_keras(keras, options):
    ours, theirs = layers.Conv2DTranspose(3, (3, 2), **options), keras.layers.Conv2DTranspose(3, (3, 2), **options)
    expected = theirs(X)
    ours.build_for(X)
    ours.set_weights([np.asarray(v.value) for v in theirs.weights])
    np.testing.assert_allclose(ours(X), expected, rtol=1e-4, atol=1e-5)


def test_values_are_those_of_torch(torch):
    theirs = torch.nn.ConvTranspose2d(2, 3, (3, 2), stride=2, padding=(1, 0), output_padding=(1, 0))
    ours = layers.Conv2DTranspose(3, (3, 2), 2, (1, 0), (1, 0))
    ours.build_for(X)
    ours.set_weights([theirs.weight.detach().permute(2, 3, 1, 0).numpy(), theirs.bias.detach().numpy()])
    out = theirs(torch.tensor(X).permute(0, 3, 1, 2)).detach().permute(0, 2, 3, 1)
    np.testing.assert_allclose(ours(X), out, rtol=1e-4, atol=1e-5)


def test_one_and_three_axes():
    one = layers.Conv1DTranspose(2, 3, 2, "same", use_bias=False)
    assert one(X[:, :, 0]).shape == (2, 8, 2)
    assert layers.Conv3DTranspose(2, 2, 2)(X[..., None]).shape == (2, 8, 6, 4, 2)


def test_bad_settings_are_refused():
    for options, message in (
        ({"output_padding": 1}, "below the stride"),
        ({"output_padding": (1, 1, 1)}, "output_padding="),
        ({"padding": "causal"}, "padding="),
        ({"strides": 0}, "strides=0"),
    ):
        with pytest.raises(gx.errors.ArgumentError, match=message):
            layers.Conv2DTranspose(2, 3, **options)
    with pytest.raises(gx.errors.ShapeError, match="it cuts off 12 of 6 values"):
        layers.Conv2DTranspose(2, 3, padding=6)(X)
    with pytest.raises(gx.errors.ShapeError, match="needs 4 axes"):
        layers.Conv2DTranspose(2, 3)(X[0])
