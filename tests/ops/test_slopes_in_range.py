"""Slopes of quotients, angles and lengths where their squares leave the range of the dtype."""

import math

import numpy as np
import pytest

import graftax as gx
from graftax import ops

ROOT = math.sqrt(0.5)
SIZES = [1e-30, 1.0, 1e30]
SLOPES = {
    "divide": (ops.divide, lambda c: (1 / c, -1 / c)),
    "divide_no_nan": (ops.divide_no_nan, lambda c: (1 / c, -1 / c)),
    "hypot": (ops.hypot, lambda c: (ROOT, ROOT)),
    "arctan2": (ops.arctan2, lambda c: (0.5 / c, -0.5 / c)),
    "logaddexp": (ops.logaddexp, lambda c: (0.5, 0.5)),
    "logaddexp2": (ops.logaddexp2, lambda c: (0.5, 0.5)),
}


@pytest.mark.in_turn(6)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", SLOPES)
def test_slopes_of_two_equal_numbers(name, size):
    function, slopes = SLOPES[name]
    c = np.float32(size)
    found = [gx.grad(lambda x: function(x, c))(c), gx.grad(lambda y: function(c, y))(c)]
    np.testing.assert_allclose(found, slopes(size), rtol=1e-6)


@pytest.mark.broad
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_beyond_its_digits(dtype):
    c = ops.asarray(10_000.0, dtype)
    for name in ("hypot", "logaddexp"):
        function, slopes = SLOPES[name]
        assert float(gx.grad(lambda x, f=function: f(x, c))(c)) == pytest.approx(slopes(1)[0], rel=1e-2)


def test_infinite_numbers_share_the_slope_of_logaddexp():
    inf = np.float32(np.inf)
    assert float(gx.grad(lambda x: ops.logaddexp(x, inf))(inf)) == 0.5
    assert float(gx.grad(lambda x: ops.logaddexp(x, -inf))(-inf)) == 0


@pytest.mark.broad
def test_python_numbers_and_other_kinds():
    assert float(gx.grad(lambda x: ops.divide(x, 4))(1.0)) == 0.25
    assert float(gx.grad(lambda x: ops.divide(1, x))(2.0)) == -0.25
    assert float(gx.grad(lambda x: ops.logaddexp(x, 0.0))(0.0)) == 0.5
    assert str(ops.divide(ops.asarray(1.0, "bfloat16"), 3.0).dtype) == "bfloat16"
    assert ops.divide(np.int32([4]), 3).tolist() == [np.float32(4 / 3)]
    x = gx.Variable([1e-30])
    with gx.GradientTape(persistent=True) as tape:
        y = ops.divide(2e-30, x)
    np.testing.assert_allclose(tape.gradient(y, x), [-2e30], rtol=1e-6)


@pytest.mark.broad
def test_second_slopes():
    for name, (function, _) in SLOPES.items():
        slope = gx.grad(lambda x, f=function: f(x, np.float32(0.6)))
        wanted = (float(slope(0.751)) - float(slope(0.749))) / 2e-3
        assert float(gx.grad(slope)(0.75)) == pytest.approx(wanted, rel=2e-3, abs=1e-4), name


LENGTHS = {
    "norm": (ops.norm, [2 / 3, 1 / 3, 2 / 3], 3.0),
    "norm of order 3": (lambda x: ops.norm(x, 3), [0.605008, 0.151252, 0.605008], 17 ** (1 / 3)),
    "std": (ops.std, [0.235702, -0.471405, 0.235702], math.sqrt(2) / 3),
    "nanstd": (ops.nanstd, [0.235702, -0.471405, 0.235702], math.sqrt(2) / 3),
}


@pytest.mark.in_turn(6, 1)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", LENGTHS)
def test_lengths_of_tiny_and_huge_numbers(name, size):
    function, slopes, length = LENGTHS[name]
    x = np.float32([2, 1, 2]) * np.float32(size)
    np.testing.assert_allclose(function(x), length * size, rtol=1e-5)
    np.testing.assert_allclose(gx.grad(function)(x), slopes, rtol=1e-4)


@pytest.mark.broad
def test_correlations_and_colours_of_tiny_numbers():
    x = np.float32([[1, 2, 4], [-1, -3, 2]]) * np.float32(1e-30)
    np.testing.assert_allclose(ops.corrcoef(x), np.corrcoef(x * 1e30), rtol=1e-5)
    assert np.isfinite(gx.grad(lambda x: ops.sum(ops.image.rgb_to_hsv(x)))(x)).all()
    losses = gx.losses.CategoricalFocalCrossentropy()
    assert np.isfinite(gx.grad(lambda p: losses(np.float32([[0, 1, 0]]), p))(x[:1])).all()
    found = gx.metrics.PearsonCorrelation()(x[:1], x[1:])
    assert float(found) == pytest.approx(np.corrcoef(x * 1e30)[0, 1], rel=1e-5)


@pytest.mark.broad
def test_weights_of_any_size():
    for size in (1e-30, 1e30):
        x = np.float32([2, 1, 2]) * np.float32(size)
        np.testing.assert_allclose(ops.sum(gx.constraints.Simplex()(x)), 1, rtol=1e-6)
        assert np.isfinite(gx.grad(lambda x: ops.sum(gx.constraints.L2Ball()(x)))(x)).all()
        assert float(gx.regularizers.L1L2(1.0)(x)) == pytest.approx(5 * size, rel=1e-5)
    layer = gx.layers.Dense(2, use_bias=False, dtype="float16")
    with gx.variable_creator_scope(gx.reparam.SpectralNorm()):
        layer.build((None, 2))
    layer.kernel.base.assign(np.zeros((2, 2), "float16"))
    assert not np.asarray(layer(np.ones((1, 2), "float16"))).any()
