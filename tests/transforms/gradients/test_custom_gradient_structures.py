"""Which gradient of a rule belongs to which argument: by structure and keys, never by chance."""

import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentTypeError, DTypeError, GradientError

PARAMS = {"w": 1.0, "b": 1.0}
around = pytest.mark.parametrize("around", [lambda f: f, gx.jit], ids=["eager", "compiled"])


def rule(value, grad_fn):
    return gx.custom_gradient(lambda *args: (value(*args), grad_fn))


def linear(p):
    return p["w"] * 2 + p["b"] * 3


@around
@pytest.mark.parametrize(
    "told",
    [
        lambda dy: {"b": 3 * dy, "w": 2 * dy},
        lambda dy: {"w": 2 * dy, "b": 3 * dy},
        lambda dy: [{"b": 3 * dy, "w": 2 * dy}],
        lambda dy: (2 * dy, 3 * dy),
    ],
    ids=["keys in another order", "keys in order", "in a list", "flat"],
)
def test_a_dict_of_gradients_belongs_to_its_keys(told, around):
    found = around(gx.grad(rule(linear, told)))(PARAMS)
    assert {key: float(value) for key, value in found.items()} == {"w": 2, "b": 3}


@around
def test_none_stands_for_all_below(around):
    fn = rule(lambda p, q: linear(p) + q[0], lambda dy: (None, [dy]))
    assert [float(g) for g in around(gx.grad(fn))(PARAMS, [1.0]).values()] == [0, 0]
    assert float(around(gx.grad(lambda q: fn(PARAMS, q)))([1.0])[0]) == 1


@pytest.mark.parametrize(
    "told",
    [
        lambda dy: (dy, {"w": 2 * dy, "b": 3 * dy}),
        lambda dy: ({"w": 2 * dy}, dy),
        lambda dy: ({"w": 2 * dy, "c": dy}, dy),
        lambda dy: {"w": 2 * dy, "b": 3 * dy, "q": dy},
    ],
    ids=["swapped", "one missing", "another key", "one dict for all"],
)
def test_another_structure_is_refused(told):
    fn = rule(lambda p, q: linear(p) + q, told)
    with pytest.raises(GradientError, match="gradients with the leaves"):
        gx.grad(fn)(PARAMS, 1.0)


def test_what_has_no_gradient_may_be_left_out():
    fn = rule(lambda mode, p: linear(p), lambda dy: {"w": 2 * dy, "b": 3 * dy})
    assert [float(g) for g in gx.grad(lambda p: fn("sum", p))(PARAMS).values()] == [2, 3]
    fn = rule(lambda p: linear(p), lambda dy: {"w": 2 * dy, "b": 3 * dy})
    found = gx.grad(lambda w: fn({"mode": "sum", "w": w, "b": 1.0}))(1.0)
    assert float(found) == 2


def test_a_gradient_for_what_is_no_number_is_refused():
    fn = rule(lambda x, mode: x * 2, lambda dy: (2 * dy, dy))
    with pytest.raises(GradientError, match="a gradient for argument 1, 'sum'"):
        gx.grad(lambda x: fn(x, "sum"))(1.0)


def scaled():
    @gx.custom_gradient
    def fn(x, scale=1.0):
        return x * scale, lambda dy: dy * scale

    return fn


def scaled_by_values():
    @gx.custom_gradient
    def fn(x, scale=1.0):
        return (x * scale if x > 0 else x), lambda dy: dy * scale

    return fn


@pytest.mark.parametrize("make", [scaled, scaled_by_values])
def test_a_keyword_argument_that_is_differentiated_is_refused(make):
    fn = make()
    with pytest.raises(GradientError, match="a keyword argument that is differentiated"):
        gx.grad(lambda s: fn(3.0, scale=s))(2.0)
    assert float(gx.grad(lambda s: fn(s, scale=ops.stop_gradient(s)))(2.0)) == 2
    assert float(gx.grad(lambda x: fn(x, scale=3.0))(2.0)) == 3


def test_a_rule_that_cannot_take_the_gradients_says_so_at_the_call():
    with pytest.raises(ArgumentTypeError, match="made of 2 arrays, its grad_fn has the signature"):
        rule(lambda x: (x, x), lambda dy: dy)(1.0)


def test_gradients_of_variables_in_a_dict_are_refused():
    v = gx.Variable(2.0, name="v")

    @gx.custom_gradient
    def fn(x):
        return x * v, lambda dy, variables: (dy * v, {"v": dy * x})

    with pytest.raises(GradientError, match="in a dict"):
        gx.grad(fn)(1.0)


@around
def test_a_complex_gradient_of_a_real_argument_or_variable_is_refused(around):
    """Its imaginary part would be lost."""
    w = gx.Variable(2.0)
    told = rule(lambda x: 2 * x, lambda dy: dy * (1 + 2j))
    of_variable = rule(lambda x: x * w, lambda dy, variables=None: (dy, [dy * 1j]))
    for fn in (told, of_variable):
        with pytest.raises(DTypeError, match="complex64 for .* of dtype float32"):
            around(lambda x, fn=fn: gx.grad(fn)(x))(1.0)
    assert complex(around(lambda x: gx.grad(lambda x: ops.real(told(x)))(x))(1 + 1j)) == 1 + 2j
