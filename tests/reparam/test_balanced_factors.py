"""The gradient through an assignment to LowRank: that of differences of the product wherever there is one."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import NumericsError
from graftax.reparam.balanced_factors import balanced_factors
from graftax.reparam.low_rank import LowRank

RNG = np.random.default_rng(0)
ROTATION = np.linalg.qr(RNG.normal(size=(4, 4)))[0]
MATRICES = {
    "of no special kind": (RNG.normal(size=(4, 4)), 2),
    "tall": (RNG.normal(size=(6, 3)), 2),
    "wide": (RNG.normal(size=(3, 6)), 2),
    "nothing is cut off": (RNG.normal(size=(3, 5)), 3),
    "unit": (np.eye(4), 4),
    "two equal ones are kept": (ROTATION @ np.diag([2.0, 2.0, 1.0, 0.5]) @ ROTATION, 2),
    "two equal ones are cut off": (ROTATION @ np.diag([3.0, 2.0, 1.0, 1.0]) @ ROTATION, 2),
    "zeros are cut off": (ROTATION @ np.diag([3.0, 3.0, 0.0, 0.0]) @ ROTATION, 2),
}


def nearest(x, rank):
    u, s, v = np.linalg.svd(x, full_matrices=False)
    return u[:, :rank] * s[:rank] @ v[:rank]


@pytest.mark.in_turn(4, broad=2)
@pytest.mark.parametrize("name", MATRICES)
def test_the_product_forwards_and_backwards(name):
    x, rank = MATRICES[name]
    along, mix = RNG.normal(size=x.shape), RNG.normal(size=x.shape).astype("float32")

    def loss(x):
        return ops.sum(ops.sin(ops.matmul(*balanced_factors(x, rank, "w"))) * mix)

    sides = [(np.sin(nearest(x + step * along, rank)) * mix).sum() for step in (1e-5, -1e-5)]
    wanted = (sides[0] - sides[1]) / 2e-5
    x, along = x.astype("float32"), along.astype("float32")
    assert np.sum(gx.grad(loss)(x) * along) == pytest.approx(wanted, rel=1e-3, abs=1e-3)
    assert float(gx.jvp(loss, (x,), (along,))[1]) == pytest.approx(wanted, rel=1e-3, abs=1e-3)


def parts(x, rank):
    """Both of NumPy, with the signs that make the first row of the left one positive."""
    u, s, v = np.linalg.svd(x, full_matrices=False)
    u, v = u[:, :rank] * np.sqrt(s[:rank]), v[:rank] * np.sqrt(s[:rank, None])
    return u * np.sign(u[0]), v * np.sign(u[0])[:, None]


@pytest.mark.broad
@pytest.mark.parametrize("name", ["of no special kind", "tall", "wide", "nothing is cut off"])
def test_each_of_both_where_singular_values_differ(name):
    x, rank = MATRICES[name]
    along = RNG.normal(size=x.shape)
    left_mix, right_mix = RNG.normal(size=(len(x), rank)), RNG.normal(size=(rank, x.shape[1]))

    def loss(x):
        left, right = balanced_factors(x, rank, "w")
        sign = ops.stop_gradient(ops.sign(left[0]))
        return ops.sum(left * sign * left_mix.astype("float32")) + ops.sum(
            right * sign[:, None] * right_mix.astype("float32")
        )

    def plain(step):
        left, right = parts(x + step * along, rank)
        return (left * left_mix).sum() + (right * right_mix).sum()

    wanted = (plain(1e-5) - plain(-1e-5)) / 2e-5
    assert np.sum(gx.grad(loss)(x.astype("float32")) * along) == pytest.approx(wanted, rel=1e-3, abs=1e-3)


@pytest.mark.broad
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_through_an_assignment_nothing_is_lost(dtype):
    """Of full rank, the weight is what was assigned."""
    with gx.variable_creator_scope(LowRank(3)):
        w = gx.Variable(shape=(3, 3), dtype=dtype, name="w")
    mix = RNG.normal(size=(3, 3)).astype("float32")
    gradient = gx.jit(gx.grad(lambda x: ops.sum(ops.cast(w.assign(x).value, "float32") * mix)))
    for x in (np.eye(3), RNG.normal(size=(3, 3))):
        np.testing.assert_allclose(
            np.asarray(gradient(ops.cast(x, dtype)), "float32"), mix, atol=1e-4 if dtype == "float32" else 0.2
        )


@pytest.mark.in_turn(3)
@pytest.mark.parametrize(("x", "rank"), [(np.zeros((3, 3)), 2), (np.eye(3), 2), (np.diag([1.0, 0.0, 0.0]), 2)])
def test_no_gap_no_gradient(x, rank):
    x = x.astype("float32")
    with gx.variable_creator_scope(LowRank(rank)):
        w = gx.Variable(shape=x.shape, name="w")
    w.assign(x)
    with pytest.raises(NumericsError, match=r"assigned to 'w', .*singular values .* and (0|1) at rank 2"):
        gx.grad(lambda x: ops.sum(w.assign(x).value))(x)
    assert np.isnan(gx.jit(gx.grad(lambda x: ops.sum(balanced_factors(x, rank, "w")[0])))(x)).any()


@pytest.mark.broad
def test_higher_ones_are_told_apart_from_numbers():
    """Equal singular values have no second derivative here, and rounding is none."""
    x = ROTATION.astype("float32")
    slope = gx.grad(lambda x: ops.sum(ops.matmul(*balanced_factors(x, 4, "w")) ** 2))
    assert np.isfinite(slope(x)).all()
    assert np.isnan(gx.grad(lambda x: ops.sum(slope(x) ** 2))(x)).any()
