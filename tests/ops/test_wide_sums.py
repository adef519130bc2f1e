"""In half precision, sums and gradients that are sums are those of float32, rounded once."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops

N = 2000
"""So many ones add up to 256 in bfloat16, one by one, and to 1024 or so in float16 where there are more."""
ZEROS = np.zeros(N, "int32")
USES = {
    "take": lambda x: ops.take(x, ZEROS, 0),
    "take of a matrix": lambda x: ops.take(ops.reshape(x, (1, 1)), ZEROS.reshape(50, 40), 0),
    "take_along_axis": lambda x: ops.take_along_axis(x, ZEROS, 0),
    "gather_nd": lambda x: ops.gather_nd(x, ZEROS[:, None]),
    "repeat": lambda x: ops.repeat(x, N),
    "repeat each": lambda x: ops.repeat(x, [N]),
    "tile": lambda x: ops.tile(x, N),
    "broadcast_to": lambda x: ops.broadcast_to(x, (N,)),
    "add": lambda x: ops.add(x, ops.zeros(N, str(x.dtype))),
    "subtract": lambda x: ops.subtract(x, ops.zeros(N, str(x.dtype))),
    "multiply": lambda x: ops.multiply(ops.ones(N, str(x.dtype)), x),
    "divide": lambda x: ops.divide(x, ops.ones(N, str(x.dtype))),
    "maximum": lambda x: ops.maximum(x, ops.zeros(N, str(x.dtype))),
    "minimum": lambda x: ops.minimum(x, ops.full(N, 2, str(x.dtype))),
    "where": lambda x: ops.where(np.ones(N, bool), x, 0.0),
}


@pytest.mark.optimized
@pytest.mark.in_turn(16, broad=9)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", USES)
def test_the_gradient_of_what_is_used_often(name, dtype):
    gradient = gx.jit(gx.grad(lambda x: ops.sum(ops.cast(USES[name](x), "float32"))))(ops.ones(1, dtype))
    assert str(gradient.dtype) == dtype
    assert float(gradient[0]) == float(ops.cast(ops.asarray(float(N)), dtype))


@pytest.mark.broad
def test_eager_tapes_and_second_derivatives():
    x = gx.Variable(ops.ones(1, "bfloat16"))
    with gx.GradientTape() as tape:
        y = ops.sum(ops.cast(ops.take(x, ZEROS, 0), "float32"))
    assert float(tape.gradient(y, x)[0]) == 2000
    squares = gx.grad(
        gx.grad(lambda x: ops.sum(ops.cast(ops.square(ops.take(ops.reshape(x, (1,)), ZEROS, 0)), "float32")))
    )
    assert float(squares(ops.ones((), "bfloat16"))) == pytest.approx(4000, rel=1e-2)
    mapped = gx.vectorized_map(lambda at: ops.take(x, at, 0), ops.zeros((3, 2), "int32"))
    assert mapped.shape == (3, 2)


def test_shapes_that_do_not_fit_are_told_as_ever():
    with pytest.raises(gx.errors.ShapeError, match=r"add: x \[2\], y \[3\]"):
        ops.add(ops.ones(2, "bfloat16"), ops.ones(3, "bfloat16"))
    with pytest.raises(gx.errors.ShapeError):
        ops.broadcast_to(ops.ones(2, "bfloat16"), (3,))


SUMS = {
    "sum": (ops.sum, np.sum),
    "mean": (ops.mean, np.mean),
    "var": (ops.var, np.var),
    "std": (ops.std, np.std),
    "cumsum": (ops.cumsum, np.cumsum),
    "logsumexp": (ops.logsumexp, lambda x: np.log(np.exp(x).sum())),
    "norm": (ops.norm, np.linalg.norm),
    "norm of order 3": (lambda x: ops.norm(x, 3), lambda x: (x**3).sum() ** (1 / 3)),
    "average": (lambda x: ops.average(x, weights=x), lambda x: np.average(x, weights=x)),
    "nansum": (ops.nansum, np.sum),
    "nanmean": (ops.nanmean, np.mean),
    "nanstd": (ops.nanstd, np.std),
    "moments": (lambda x: ops.stack(ops.moments(x, 0)), lambda x: np.stack([x.mean(), x.var()])),
    "dot": (lambda x: ops.dot(x, x), lambda x: x @ x),
    "segment_sum": (lambda x: ops.segment_sum(x, np.zeros(x.size, "int32"), 1), np.sum),
    "segment_mean": (lambda x: ops.segment_mean(x, np.zeros(x.size, "int32"), 1), np.mean),
    "scatter_add": (lambda x: ops.scatter_add(ops.zeros(1, str(x.dtype)), np.zeros(x.size, "int32"), x), np.sum),
    "average_pool": (lambda x: ops.average_pool(ops.reshape(x, (1, -1, 1)), x.size), np.mean),
    "mean absolute error": (lambda x: gx.losses.MeanAbsoluteError()(0 * x, x), np.mean),
    "Mean": (lambda x: gx.metrics.Mean()(x), np.mean),
    "L2": (gx.regularizers.L2(1.0), lambda x: (x * x).sum()),
    "GlobalAveragePooling1D": (
        lambda x: gx.layers.GlobalAveragePooling1D(dtype=str(x.dtype))(ops.reshape(x, (1, -1, 1))),
        np.mean,
    ),
}


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", SUMS)
def test_sums_of_many(name, dtype):
    x = ops.cast(np.random.default_rng(0).uniform(0.01, 0.3, 100_000).astype("float32"), dtype)
    ours, exact = SUMS[name]
    expected = exact(np.asarray(x).astype("float64"))
    step = {"bfloat16": 2**-8, "float16": 2**-11}[dtype]
    np.testing.assert_allclose(
        np.asarray(ours(x)).astype("float64").reshape(np.shape(expected)), expected, rtol=1.1 * step
    )
