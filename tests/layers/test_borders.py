"""Borders of convolutions and pooling: numbers of values, and which values stand there."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers

X = np.random.default_rng(0).normal(size=(2, 6, 5, 3)).astype("float32")
NUMPY = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
PADDINGS = {1: ((1, 1), (1, 1)), (2, 1): ((2, 2), (1, 1)), ((1, 0), (0, 2)): ((1, 0), (0, 2))}


@pytest.mark.in_turn(5)
@pytest.mark.parametrize("mode", NUMPY)
@pytest.mark.parametrize("padding", PADDINGS, ids=str)
def test_a_convolution_sees_the_input_with_borders(padding, mode):
    layer = layers.Conv2D(4, 3, padding=padding, padding_mode=mode)
    out = layer(X)
    inner = layers.Conv2D(4, 3)
    padded = np.pad(X, [(0, 0), *PADDINGS[padding], (0, 0)], NUMPY[mode])
    inner.build_for(padded)
    inner.set_weights(layer.get_weights())
    np.testing.assert_allclose(out, inner(padded), rtol=1e-5, atol=1e-5)
    assert layer.compute_output_shape((None, 6, 5, 3)) == (None, *out.shape[1:])


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_same_with_borders_of_the_input_has_the_size_of_the_input(mode):
    layer = layers.Conv1D(2, 4, 1, "same", 2, padding_mode=mode)
    x = X[:, :, 0]
    padded = np.pad(x, [(0, 0), (3, 3), (0, 0)], NUMPY[mode])
    inner = layers.Conv1D(2, 4, dilation_rate=2)
    assert layer(x).shape == (2, 6, 2)
    inner.build_for(padded)
    inner.set_weights(layer.get_weights())
    np.testing.assert_allclose(layer(x), inner(padded), rtol=1e-5, atol=1e-5)


@pytest.mark.broad
def test_what_is_around_the_input_does_not_count_in_pooling():
    assert np.asarray(layers.AveragePooling1D(3, 1, 1)(np.float32([[[1], [2], [6]]])))[0, :, 0].tolist() == [1.5, 3, 4]
    assert np.asarray(layers.MaxPooling1D(3, 1, 1)(np.float32([[[-1], [-2], [-6]]])))[0, :, 0].tolist() == [-1, -1, -2]
    circular = layers.AveragePooling1D(3, 1, 1, padding_mode="circular")(np.float32([[[1], [2], [6]]]))
    assert np.asarray(circular)[0, :, 0].tolist() == [3, 3, 3]
    one_side = layers.MaxPooling1D(2, 1, (1, 0))(np.float32([[[3], [2], [1]]]))
    assert np.asarray(one_side)[0, :, 0].tolist() == [3, 3, 2]


@pytest.mark.parametrize("mode", NUMPY)
def test_values_are_those_of_torch(torch, mode):
    theirs = torch.nn.Conv2d(3, 4, 3, stride=2, padding=(2, 1), padding_mode=mode)
    ours = layers.Conv2D(4, 3, 2, (2, 1), padding_mode=mode)
    ours.build_for(X)
    ours.set_weights([theirs.weight.detach().permute(2, 3, 1, 0).numpy(), theirs.bias.detach().numpy()])
    out = theirs(torch.tensor(X).permute(0, 3, 1, 2)).detach().permute(0, 2, 3, 1)
    np.testing.assert_allclose(ours(X), out, rtol=1e-4, atol=1e-5)


def test_pooling_is_that_of_torch(torch):
    image = torch.tensor(X).permute(0, 3, 1, 2)
    functions = torch.nn.functional
    for ours, theirs in (
        (layers.MaxPooling2D(3, 2, 1), functions.max_pool2d(image, 3, 2, 1)),
        (layers.AveragePooling2D(3, 2, (1, 0)), functions.avg_pool2d(image, 3, 2, (1, 0), count_include_pad=False)),
    ):
        np.testing.assert_allclose(ours(X), theirs.permute(0, 2, 3, 1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("padding", [-1, 1.5, "full", (1, 2, 3), ((1, 2, 3), (1, 1)), True, None, {}])
def test_bad_paddings_are_refused(padding):
    for make in (layers.Conv2D, layers.Conv2DTranspose, layers.SeparableConv2D):
        with pytest.raises(gx.errors.ArgumentError, match="padding="):
            make(2, 3, padding=padding)
    for make in (layers.MaxPooling2D, layers.AveragePooling2D):
        with pytest.raises(gx.errors.ArgumentError, match="padding="):
            make(5, padding=padding)


def test_borders_that_nothing_would_use_or_that_cannot_be_filled_are_refused():
    for options, message in (
        ({"padding_mode": "reflect"}, "without borders nothing would use it"),
        ({"padding": 0, "padding_mode": "reflect"}, "without borders nothing would use it"),
        ({"padding": 1, "padding_mode": "mirror"}, "there is no such padding_mode"),
        ({"padding": "causal", "padding_mode": "circular"}, "what comes later"),
    ):
        with pytest.raises(gx.errors.ArgumentError, match=message):
            layers.Conv1D(2, 3, **options)
    with pytest.raises(gx.errors.ArgumentError, match="borders alone"):
        layers.MaxPooling2D(2, padding=2)
    with pytest.raises(gx.errors.ShapeError, match=r"padding \(6, 6\) with padding_mode='reflect'"):
        layers.Conv2D(2, 3, padding=(6, 0), padding_mode="reflect")(X)
