"""Discretization of integers: the bins of NumPy, whatever float32 makes of them."""

import numpy as np
import pytest

from graftax import layers

TIMES = np.array([0, 1, 16777216, 16777217, 1700000001, 1700000063, 2**31 - 1, -5, -16777217, -(2**31)], "int32")
BOUNDARIES = [-(2.0**40), -16777217.0, -0.5, 0.0, 0.5, 16777217.0, 1700000001.5, 1700000050.0, 2.0**31, 2.0**40]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int16", "uint8", "int8"])
def test_integers_have_the_bins_of_numpy(dtype):
    limits = np.iinfo(dtype)
    numbers = np.clip(TIMES.astype("int64"), limits.min, limits.max).astype(dtype)
    found = layers.Discretization(BOUNDARIES)(numbers)
    np.testing.assert_array_equal(found, np.digitize(numbers.astype("float64"), BOUNDARIES))
    assert str(found.dtype) == "int32"


@pytest.mark.parametrize("boundaries", [[2.0**35], [-(2.0**35)]])
def test_integers_that_are_all_on_one_side(boundaries):
    found = layers.Discretization(boundaries, output_mode="one_hot")(TIMES)
    np.testing.assert_array_equal(np.asarray(found)[:, int(boundaries[0] < 0)], 1)


def test_adapt_shares_out_integers_that_float32_does_not_tell_apart():
    times = np.arange(1700000000, 1700000100, dtype="int32")
    layer = layers.Discretization(num_bins=4)
    layer.adapt(times)
    assert np.bincount(np.asarray(layer(times))).tolist() == [25] * 4
    layer.adapt([times[:60], times[60:].astype("int64")])
    assert np.bincount(np.asarray(layer(times))).tolist() == [25] * 4


def test_numbers_with_fractions_are_compared_in_float32():
    layer = layers.Discretization([0.7, 16777217.0])
    assert np.asarray(layer(np.float32([0.7, 0.69, 16777216.0]))).tolist() == [1, 0, 2]
    assert np.asarray(layer(np.array([True, False]))).tolist() == [1, 0]


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_adapt_reads_batches_that_lie_in_one_array(dtype):
    def batches():
        array = np.empty(25, dtype)
        for start in range(0, 100, 25):
            array[...] = np.arange(start, start + 25)
            yield array

    layer = layers.Discretization(num_bins=4)
    layer.adapt(batches())
    np.testing.assert_allclose(layer.bin_boundaries, np.quantile(np.arange(100), [0.25, 0.5, 0.75]))
