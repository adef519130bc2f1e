"""The gradient through an assignment to Orthogonal: that of differences wherever there is one."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.backend import registry
from graftax.core.errors import NumericsError
from graftax.reparam.orthogonal import Orthogonal
from graftax.reparam.polar_factor import polar_factor

RNG = np.random.default_rng(0)
ROTATION = np.linalg.qr(RNG.normal(size=(4, 4)))[0]
MATRICES = {
    "of no special kind": RNG.normal(size=(4, 4)),
    "unit": np.eye(4),
    "rotation": ROTATION,
    "pairs of equal singular values": ROTATION @ np.diag([2.0, 2.0, 0.5, 0.5]) @ ROTATION,
    "tall": RNG.normal(size=(5, 3)),
    "tall unit": 3 * np.eye(5, 3),
    "one column": np.array([[3.0], [4.0]]),
    "small": 1e-4 * ROTATION,
}


def nearest(x):
    u, _, v = np.linalg.svd(x, full_matrices=False)
    return u @ v


def differences(function, x, along, order, step):
    sides = [function(x + i * step * along) for i in (-1, 0, 1)]
    return (sides[2] - sides[0]) / (2 * step) if order == 1 else (sides[2] - 2 * sides[1] + sides[0]) / step**2


def case(name):
    x = MATRICES[name]
    along, mix = RNG.normal(size=x.shape) * np.linalg.norm(x, 2), RNG.normal(size=x.shape)
    return x.astype("float32"), along.astype("float32"), mix.astype("float32")


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", MATRICES)
def test_forwards_and_backwards(name):
    x, along, mix = case(name)

    def loss(x):
        return ops.sum(ops.sin(polar_factor(x, "w")) * mix)

    wanted = differences(lambda x: (np.sin(nearest(x)) * mix).sum(), x.astype("float64"), along, 1, 1e-5)
    assert np.sum(gx.grad(loss)(x) * along) == pytest.approx(wanted, rel=1e-4, abs=1e-4)
    assert float(gx.jvp(loss, (x,), (along,))[1]) == pytest.approx(wanted, rel=1e-4, abs=1e-4)


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", MATRICES)
def test_twice(name):
    x, along, mix = case(name)

    def slope(x):
        return ops.sum(gx.grad(lambda x: ops.sum(ops.sin(polar_factor(x, "w")) * mix))(x) * along)

    wanted = differences(lambda x: (np.sin(nearest(x)) * mix).sum(), x.astype("float64"), along, 2, 1e-4)
    assert np.sum(gx.jit(gx.grad(slope))(x) * along) == pytest.approx(wanted, rel=1e-3, abs=1e-3)


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("shape", [(4, 4), (6, 2), (2, 5), (2, 2, 3)])
def test_through_an_assignment(shape):
    """Also of what was orthonormal before: singular values that are all equal."""
    with gx.variable_creator_scope(Orthogonal()):
        w = gx.Variable(shape=shape, name="w")
    x, mix = w.numpy(), RNG.normal(size=shape).astype("float32")
    along = RNG.normal(size=shape).astype("float32")

    def rows(x):
        return x.reshape(-1, shape[-1])

    wanted = differences(lambda x: (nearest(rows(x)) * rows(mix)).sum(), x.astype("float64"), along, 1, 1e-5)
    gradient = gx.jit(gx.grad(lambda x: ops.sum(w.assign(x) * mix)))(x)
    assert np.sum(gradient * along) == pytest.approx(wanted, rel=1e-4, abs=1e-4)


@pytest.mark.broad
@pytest.mark.parametrize("x", [np.zeros((3, 3)), np.ones((4, 2)), np.diag([1.0, 2.0, 0.0])])
def test_no_rank_no_gradient(x):
    x = x.astype("float32")
    with gx.variable_creator_scope(Orthogonal()):
        w = gx.Variable(shape=x.shape, name="w")
    w.assign(x)
    np.testing.assert_allclose(w.numpy().T @ w.numpy(), np.eye(x.shape[1]), atol=1e-6)
    with pytest.raises(NumericsError, match=r"assigned to 'w', .*singular values from .* down to"):
        gx.grad(lambda x: ops.sum(w.assign(x).value))(x)
    assert np.isnan(gx.jit(gx.grad(lambda x: ops.sum(polar_factor(x, "w"))))(x)).all()


def test_the_bits_of_the_decomposition():
    x = MATRICES["tall"].astype("float32")
    u, _, v = ops.svd(x, full_matrices=False)
    np.testing.assert_array_equal(polar_factor(x, "w"), u @ v)
    with registry.use("numpy"):
        np.testing.assert_allclose(polar_factor(x, "w"), nearest(x), atol=1e-6)
