"""A metric of 64 bits says so where there are none."""

import warnings

import jax
import pytest

from graftax import metrics


@pytest.mark.parametrize("make", [metrics.Mean, metrics.AUC, metrics.PearsonCorrelation])
def test_a_dtype_of_64_bits_that_is_not_kept_is_told_of(make):
    with pytest.warns(UserWarning, match="counts in float32, since 64 bits are switched off in JAX"):
        metric = make(dtype="float64")
    assert all(str(one.dtype) == "float32" for one in metric.variables)


def test_one_that_is_kept_is_not():
    with jax.enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("error")
        metric = metrics.Mean(dtype="float64")
        assert str(metric.variables[0].dtype) == "float64"
