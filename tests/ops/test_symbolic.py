"""Values that are not there yet: what ops and operators make of them, and what needs a value."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.errors import ArgumentError, GraftaxError, MissingAttributeError, StateError

DRAWS = np.random.default_rng(0)
A = DRAWS.uniform(0.5, 1.5, (2, 3, 4)).astype("float32")
BUILT = {
    "operators": (lambda x: (2 * x + 1 - x / 3) ** 2 // 1 % 5, lambda x: (2 * x + 1 - x / 3) ** 2 // 1 % 5),
    "reflected": (lambda x: 1 - 2 / x + 3**x, lambda x: 1 - 2 / x + 3**x),
    "unary": (lambda x: -x + abs(x) + (+x), lambda x: -x + abs(x) + x),
    "matmul": (lambda x: x @ np.ones((4, 2), "float32"), lambda x: x @ np.ones((4, 2), "float32")),
    "numpy first": (lambda x: np.ones(4, "float32") * x, lambda x: np.ones(4, "float32") * x),
    "comparisons": (lambda x: (x > 1) & ~(x >= 1.2) | (x == 0), lambda x: (x > 1) & ~(x >= 1.2) | (x == 0)),
    "subscripts": (lambda x: x[:, 0, ..., ::2], lambda x: x[:, 0, ..., ::2]),
    "new axis": (lambda x: x[:, None, -1], lambda x: x[:, None, -1]),
    "methods": (
        lambda x: x.reshape(-1, 12).astype("int32") + x.sum(axis=1).mean(axis=-1, keepdims=True).astype("int32"),
        lambda x: x.reshape(-1, 12).astype("int32") + x.sum(axis=1).mean(axis=-1, keepdims=True).astype("int32"),
    ),
    "transposed": (lambda x: x.T * 2, lambda x: x.T * 2),
    "a list": (lambda x: ops.concatenate([x, 2 * x], axis=-1), lambda x: np.concatenate([x, 2 * x], axis=-1)),
    "several results": (lambda x: ops.split(x, 2, axis=-1)[1], lambda x: np.split(x, 2, axis=-1)[1]),
    "keywords": (lambda x: ops.mean(x=x, axis=(1, 2)), lambda x: np.mean(x, axis=(1, 2))),
    "an activation": (lambda x: gx.activations.relu(x - 1), lambda x: np.maximum(x - 1, 0)),
}


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("backend", ["jax", "numpy"])
@pytest.mark.parametrize("name", BUILT)
def test_a_graph_of_ops_computes_what_numpy_does(name, backend):
    function, reference = BUILT[name]
    with gx.backend.use(backend):
        x = gx.Input((3, 4))
        y = function(x)
        out = gx.Model(x, y)(A)
        wanted = np.asarray(reference(A))
        np.testing.assert_allclose(np.asarray(out), wanted, rtol=1e-5)
        assert y.ndim == wanted.ndim
        assert str(y.dtype) == str(np.asarray(out).dtype)
        assert all(n in (None, m) for n, m in zip(y.shape, wanted.shape, strict=True))


def test_shapes_have_none_where_the_size_is_not_known():
    x = gx.Input((None, 6))
    assert (x.shape, str(x.dtype), x.ndim) == ((None, None, 6), "float32", 3)
    assert ops.reshape(x, (-1, 3)).shape == (None, 3)
    assert ops.sum(x, axis=1).shape == (None, 6)
    assert ops.shape(x) == (None, None, 6)
    assert ops.ndim(x) == 3
    assert (x[:, :2] * 2).shape == (None, 2, 6)
    assert gx.Input((6,), batch_size=4).size == 24
    assert len(gx.Input((6,), batch_size=4)) == 4


def test_a_size_that_only_larger_arrays_have():
    x = gx.Input((None, None, 3))
    assert gx.layers.Conv2D(2, 11)(x).shape == (None, None, None, 2)


NEED_VALUES = {
    "bool": bool,
    "float": float,
    "int": int,
    "len": len,
    "iter": lambda x: list(x),
    "array": np.asarray,
    "size": lambda x: x.size,
    "numpy": ops.to_numpy,
    "index": lambda x: [1, 2][x],
}


@pytest.mark.parametrize("name", NEED_VALUES)
def test_what_needs_a_value_says_that_there_is_none(name):
    x = gx.Input((3,), name="image")
    with pytest.raises(StateError, match=r"float32\[None, 3\] of 'image'.*\n(.*\n)*.*not there yet"):
        NEED_VALUES[name](x)


def test_a_method_that_there_is_not_names_the_op():
    with pytest.raises(MissingAttributeError, match=r"ops\.argsort\(x"):
        gx.Input((3,)).argsort()
    with pytest.raises(AttributeError, match="no attribute 'banana'"):
        gx.Input((3,)).banana()


def test_errors_of_ops_come_where_the_graph_is_made():
    x = gx.Input((3, 4))
    with pytest.raises(GraftaxError, match="add: x"):
        x + gx.Input((3, 5))
    with pytest.raises(IndexError, match="index 7 of axis 1"):
        x[:, 7]
    with pytest.raises(GraftaxError, match=r"None is tried as 8 and 16"):
        ops.reshape(x, (-1, 7))


def test_a_traced_value_cannot_be_part_of_a_graph():
    x = gx.Input((3,))

    def step(value):
        _ = x + value
        return value

    with pytest.raises(ArgumentError, match="function that is being compiled"):
        gx.jit(step)(np.ones(3, "float32"))


def test_what_a_graph_was_given_does_not_change_with_the_array_it_came_from():
    x = gx.Input((3,))
    shift = np.ones(3, "float32")
    model = gx.Model(x, x + shift)
    shift[:] = 5
    assert np.asarray(model(np.zeros((1, 3), "float32"))).tolist() == [[1.0, 1.0, 1.0]]
