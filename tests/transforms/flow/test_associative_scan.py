"""associative_scan, against loops in NumPy; eager, compiled, differentiated, on both backends."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentError, DTypeError, ShapeError, StateError

X = np.random.default_rng(0).normal(size=(7, 3, 5)).astype("float32")


def plain(fn):
    return fn


modes = pytest.mark.parametrize("mode", [plain, gx.jit], ids=["eager", "compiled"])


def linear(left, right):
    return {"a": left["a"] * right["a"], "b": right["a"] * left["b"] + right["b"]}


def recurrence(a, b):
    """h = a h + b, row by row."""
    h, found = np.zeros_like(b[0]), []
    for i in range(len(a)):
        h = a[i] * h + b[i]
        found.append(h)
    return np.stack(found)


@pytest.mark.in_turn(8)
@modes
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 6, 7])
def test_every_number_of_places(mode, count):
    found = mode(lambda x: gx.associative_scan(ops.add, x))(X[:count])
    np.testing.assert_allclose(found, np.cumsum(X[:count], 0), rtol=1e-5, atol=1e-6)


@pytest.mark.broad
@modes
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("reverse", [False, True])
def test_axes_in_both_directions(mode, axis, reverse):
    found = mode(lambda x: gx.associative_scan(ops.multiply, x, reverse=reverse, axis=axis))(X)
    turned = np.flip(X, axis) if reverse else X
    expected = np.cumprod(turned, axis)
    np.testing.assert_allclose(found, np.flip(expected, axis) if reverse else expected, rtol=1e-4)


@pytest.mark.broad
@modes
@pytest.mark.parametrize("backend", ["jax", "numpy"])
def test_a_linear_recurrence_is_not_commutative_and_right(mode, backend):
    with gx.backend.use(backend):
        mode = plain if backend == "numpy" else mode  # which does not compile
        a = 0.5 + 0.1 * X
        found = mode(lambda a, b: gx.associative_scan(linear, {"b": b, "a": a}))(a, X)
        np.testing.assert_allclose(ops.to_numpy(found["b"]), recurrence(a, X), rtol=1e-5, atol=1e-6)
        assert list(found) == ["b", "a"]
        back = gx.associative_scan(linear, {"b": X, "a": a}, reverse=True)["b"]
        np.testing.assert_allclose(ops.to_numpy(back), recurrence(a[::-1], X[::-1])[::-1], rtol=1e-5, atol=1e-6)


@pytest.mark.broad
@modes
def test_gradients_to_elements_and_variables_are_those_of_a_scan(mode):
    w = gx.Variable(np.float32([0.5, -0.4, 0.9]))
    x = X[..., 0]

    def parallel(x):
        pairs = gx.associative_scan(lambda a, b: (a[0] * b[0] * w / w, a[1] * b[0] + b[1]), (x * 0 + w, x))
        return ops.sum(pairs[1] ** 2)

    def serial(x):
        return ops.sum(gx.scan(lambda h, row: (w * h + row,) * 2, ops.zeros(3), x)[1] ** 2)

    for options in ({}, {"wrt": w}):
        one, other = (mode(gx.grad(fn, **options))(x) for fn in (parallel, serial))
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=1e-4)
    with gx.GradientTape() as tape:
        loss = parallel(ops.asarray(x))
    np.testing.assert_allclose(tape.gradient(loss, w), gx.grad(serial, wrt=w)(x), rtol=2e-4, atol=1e-4)


@pytest.mark.broad
def test_calls_grow_with_the_logarithm():
    calls = []

    def add(left, right):
        calls.append(left.shape[0])
        return left + right

    gx.associative_scan(add, ops.ones(1024))
    assert len(calls) < 2 * 10
    assert sum(calls) < 2 * 1024


def test_an_assignment_is_refused_and_leaves_the_variable():
    seen = gx.Variable(0.0, trainable=False)

    def add(left, right):
        seen.assign_add(1.0)
        return left + right

    with pytest.raises(StateError, match=r"graftax\.scan, which goes place by place"):
        gx.associative_scan(add, ops.ones(4))
    assert float(seen) == 0


@pytest.mark.broad
def test_a_mask_stays_with_its_places():
    x = gx.layers.Embedding(4, 3, mask_zero=True)(np.array([[1, 2, 0]]))
    summed = gx.layers.GlobalAveragePooling1D()
    found = gx.associative_scan(ops.add, x, axis=1)
    np.testing.assert_allclose(summed(found), ops.mean(ops.cumsum(x, 1)[:, :2], 1), rtol=1e-5)


def test_elements_and_results_that_do_not_fit():
    with pytest.raises(ShapeError, match="'elems/0' has 3 places along axis 0, 'elems/1' has 4"):
        gx.associative_scan(lambda a, b: a, (np.ones(3), np.ones(4)))
    with pytest.raises(ShapeError, match="axis = 1 of 'elems'"):
        gx.associative_scan(ops.add, np.ones(3), axis=1)
    with pytest.raises(ArgumentError, match="no array"):
        gx.associative_scan(ops.add, [])
    with pytest.raises(ArgumentError, match="axis=0.5"):
        gx.associative_scan(ops.add, np.ones(3), axis=0.5)
    with pytest.raises(ArgumentError, match="returned the leaves"):
        gx.associative_scan(lambda a, b: (a, b), np.ones(3))
    with pytest.raises(ShapeError, match="gives one for each two"):
        gx.associative_scan(lambda a, b: ops.sum(a + b), np.ones(6))
    with pytest.raises(DTypeError, match="none is converted silently"):
        gx.associative_scan(lambda a, b: ops.cast(a + b, "float32"), np.ones(6, "int32"))


@modes
def test_a_term_of_the_loss_is_told_as_such(mode):
    class Penalized(gx.Layer):
        def call(self, x):
            self.add_loss(ops.mean(x))
            return x

    layer = Penalized()
    with pytest.raises(StateError, match="a layer that adds a term of the loss"):
        mode(lambda x: gx.associative_scan(lambda left, right: layer(left + right), x))(X)
