"""Gradients at points that programs come to: zeros, equal values, nothing at all, what is hidden.

Each row says what graftax gives, and what JAX and torch give for the same formula, which the tests ask them. Where all
give inf or nan, the derivative is infinite, or there is none, and the docstring of the op says so where it surprises.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops, regularizers
from graftax.core.errors import GradientError
from tests.conformance.loss_rows import ROWS as LOSSES

INF, NAN = math.inf, math.nan
UNIT = np.eye(2).tolist()
EMPTY = np.zeros((0,))


class Row(NamedTuple):
    point: Any
    ours: Callable[[Any], Any]
    gradient: Any
    jax: tuple[Callable[[Any], Any], Any] | None = None
    """The same with `jax.numpy`, and its gradient."""
    torch: tuple[Callable[[Any, Any], Any], Any] | None = None
    """The same of ``(torch, x)``, and its gradient."""


ROWS = {
    # --- ours is finite where others are not
    "norm of zeros": Row(
        [0.0, 0.0], ops.norm, [0, 0], (jnp.linalg.norm, [NAN, NAN]), (lambda t, x: t.linalg.vector_norm(x), [0, 0])
    ),
    "norm of order 3 of zeros": Row(
        [0.0, 0.0],
        lambda x: ops.norm(x, 3),
        [0, 0],
        (lambda x: jnp.linalg.norm(x, 3), [NAN, NAN]),
        (lambda t, x: t.linalg.vector_norm(x, 3), [0, 0]),
    ),
    "std of equal values": Row(
        [1.0, 1.0], ops.std, [0, 0], (jnp.std, [NAN, NAN]), (lambda t, x: t.std(x, correction=0), [0, 0])
    ),
    "logsumexp of nothing": Row(
        [-INF, -INF], ops.logsumexp, [0, 0], (jax.nn.logsumexp, [NAN, NAN]), (lambda t, x: x.logsumexp(0), [NAN, NAN])
    ),
    "logaddexp of nothing": Row(
        [-INF, 0.0],
        lambda x: ops.sum(ops.logaddexp(x, [-INF, 0.0])),
        [0, 0.5],
        (lambda x: jnp.logaddexp(x, jnp.array([-INF, 0.0])).sum(), [NAN, 0.5]),
        (lambda t, x: t.logaddexp(x, t.tensor([-INF, 0.0])).sum(), [NAN, 0.5]),
    ),
    "logaddexp2 of nothing": Row([-INF, 0.0], lambda x: ops.sum(ops.logaddexp2(x, [-INF, 0.0])), [0, 0.5]),
    "softmax where all is hidden": Row(
        [-INF, -INF], lambda x: ops.softmax(x)[0], [0, 0], None, (lambda t, x: x.softmax(0)[0], [NAN, NAN])
    ),
    "arctan2 at the origin": Row(
        [0.0, 1.0],
        lambda x: ops.sum(ops.arctan2(x, x)),
        [0, 0],
        (lambda x: jnp.arctan2(x, x).sum(), [NAN, 0]),
        (lambda t, x: t.atan2(x, x).sum(), [0, 0]),
    ),
    "angle of 0": Row(
        [[0.0, 0.0], [2.0, 0.0]],
        lambda x: ops.sum(ops.angle(ops.view_as_complex(x))),
        [[0, 0], [0, 0.5]],
        (lambda x: jnp.angle(jax.lax.complex(x[:, 0], x[:, 1])).sum(), [[NAN, NAN], [0, 0.5]]),
        (lambda t, x: t.view_as_complex(x).angle().sum(), [[0, 0], [0, 0.5]]),
    ),
    "0 to the power of 0, 1 and 2": Row(
        [0.0, 0.0, 0.0],
        lambda x: ops.sum(ops.power(x, [0.0, 1.0, 2.0])),
        [0, 1, 0],
        (lambda x: jnp.power(x, jnp.arange(3.0)).sum(), [NAN, 1, 0]),
        (lambda t, x: t.pow(x, t.arange(3.0)).sum(), [0, 1, 0]),
    ),
    "a quotient by 0": Row([0.0, 1.0], lambda x: ops.sum(ops.divide_no_nan([1.0, 1.0], x)), [0, -1]),
    # --- all are finite
    "magnitude of the complex number 0": Row(
        [[0.0, 0.0]],
        lambda x: ops.sum(ops.abs(ops.view_as_complex(x))),
        [[0, 0]],
        None,
        (lambda t, x: t.view_as_complex(x).abs().sum(), [[0, 0]]),
    ),
    "hypot at the origin": Row([0.0], lambda x: ops.sum(ops.hypot(x, x)), [1], (lambda x: jnp.hypot(x, x).sum(), [1])),
    "exponent of 0": Row([2.0], lambda y: ops.sum(ops.power(0.0, y)), [0], (lambda y: jnp.power(0.0, y).sum(), [0])),
    "prod with zeros": Row([0.0, 2.0, 0.0], ops.prod, [0, 0, 0], (jnp.prod, [0, 0, 0])),
    "cumprod with zeros": Row(
        [0.0, 2.0, 0.0], lambda x: ops.sum(ops.cumprod(x)), [3, 0, 0], (lambda x: jnp.cumprod(x).sum(), [3, 0, 0])
    ),
    "sinc of 0": Row([0.0], lambda x: ops.sum(ops.sinc(x)), [0], (lambda x: jnp.sinc(x).sum(), [0])),
    "xlogy of 0": Row([0.0], lambda y: ops.sum(ops.xlogy(0.0, y)), [0]),
    "median of equal values": Row([1.0, 1.0, 1.0], ops.median, [0, 1, 0]),
    "sum of nothing": Row(EMPTY, ops.sum, EMPTY),
    "norm of nothing": Row(EMPTY, ops.norm, EMPTY),
    "mean of what is not nan": Row([1.0, NAN], ops.nanmean, [1, 0]),
    "standard deviation of what is not nan": Row([1.0, 1.0, NAN], ops.nanstd, [0, 0, 0]),
    "segments with nothing": Row([1.0, 1.0], lambda x: ops.sum(ops.segment_mean(x, [0, 0], 3)), [0.5, 0.5]),
    "attention where all is hidden": Row(
        [[[[1.0]], [[2.0]]]],
        lambda x: ops.sum(ops.dot_product_attention(x, x, x, mask=np.zeros((1, 1, 2, 2), bool))),
        [[[[0]], [[0]]]],
    ),
    "determinant of a singular matrix": Row([[1.0, 1.0], [1.0, 1.0]], ops.det, [[1, -1], [-1, 1]]),
    "singular values that are equal": Row(UNIT, lambda x: ops.sum(ops.svd(x)[1]), UNIT),
    "eigenvalues that are equal": Row(UNIT, lambda x: ops.sum(ops.eigvalsh(x)), UNIT),
    "pinv of zeros": Row(np.zeros((2, 2)), lambda x: ops.sum(ops.pinv(x)), np.zeros((2, 2))),
    "unit vector of zeros": Row(np.zeros((1, 2)), lambda x: ops.sum(layers.UnitNormalization()(x)), None, None, None),
    "cosine of zeros": Row(np.zeros((1, 2)), lambda x: ops.sum(layers.Dot(-1, normalize=True)([x, x])), None),
    "penalty of zeros": Row(np.zeros((2, 2)), regularizers.OrthogonalRegularizer(), np.zeros((2, 2))),
    # --- none is, since the derivative is infinite or there is none
    "sqrt of 0": Row([0.0], lambda x: ops.sum(ops.sqrt(x)), [INF], (lambda x: jnp.sqrt(x).sum(), [INF])),
    "cbrt of 0": Row([0.0], lambda x: ops.sum(ops.cbrt(x)), [INF], (lambda x: jnp.cbrt(x).sum(), [INF])),
    "log of 0": Row([0.0], lambda x: ops.sum(ops.log(x)), [INF], (lambda x: jnp.log(x).sum(), [INF])),
    "arcsin of 1": Row([1.0], lambda x: ops.sum(ops.arcsin(x)), [INF], (lambda x: jnp.arcsin(x).sum(), [INF])),
    "arccos of 1": Row([1.0], lambda x: ops.sum(ops.arccos(x)), [-INF], (lambda x: jnp.arccos(x).sum(), [-INF])),
    "a root that where hides": Row(
        [0.0],
        lambda x: ops.sum(ops.where(ops.greater(x, 0), ops.sqrt(x), 0.0)),
        [NAN],
        (lambda x: jnp.where(x > 0, jnp.sqrt(x), 0.0).sum(), [NAN]),
        (lambda t, x: t.where(x > 0, x.sqrt(), 0.0).sum(), [NAN]),
    ),
    "eigenvectors of equal eigenvalues": Row(UNIT, lambda x: ops.eigh(x)[1][0, 0], np.full((2, 2), NAN)),
    "logarithm of a determinant of 0": Row(np.zeros((2, 2)), ops.logdet, np.full((2, 2), NAN)),
}


@pytest.mark.in_turn(8, broad=4)
@pytest.mark.parametrize("name", ROWS)
def test_ours(name):
    row = ROWS[name]
    found = np.asarray(gx.grad(row.ours)(np.asarray(row.point, "float32")))
    if row.gradient is None:
        assert np.isfinite(found).all()
    else:
        np.testing.assert_allclose(found, np.asarray(row.gradient, "float32"), rtol=1e-5, atol=1e-6)


@pytest.mark.broad
@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.jax])
def test_that_of_jax(name):
    row = ROWS[name]
    function, gradient = row.jax
    found = jax.grad(function)(jnp.asarray(row.point, "float32"))
    np.testing.assert_allclose(found, np.asarray(gradient, "float32"), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.torch])
def test_that_of_torch(name):
    torch = pytest.importorskip("torch")
    row = ROWS[name]
    function, gradient = row.torch
    x = torch.tensor(row.point, dtype=torch.float32, requires_grad=True)
    function(torch, x).backward()
    np.testing.assert_allclose(x.grad.numpy(), np.asarray(gradient, "float32"), rtol=1e-5, atol=1e-6)


@pytest.mark.in_turn(8, 1, broad=4)
@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_at_zeros_ones_and_its_targets(name):
    row, rng = LOSSES[name], np.random.default_rng(0)
    targets = row.targets(rng, (2, 3))
    targets = targets.astype("float32" if targets.dtype.kind == "f" else "int32")
    predictions = row.predictions(rng, (2, 3)).astype("float32")
    points = [np.zeros_like(predictions), np.ones_like(predictions), predictions * [[0], [1]]]
    if targets.shape == predictions.shape:
        points.append(targets)
    loss = row.make()
    gradient = gx.jit(gx.grad(lambda x, weights: loss(targets, x, sample_weight=weights)))
    for point in points:
        for weights in ([1, 1], [0, 1], [0, 0]):
            found = gradient(point.astype("float32"), np.asarray(weights, "float32"))
            assert np.isfinite(found).all(), f"{point}, weights {weights}"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: ops.sum(ops.svd(x)[1]), r"ops.svd of matrices that are not square(.|\n)*full_matrices=False\)"),
        (lambda x: ops.sum(ops.abs(ops.eig(x[:2])[0])), r"gradient of ops.eig(.|\n)*ops.eigh"),
    ],
)
def test_refused(function, message):
    with pytest.raises(GradientError, match=message):
        gx.grad(function)(np.arange(6, dtype="float32").reshape(3, 2))
