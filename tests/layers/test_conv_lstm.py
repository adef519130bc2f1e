import numpy as np
import pytest

import graftax as gx
from graftax import layers

X = np.random.default_rng(0).normal(size=(2, 3, 5, 4, 2)).astype("float32")
SHOWN = np.array([[True, False, True], [True, True, False]])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def by_hand(layer, x, mask=None):
    """The equations step by step; the convolutions are those of layers that have tests of their own."""
    w, u, b = layer.kernel.numpy(), layer.recurrent_kernel.numpy(), layer.bias.numpy()

    def conv(x, kernel, *settings):
        one = layers.Conv2D(kernel.shape[-1], kernel.shape[0], *settings, use_bias=False)
        one.build_for(x)
        one.set_weights([kernel])
        return np.asarray(one(x), "float64")

    h = c = None
    outs = []
    for t in range(x.shape[1]):
        drive = conv(x[:, t], w, layer.strides, layer.padding) + b
        if h is None:
            h = c = np.zeros((*drive.shape[:-1], layer.filters))
        i, f, g, o = np.split(drive + conv(h.astype("float32"), u, 1, "same"), 4, -1)
        new = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        shown = np.ones((len(x), 1, 1, 1), bool) if mask is None else mask[:, t, None, None, None]
        c, h = np.where(shown, new, c), np.where(shown, sigmoid(o) * np.tanh(new), h)
        outs.append(h)
    return np.stack(outs, 1), h, c


@pytest.mark.broad
@pytest.mark.parametrize("mask", [None, SHOWN], ids=["all", "some"])
@pytest.mark.parametrize("options", [{"padding": "same", "strides": 2}, {"padding": "valid"}], ids=str)
def test_the_numbers_are_those_of_the_equations(options, mask):
    layer = layers.ConvLSTM2D(3, 2, return_sequences=True, return_state=True, **options)
    layer.build_for(X)
    layer.bias.assign_add(np.linspace(-1, 1, 12, dtype="float32"))
    for a, b in zip(layer(X, mask=mask), by_hand(layer, X, mask), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.broad
def test_states_and_directions():
    layer = layers.ConvLSTM2D(3, 3, padding="same", return_state=True)
    _, *state = layer(X[:, :2])
    np.testing.assert_allclose(layer(X[:, 2:], initial_state=state)[0], layer(X)[0], rtol=1e-4, atol=1e-5)
    back = layers.ConvLSTM2D(3, 3, padding="same", go_backwards=True)
    back.build_for(X)
    back.set_weights(layer.get_weights())
    np.testing.assert_allclose(back(X), layer(X[:, ::-1])[0], rtol=1e-4, atol=1e-5)
    assert layer.bias.numpy().tolist() == [0, 0, 0, 1, 1, 1] + [0] * 6


def test_values_are_those_of_keras(keras):
    theirs = keras.layers.ConvLSTM2D(3, 2, padding="same", return_sequences=True)
    ours = layers.ConvLSTM2D(3, 2, padding="same", return_sequences=True)
    expected = theirs(X)
    ours.build_for(X)
    kernel, recurrent, bias = (np.asarray(v.value) for v in theirs.weights)
    for path, value in (("kernel", kernel), ("recurrent_kernel", recurrent), ("bias", bias)):
        ours.named_variables()[path].assign(value)
    np.testing.assert_allclose(ours(X), expected, rtol=1e-4, atol=1e-5)


def test_bad_input_is_refused():
    with pytest.raises(gx.errors.ArgumentError, match="padding="):
        layers.ConvLSTM2D(3, 2, padding="causal")
    layer = layers.ConvLSTM2D(3, 2)
    with pytest.raises(gx.errors.ShapeError, match="needs 5 axes"):
        layer(X[0])
    with pytest.raises(gx.errors.ShapeError, match="initial_state of shapes"):
        layer(X, initial_state=[np.zeros((2, 3), "float32")] * 2)
    with pytest.raises(gx.errors.ArgumentError, match="0 steps"):
        layer(X[:, :0])


def test_the_order_of_weights_is_that_of_recurrent_layers():
    layer = layers.ConvLSTM2D(3, 2)
    layer.build_for(X)
    assert [w.path.rpartition("/")[2] for w in layer.weights] == ["kernel", "recurrent_kernel", "bias"]
    assert [w.shape for w in layer.get_weights()] == [(2, 2, 2, 12), (2, 2, 3, 12), (12,)]


@pytest.mark.broad
def test_a_bias_of_an_array_is_used_whole_or_refused():
    start = gx.initializers.Constant(np.arange(12, dtype="float32"))
    with pytest.raises(gx.errors.ArgumentError, match="unit_forget_bias=False"):
        layers.ConvLSTM2D(3, 2, bias_initializer=start)
    layer = layers.ConvLSTM2D(3, 2, bias_initializer=start, unit_forget_bias=False)
    layer(X)
    np.testing.assert_array_equal(layer.bias.numpy(), np.arange(12))
