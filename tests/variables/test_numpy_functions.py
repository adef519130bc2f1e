"""Functions of NumPy on Variables: computed with the values now, refused where there are none yet."""

import operator

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentTypeError, CompileError

VALUES = np.array([1.0, 2.0, 4.0], "float32")
OTHER = np.array([3.0, 2.0, 1.0], "float32")

BINARY = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    operator.matmul,
    operator.eq,
    operator.ne,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
]


@pytest.fixture
def w():
    return gx.Variable(VALUES, name="w")


@pytest.mark.parametrize("function", [np.square, np.exp, np.sqrt, np.negative], ids=lambda f: f.__name__)
def test_a_function_computes_with_the_value_now(w, function):
    found = function(w)
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, function(VALUES))
    w.assign(VALUES + 1)
    np.testing.assert_array_equal(function(w), function(VALUES + 1))


def test_functions_of_two_arguments_and_reductions(w):
    np.testing.assert_array_equal(np.maximum(w, OTHER), np.maximum(VALUES, OTHER))
    np.testing.assert_array_equal(np.maximum(OTHER, w), np.maximum(OTHER, VALUES))
    assert np.sum(w) == 7
    assert np.add.reduce(w) == 7
    np.testing.assert_array_equal(np.multiply.outer(w, OTHER), np.multiply.outer(VALUES, OTHER))
    np.testing.assert_array_equal(np.square(w, dtype="float64"), np.square(VALUES, dtype="float64"))


@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
def test_operators_with_an_array_on_either_side_stay_with_the_backend(w, function):
    for found, expected in (
        (function(OTHER, w), function(OTHER, VALUES)),
        (function(w, OTHER), function(VALUES, OTHER)),
    ):
        assert not isinstance(found, np.ndarray)
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-6)


def test_operators_of_whole_numbers():
    bits, mask = gx.Variable(np.array([1, 2, 3]), trainable=False, role="state"), np.array([1, 1, 1], "int32")
    for function in (operator.and_, operator.or_, operator.xor):
        assert np.asarray(function(mask, bits)).tolist() == function(mask, np.array([1, 2, 3])).tolist()


def test_operators_with_arrays_have_gradients_and_are_compiled(w):
    loss = lambda: ops.sum(OTHER * w * w)  # noqa: E731
    value, [gradient] = gx.jit(gx.value_and_grad(loss, wrt=[w]))()
    assert float(value) == 3 + 8 + 16
    np.testing.assert_allclose(np.asarray(gradient), 2 * OTHER * VALUES)


@pytest.mark.parametrize("kind", ["jit", "grad"])
def test_in_a_trace_the_op_is_named(w, kind):
    loss = lambda: ops.sum(np.square(w))  # noqa: E731
    run = gx.jit(loss) if kind == "jit" else gx.value_and_grad(loss, wrt=[w])
    with pytest.raises(CompileError, match=r"np.square got the variable 'w' of shape \(3,\)") as caught:
        run()
    assert caught.value.instead == "ops.square(variable)"


@pytest.mark.parametrize(
    ("call", "instead"),
    [
        (lambda w: np.maximum(w, 0.0), "ops.maximum(variable, x)"),
        (lambda w: np.sum(w), "ops.sum(variable)"),
        (lambda w: np.heaviside(w, 1.0), "ops.heaviside(variable, x)"),
        (lambda w: np.spacing(w), "functions of graftax.ops, which compute in there"),
    ],
    ids=["maximum", "sum", "heaviside", "spacing"],
)
def test_what_to_write_in_a_trace(w, call, instead):
    with pytest.raises(CompileError) as caught:
        gx.jit(lambda: call(w))()
    assert caught.value.instead == instead


def test_an_array_is_added_to_in_place(w):
    total = np.zeros(3, "float32")
    kept = total
    total += w
    assert kept.tolist() == VALUES.tolist()

    def compiled():
        within = np.zeros(3, "float32")
        within += w
        return within

    with pytest.raises(CompileError, match=r"array = array \+ variable"):
        gx.jit(compiled)()


def test_nothing_is_written_into_a_variable(w):
    with pytest.raises(ArgumentTypeError, match=r"variable.assign\(np.square"):
        np.square(OTHER, out=w)
    assert w.numpy().tolist() == VALUES.tolist()


def test_a_tape_tells_that_no_gradient_comes_back(w):
    with gx.GradientTape(), pytest.warns(UserWarning, match="'w' became a NumPy array"):
        np.square(w)


def test_expressions_over_variables_are_taken_too():
    with gx.variable_creator_scope(gx.reparam.WeightNorm()):
        dense = gx.layers.Dense(2)
        dense(np.ones((1, 3), "float32"))
    np.testing.assert_array_equal(np.square(dense.kernel), np.square(np.asarray(dense.kernel.value)))
