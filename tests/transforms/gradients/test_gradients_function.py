"""Gradients as functions, case by case: the ids are those of the semantics."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentError, ArgumentTypeError, DTypeError, GradientError, ShapeError


def close(found, expected):
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-5, atol=1e-5)


def product(x, y):
    return x * x * y


either = pytest.mark.parametrize("around", [lambda fn: fn, gx.jit], ids=["eager", "compiled"])


@either
def test_fg1_a_list_of_gradients(around):
    found = around(gx.gradients_function(product))(3.0, 2.0)
    assert isinstance(found, list)
    close(found, [12, 9])


@pytest.mark.parametrize("params", [[1], ["y"], 1, "y"])
def test_fg2_params_by_index_or_name(params):
    close(gx.gradients_function(product, params)(3.0, 2.0), [9])
    close(gx.gradients_function(product, ["y"])(3.0, y=2.0), [9])


def test_fg2_params_that_the_call_does_not_have():
    with pytest.raises(ArgumentError, match=r"(?s)argument 'z'.*2 positional"):
        gx.gradients_function(product, ["z"])(3.0, 2.0)
    with pytest.raises(ArgumentError, match="argument 2"):
        gx.gradients_function(product, [2])(3.0, 2.0)
    with pytest.raises(ArgumentError, match="named twice"):
        gx.gradients_function(product, [0, "x"])(3.0, 2.0)
    with pytest.raises(GradientError, match="without an argument"):
        gx.gradients_function(lambda: 1.0)()


def test_fg3_value_and_gradients():
    value, gradients = gx.value_and_gradients_function(lambda x: x**2)(3.0)
    close(value, 9)
    close(gradients, [6])


def test_fg4_an_integer_has_no_gradient():
    with pytest.raises(TypeError, match=r"(?s)argument 0 of dtype int32.*only floating") as caught:
        gx.gradients_function(lambda x: x * x)(3)
    assert isinstance(caught.value, DTypeError)
    close(gx.gradients_function(lambda x, n: x**n, params=[0])(3.0, 2), [6])
    with pytest.raises(ArgumentTypeError, match="argument 1, a str"):
        gx.gradients_function(lambda x, mode: x)(3.0, "fast")


@either
def test_fg5_dy_weighs_the_elements(around):
    gradient = around(lambda x: gx.gradients_function(lambda x: x * x)(x, dy=[1.0, 10.0]))
    close(gradient(ops.asarray([1.0, 2.0])), [[2, 40]])


def test_fg5_dy_fits_the_value():
    pair = gx.gradients_function(lambda x: {"a": x, "b": [x * x]})
    close(pair(3.0), [7])
    close(pair(3.0, dy={"a": 1.0, "b": [10.0]}), [61])
    with pytest.raises(ArgumentError, match="another structure"):
        pair(3.0, dy=[1.0, 1.0])
    with pytest.raises(ShapeError, match=r"dy of .* has shape \(3,\), its value \(2,\)"):
        gx.gradients_function(lambda x: x)(ops.ones(2), dy=[1.0, 1.0, 1.0])


def test_arguments_may_be_structures_and_variables():
    (gradient,) = gx.gradients_function(lambda p: p["w"] * p["x"][0])({"w": gx.Variable(2.0), "x": [3.0]})
    assert set(gradient) == {"w", "x"}
    close([gradient["w"], gradient["x"][0]], [3, 2])


@either
def test_fg6_variables_in_the_order_of_their_reads(around):
    w, v = gx.Variable(3.0), gx.Variable(2.0)
    seen = []

    def run(x):
        pairs = gx.implicit_gradients(lambda x: x * v * v * w)(x)
        seen[:] = [variable for _, variable in pairs]
        return [gradient for gradient, _ in pairs]

    close(around(run)(1.0), [12, 4])
    assert seen[0] is v
    assert seen[1] is w


def test_fg7_implicit_value_and_gradients():
    v = gx.Variable(2.0)
    value, [(gradient, variable)] = gx.implicit_value_and_gradients(lambda: v * v)()
    close([value, gradient], [4, 4])
    assert variable is v


def test_fg8_no_trainable_variable():
    with pytest.raises(ValueError, match=r"(?s)reads no trainable Variable.*instead: graftax.gradients_function"):
        gx.implicit_gradients(lambda x: x * 2)(1.0)


@pytest.mark.parametrize("transform", [gx.implicit_gradients, gx.gradients_function])
def test_fg9_nothing_returned(transform):
    with pytest.raises(ValueError, match="did you forget to return"):
        transform(lambda x: None)(1.0)
    with pytest.raises(GradientError, match=r"returned int32\[\]"):
        transform(lambda x: ops.cast(x, "int32"))(1.0)


def test_fg10_what_is_not_trainable_is_left_out():
    v, w, n = gx.Variable(2.0), gx.Variable(3.0, trainable=False), gx.Variable(4)
    pairs = gx.implicit_gradients(lambda: v * w * ops.cast(n, "float32"))()
    assert len(pairs) == 1
    close(pairs[0][0], 12)


@either
def test_fg11_nested(around):
    second = gx.gradients_function(lambda x: gx.gradients_function(lambda y: y**3)(x)[0])
    close(around(second)(2.0), [12])


@either
def test_fg11_implicit_gradients_nest(around):
    v = gx.Variable(2.0)
    first = gx.implicit_gradients(lambda: v**3)
    close(around(lambda: [g for g, _ in gx.implicit_gradients(lambda: first()[0][0])()])(), [12])
    close(around(gx.grad(lambda: first()[0][0], wrt=v))(), 12)


@either
def test_fg12_an_optimizer_takes_the_pairs(around):
    layer = gx.layers.Dense(1)
    x = ops.ones((4, 2))
    layer(x)
    optimizer = gx.optimizers.SGD(0.1)
    before = np.asarray(layer.kernel.numpy())

    def step():
        optimizer.apply_gradients(gx.implicit_gradients(lambda: ops.sum(layer(x)))())

    around(step)()
    close(layer.kernel.numpy(), before - 0.4)


def test_python_decides_by_values():
    v = gx.Variable(2.0)
    [(gradient, _)] = gx.implicit_gradients(lambda: v * v if v > 1 else v)()
    close(gradient, 4)
    close(gx.gradients_function(lambda x: x * x if x > 1 else x)(3.0), [6])


@either
def test_assignments_take_effect_once(around):
    v, n = gx.Variable(2.0), gx.Variable(0.0, trainable=False)

    def count(x):
        n.assign_add(1.0)
        return x * v * n

    close(around(lambda: [g for g, _ in gx.implicit_gradients(count)(3.0)])(), [3])
    close(n.value, 1)
    close(around(lambda: gx.gradients_function(count)(3.0))(), [4])
    close(n.value, 2)


def test_fg6_a_variable_that_does_not_matter_has_zeros():
    v, w = gx.Variable([1.0, 2.0]), gx.Variable(3.0)
    pairs = gx.implicit_gradients(lambda: (v.value, w * w)[1])()
    close(pairs[0][0], [0, 0])
    close(pairs[1][0], 6)


@pytest.mark.broad
def test_reads_inside_compiled_functions_loops_and_rows():
    v = gx.Variable(2.0)
    xs = ops.asarray([1.0, 2.0])
    for inner in (
        gx.jit(lambda: ops.sum(v * xs)),
        lambda: ops.sum(gx.map_fn(lambda x: x * v, xs)),
        lambda: ops.sum(gx.vectorized_map(lambda x: x * v, xs)),
        gx.remat(lambda: ops.sum(v * xs)),
    ):
        [(gradient, variable)] = gx.implicit_gradients(inner)()
        close(gradient, 3)
        assert variable is v


def test_a_tape_around():
    v = gx.Variable(2.0)
    with gx.GradientTape() as tape:
        [(gradient, _)] = gx.implicit_gradients(lambda: v**3)()
    close(tape.gradient(gradient, v), 12)


@pytest.mark.broad
@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(-2, 2, width=32), min_size=1, max_size=4))
def test_numbers_are_those_of_jax(values):
    x = np.asarray(values, "float32")
    v = gx.Variable(x)
    expected = jax.grad(lambda x: jax.numpy.sum(jax.numpy.tanh(x) * x))(x)
    close(gx.gradients_function(lambda x: ops.tanh(x) * x)(x)[0], expected)
    close(gx.implicit_gradients(lambda: ops.tanh(v) * v)()[0][0], expected)
