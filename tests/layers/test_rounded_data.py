"""Layers that adapt to data whose differences are lost in float32 say so; others say nothing."""

import warnings

import numpy as np
import pytest

import graftax as gx
from graftax import layers

SECONDS = 1.7e9 + 10.0 * np.arange(40.0)[:, None]
NUMBERS = np.random.default_rng(0).normal([3, 1e4], [1, 30], (50, 2))


def adapting(kind):
    return layers.Normalization() if kind == "normalization" else layers.Discretization(num_bins=4)


@pytest.mark.parametrize("kind", ["normalization", "discretization"])
@pytest.mark.parametrize("form", [lambda x: x, lambda x: [x[:7], x[7:]]], ids=["array", "batches"])
def test_seconds_of_timestamps_are_told(kind, form):
    with pytest.warns(UserWarning, match=r"float32, which rounds numbers around 1.7\d*e\+09"):
        adapting(kind).adapt(form(SECONDS))


def test_integers_are_rounded_by_normalization_alone():
    with pytest.warns(UserWarning, match="standard deviation is 115"):
        adapting("normalization").adapt(SECONDS.astype("int64"))
    layer = adapting("discretization")
    layer.adapt(SECONDS.astype("int64"))
    assert np.bincount(layer(SECONDS.astype("int32")).ravel()).tolist() == [10] * 4


def test_the_column_is_named():
    with pytest.warns(UserWarning, match=r"element \(1,\) of its statistics"):
        adapting("normalization").adapt(np.concatenate([NUMBERS[:40, :1], SECONDS], -1))


@pytest.mark.parametrize("kind", ["normalization", "discretization"])
def test_the_line_that_is_shown_gives_the_right_numbers(kind):
    layer, near = adapting(kind), SECONDS - SECONDS.min(0)
    layer.adapt(near)
    expected = (SECONDS - SECONDS.mean()) / SECONDS.std() if kind == "normalization" else np.arange(40)[:, None] // 10
    np.testing.assert_allclose(layer(near), expected, rtol=1e-5)


@pytest.mark.parametrize("kind", ["normalization", "discretization"])
@pytest.mark.parametrize(
    "data",
    [
        NUMBERS,
        NUMBERS.astype("float32"),
        SECONDS.astype("float32"),  # somebody else has rounded these
        np.full((9, 2), 0.1),
        np.full((9, 1), 1.7e9 + 0.3),
        np.array([[1e-30], [1e30]]),
        np.random.default_rng(0).integers(0, 5, (40, 3)) / 10,
        SECONDS[:1],
    ],
    ids=["float64", "float32", "rounded", "tenths", "constant", "wide", "ties", "one"],
)
def test_other_data_say_nothing(kind, data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if kind == "normalization" and data.max() > 1e20:
            with pytest.raises(gx.errors.ArgumentError, match="no number of float32"):
                adapting(kind).adapt(data)
        else:
            adapting(kind).adapt(data)
