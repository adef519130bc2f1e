"""Mask: pruned weights are zero, have no gradient, and fold in."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.reparam.mask import Mask, MaskedWeight
from graftax.variables.variable import Variable

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 5)).astype("float32")
MASK = RNG.uniform(size=(5, 4)) < 0.5


def trained():
    layer = gx.layers.Dense(4)
    layer(X)
    return layer


def test_ones_change_nothing_and_zeros_fold_in():
    layer = trained()
    before, kernel = layer(X), layer.kernel
    (done,) = gx.graft(layer, Mask(), where="kernel")
    assert (done.error, layer.kernel.base) == (0, kernel)
    np.testing.assert_array_equal(layer(X), before)
    layer.kernel.mask.assign(MASK)
    masked = layer(X)
    np.testing.assert_allclose(masked, X @ (kernel.numpy() * MASK) + layer.bias.numpy(), rtol=1e-5, atol=1e-6)
    gx.ungraft(layer)
    assert layer.kernel is kernel
    assert ((kernel.numpy() == 0) == ~MASK).all()
    np.testing.assert_array_equal(layer(X), masked)


@pytest.mark.broad
def test_what_is_pruned_has_no_gradient():
    layer = trained()
    gx.graft(layer, Mask(), where="kernel")
    layer.kernel.mask.assign(MASK)
    gradient = gx.grad(lambda: ops.sum(layer(X) ** 2), wrt=layer.kernel.base)()
    assert ((np.asarray(gradient) == 0) == ~MASK).all()


@pytest.mark.broad
def test_the_optimizer_keeps_its_slots():
    layer = trained()
    optimizer = gx.optimizers.Adam(0.01)

    def step():
        optimizer.apply(gx.grad(lambda: ops.sum(layer(X) ** 2), wrt=layer)(), layer)

    step()
    slots = [v for v in optimizer.variables if v.role == "slot"]
    gx.graft(layer, Mask(), where="kernel")
    step()
    assert [v for v in optimizer.variables if v.role == "slot"] == slots


def test_assigning():
    with gx.variable_creator_scope(Mask()):
        w = Variable(shape=(5, 4))
    w.mask.assign(MASK)
    value = RNG.normal(size=(5, 4)).astype("float32")
    np.testing.assert_array_equal(w.assign(value).numpy(), np.where(MASK, value, 0))


def test_other_shapes_pass_and_repr():
    with gx.variable_creator_scope(Mask()):
        assert type(Variable([1.0])) is Variable
        assert isinstance(Variable([[1.0]]), MaskedWeight)
    assert repr(Mask()) == "Mask()"
