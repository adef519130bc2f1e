"""Positive against NumPy: values, what they start as, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import graftax as gx
from graftax import ops
from graftax.backend import registry
from graftax.core.errors import ArgumentError, AssignmentError, CheckError
from graftax.reparam.positive import Positive
from graftax.variables.variable import Variable

MAPS = {"softplus": lambda v: np.logaddexp(0, v), "exp": np.exp}


def made(*args, map="softplus", floor=0.0, **options):
    with gx.variable_creator_scope(Positive(map, floor)):
        return Variable(*args, name="w", **options)


@pytest.mark.parametrize("map", MAPS)
@pytest.mark.parametrize("floor", [0.0, 0.5])
def test_values(map, floor):
    free = np.linspace(-30, 30, 13).astype("float32")
    w = made(np.ones(13, "float32"), map=map, floor=floor)
    w.free.assign(free)
    np.testing.assert_allclose(w.numpy(), floor + MAPS[map](free.astype("float64")), rtol=1e-5)


@given(arrays("float32", (3,), elements=st.floats(2**-12, 2**12, width=32)), st.sampled_from([*MAPS]))
def test_assigning_gives_the_value(value, map):
    with registry.use("numpy"):
        w = made(shape=(3,), initializer="ones", map=map)
        w.assign(value)
        np.testing.assert_allclose(w.numpy(), value, rtol=2e-5)


def test_it_starts_at_the_absolute_value():
    gx.set_random_seed(0)
    plain = Variable(shape=(4, 3), name="w")
    gx.set_random_seed(0)
    w = made(shape=(4, 3))
    assert (plain.numpy() < 0).any()
    np.testing.assert_allclose(w.free.numpy().shape, (4, 3))
    assert (w.numpy() >= 0.99e-4).all()
    np.testing.assert_allclose(made(shape=(2,), initializer="ones").numpy(), 1, rtol=1e-5)
    np.testing.assert_allclose(made(shape=(2,), initializer="zeros", floor=0.5).numpy(), 0.5001, rtol=1e-5)
    np.testing.assert_allclose(made([0.25, 4.0], map="exp").numpy(), [0.25, 4.0], rtol=1e-5)


@pytest.mark.parametrize("bad", [[1.0, 0.0, -3.0], [float("nan"), -3.0, 0.0]])
def test_what_is_not_above_the_floor_is_refused(bad):
    w = made(np.ones(3, "float32"))
    before = w.numpy()
    with pytest.raises(AssignmentError, match="Positive keeps above 0") as caught:
        w.assign(bad)
    assert caught.value.reason.startswith(("2 of 3 numbers", "3 of 3 numbers"))
    np.testing.assert_array_equal(w.numpy(), before)
    with pytest.raises(AssignmentError, match="keeps above 2"):
        made([1.0], floor=2.0)


def test_compiled_it_is_checked_where_checks_are_asked_for():
    w = made(np.ones(2, "float32"))
    set_to = gx.jit(lambda value: w.assign(value).value, checked=True)
    np.testing.assert_allclose(set_to(ops.asarray([2.0, 3.0])), [2, 3], rtol=1e-6)
    with pytest.raises(CheckError, match="above its floor"):
        set_to(ops.asarray([2.0, -3.0]))
    np.testing.assert_allclose(w.numpy(), [2, 3], rtol=1e-6)


@pytest.mark.broad
def test_grafting():
    x = np.ones((2, 3), "float32")
    layer = gx.layers.Dense(4)
    layer(x)
    with pytest.raises(AssignmentError, match="not above it"):
        gx.graft(layer, Positive(), where="kernel")
    assert type(layer.kernel) is Variable
    layer.kernel.assign(ops.abs(layer.kernel))
    before = layer(x)
    gx.graft(layer, Positive(), where="kernel")
    np.testing.assert_allclose(layer(x), before, rtol=1e-5)


def test_training_keeps_it_positive():
    w = made([0.1])
    optimizer = gx.optimizers.SGD(1.0)

    @gx.jit
    def step():
        optimizer.apply(gx.grad(lambda: ops.sum(w.value), wrt=[w.free])(), [w.free])

    for _ in range(5):
        step()
    assert 0 < float(w.value[0]) < 0.1


@pytest.mark.parametrize(("options", "match"), [({"map": "square"}, "softplus, exp"), ({"floor": -1.0}, "floor=-1.0")])
def test_bad_options(options, match):
    with pytest.raises(ArgumentError, match=match):
        Positive(**options)


def test_repr():
    assert repr(Positive()) == "Positive(map='softplus', floor=0)"
