"""Functions with gradients of their own, case by case: the ids are those of the semantics."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentTypeError, GradientError, ShapeError, StateError

either = pytest.mark.parametrize("around", [lambda fn: fn, gx.jit], ids=["eager", "compiled"])


def close(found, expected):
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-5, atol=1e-5)


@gx.custom_gradient
def square(x):
    return x * x, lambda dy: 2 * x * dy


def scaled(v):
    @gx.custom_gradient
    def fn(x):
        return x * v, lambda dy, variables=None: (dy * variables[0], [dy * x])

    return fn


def with_rule(value, back):
    return gx.custom_gradient(lambda *args, **kwargs: (value(*args, **kwargs), back))


@either
def test_cg1_the_gradient_is_what_was_told(around):
    value, gradient = around(gx.value_and_grad(with_rule(lambda x: 2 * x, lambda dy: 10 * dy)))(1.0)
    close([value, gradient], [2, 10])


def test_cg2_variables_need_a_place():
    v = gx.Variable(2.0, name="v")
    with pytest.raises(TypeError, match=r"(?s)reads the trainable 'v'.*instead: def grad_fn\(dy, variables=None\)"):
        with_rule(lambda x: x * v, lambda dy: dy)(1.0)


@either
def test_cg3_both_are_delivered(around):
    v = gx.Variable(2.0)
    fn = scaled(v)
    [(dv, variable)] = gx.implicit_gradients(fn)(3.0)
    assert variable is v
    close(around(lambda: gx.grad(lambda: fn(3.0), wrt=v)())(), 3)
    close([dv, around(gx.grad(fn))(3.0)], [3, 2])
    with gx.GradientTape() as tape:
        x = ops.asarray(3.0)
        tape.watch(x)
        y = fn(x)
    close(tape.gradient(y, [v, x]), [3, 2])


@either
def test_cg4_the_number_of_variables(around):
    v = gx.Variable(2.0, name="v")
    fn = with_rule(lambda x: x * v, lambda dy, variables=None: (dy, [dy, dy]))
    with pytest.raises(ValueError, match="2 gradients of variables for 1: 'v'"):
        around(gx.grad(fn))(1.0)
    with pytest.raises(GradientError, match="it got 1 variables"):
        around(gx.grad(with_rule(lambda x: x * v, lambda dy, variables=None: dy)))(1.0)


def test_cg5_variables_but_none_used():
    close(gx.grad(with_rule(lambda x: x, lambda dy, variables=None: dy * 5))(1.0), 5)
    w = gx.Variable(2.0, trainable=False)
    close(gx.grad(with_rule(lambda x: x * w, lambda dy: dy * w))(1.0), 2)


@either
def test_cg6_the_number_of_arguments(around):
    fn = with_rule(lambda x, y: x * y, lambda dy: dy)
    with pytest.raises(ValueError, match="returned 1 gradients for 2 arguments"):
        around(gx.grad(fn))(1.0, 2.0)


@either
def test_cg7_keywords(around):
    fn = gx.custom_gradient(lambda x, power, scale=1.0: (scale * x**power, lambda dy: dy * scale * power))
    close(around(lambda x: gx.grad(lambda x: fn(x, 2, scale=3.0))(x))(5.0), 6)
    close(around(lambda x, s: gx.grad(lambda x: fn(x, power=2, scale=s))(x))(5.0, 3.0), 6)


@either
def test_cg8_second_order(around):
    close(around(gx.grad(square))(3.0), 6)
    close(around(gx.grad(gx.grad(square)))(3.0), 2)
    close(gx.grad(around(gx.grad(square)))(3.0), 2)
    close(gx.hessian(square, 3.0), 2)


def test_cg8_second_order_with_tapes():
    x = ops.asarray(3.0)
    with gx.GradientTape() as outer:
        outer.watch(x)
        with gx.GradientTape() as inner:
            inner.watch(x)
            y = square(x)
        first = inner.gradient(y, x)
    close([first, outer.gradient(first, x)], [6, 2])


@either
def test_cg9_a_rule_inside_a_rule(around):
    inner = with_rule(lambda x: 3 * x, lambda dy: 100 * dy)

    @gx.custom_gradient
    def outer(x):
        return x * x, lambda dy: dy * inner(x)

    close(around(gx.grad(outer))(10.0), 30)
    close(around(gx.grad(gx.grad(outer)))(10.0), 100)


def test_cg10_none_is_zero():
    fn = with_rule(lambda x, y: x * y, lambda dy: (None, dy))
    close(gx.gradients_function(fn)(2.0, 3.0), [0, 1])


@either
def test_cg11_outputs_that_do_not_matter_have_zeros(around):
    seen = []

    @gx.custom_gradient
    def two(x):
        def back(dy1, dy2):
            seen.append(dy2.shape)
            return dy1 + 100 * ops.sum(dy2)

        return (x, ops.stack([x, x])), back

    close(around(gx.grad(lambda x: two(x)[0]))(1.0), 1)
    assert seen[-1] == (2,)
    close(around(gx.grad(lambda x: two(x)[1][0]))(1.0), 100)


def test_cg12_no_grad_fn():
    with pytest.raises(ArgumentTypeError, match=r"\n  instead: return value, grad_fn"):
        gx.custom_gradient(lambda x: x)(1.0)
    with pytest.raises(TypeError, match="a tuple of 3"):
        gx.custom_gradient(lambda x: (x, x, x))(1.0)


@either
def test_cg13_the_shape_of_a_gradient(around):
    fn = with_rule(ops.sum, lambda dy: dy)
    with pytest.raises(ShapeError, match=r"of shape \(\) for argument 0 of shape \(3,\)"):
        around(gx.grad(fn))(ops.ones(3))


@either
def test_cg14_recompute_grad(around):
    v = gx.Variable(2.0)
    close(around(gx.grad(gx.recompute_grad(ops.sin)))(1.0), np.cos(1.0))
    close(around(lambda: gx.grad(lambda: gx.recompute_grad(lambda x: ops.sin(v * x))(1.0), wrt=v)())(), np.cos(2.0))


def test_cg14_recompute_grad_keeps_no_activations():
    def kept(fn):
        x = jax.ShapeDtypeStruct((64, 64), "float32")
        pull = jax.eval_shape(lambda x: jax.vjp(fn, x)[1], x)
        return sum(leaf.size for leaf in jax.tree.leaves(pull))

    def deep(x):
        for _ in range(6):
            x = ops.sin(ops.cos(x))
        return x

    assert kept(gx.recompute_grad(deep)) == 64 * 64  # the argument
    assert kept(deep) > 6 * 64 * 64


@either
def test_cg15_straight_through(around):
    value, gradient = around(gx.value_and_grad(lambda x: gx.grad_pass_through(ops.round)(1.3 * x)))(2.0)
    close([value, gradient], [3, 1.3])
    v = gx.Variable(2.0)
    close(gx.grad(lambda x: gx.grad_pass_through(lambda x: x * v)(x))(3.0), 1)
    with pytest.raises(ShapeError):
        gx.grad(gx.grad_pass_through(ops.sum))(ops.ones(3))


@pytest.mark.broad
@either
def test_cg16_rows_loops_and_compiled_functions(around):
    v, xs = gx.Variable(2.0), ops.asarray([1.0, 2.0])
    fn = scaled(v)
    close(around(lambda xs: gx.vectorized_map(gx.grad(square), xs))(xs), [2, 4])
    close(around(gx.grad(lambda xs: ops.sum(gx.vectorized_map(fn, xs))))(xs), [2, 2])
    for mapped in (gx.vectorized_map, gx.map_fn):
        close(around(lambda: gx.grad(lambda: ops.sum(mapped(fn, xs)), wrt=v)())(), 3)  # noqa: B023
    close(around(gx.grad(lambda x: gx.jit(fn)(x)))(1.0), 2)
    close(around(lambda: gx.grad(lambda: gx.jit(fn)(3.0), wrt=v)())(), 3)
    close(around(gx.grad(gx.remat(fn)))(1.0), 2)


@either
def test_methods(around):
    class Scale(gx.Module):
        def __init__(self):
            self.v = gx.Variable(2.0)

        @gx.custom_gradient
        def __call__(self, x):
            return x * self.v, lambda dy, variables: (dy * 10, [dy * x])

    scale = Scale()
    close(around(lambda x: gx.grad(lambda x: scale(x))(x))(3.0), 10)
    close(around(lambda: gx.grad(lambda: scale(3.0), wrt=scale)()["v"])(), 3)


@either
def test_what_is_assigned_takes_effect_once(around):
    n = gx.Variable(0.0, trainable=False)

    @gx.custom_gradient
    def count(x):
        n.assign_add(x)
        return x * n, lambda dy: dy * n

    run = around(gx.grad(count))
    close(run(2.0), 2)  # the gradient sees what the function left
    close(n.value, 2)
    close(run(3.0), 5)
    count(1.0)
    close(n.value, 6)


@pytest.mark.broad
@either
def test_random_numbers_of_a_gradient_are_its_own(around):
    gx.set_random_seed(0)

    @gx.custom_gradient
    def noisy(x):
        return x + gx.random.normal(()), lambda dy: gx.random.normal(())

    @gx.custom_gradient
    def late(x):
        return x, lambda dy: gx.random.normal(())

    for fn in (noisy, late):
        run = around(gx.value_and_grad(fn))
        found = [float(x) for _ in range(3) for x in run(0.0)]
        assert len(set(found)) >= 4 if fn is late else len(set(found)) == 6


def test_a_gradient_may_not_assign():
    n = gx.Variable(0.0, trainable=False, name="n")
    fn = with_rule(lambda x: x, lambda dy: dy * n.assign_add(1.0))
    with pytest.raises(StateError, match="assigned 'n'"):
        gx.grad(fn)(1.0)


@either
def test_what_is_closed_over_has_no_gradient(around):
    def outer(w):
        return gx.custom_gradient(lambda x: (x * w, lambda dy: dy * w))(3.0)

    for transform in gx.grad, gx.gradients_function:
        with pytest.raises(GradientError, match=r"(?s)closes over an array.*instead: pass the array"):
            around(transform(outer))(2.0)
    close(around(outer)(2.0), 6)

    def stopped(w, x):
        constant = ops.stop_gradient(w)
        return gx.custom_gradient(lambda x: (x * constant, lambda dy: dy))(x)

    close(around(gx.gradients_function(stopped))(2.0, 3.0), [0, 1])


def test_python_decides_by_values():
    @gx.custom_gradient
    def fn(x):
        return (x if x > 0 else -x), lambda dy: dy * 7 if dy > 0 else dy

    close(gx.grad(fn)(-2.0), 7)


def test_stop_gradient_of_any_structure():
    v = gx.Variable(2.0)
    close(gx.grad(lambda: v * gx.stop_gradient({"a": [v, "name"]})["a"][0], wrt=v)(), 2)
    assert gx.stop_gradient({"n": 1, "s": "name"}) == {"n": 1, "s": "name"}


@pytest.mark.broad
@settings(max_examples=10, deadline=None)
@given(st.lists(st.floats(-3, 3, width=32), min_size=3, max_size=3))  # each length compiles anew
def test_a_true_rule_gives_the_numbers_of_jax(values):
    @gx.custom_gradient
    def softplus(x):
        e = ops.exp(x)
        return ops.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))

    x = np.asarray(values, "float32")
    close(gx.grad(lambda x: ops.sum(softplus(x)))(x), jax.nn.sigmoid(x))
    close(gx.hessian(lambda x: ops.sum(softplus(x)), x), jax.hessian(lambda x: jax.nn.softplus(x).sum())(x))
