"""Structures without an array, where a derivative is taken with respect to one, or a loop runs over one."""

import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentError, GradientError

EMPTY = ({}, [], (), {"a": {}})


def zero(_):
    return ops.zeros(())


CALLS = {
    "grad": lambda given: gx.grad(zero)(given),
    "value_and_grad": lambda given: gx.value_and_grad(lambda given, x: x)(given, 1.0),
    "jvp": lambda given: gx.jvp(zero, (given,), (given,)),
    "jacobian": lambda given: gx.jacobian(zero, given),
    "hessian": lambda given: gx.hessian(zero, given),
    "batch_jacobian": lambda given: gx.batch_jacobian(zero, given),
    "gradients_function": lambda given: gx.gradients_function(zero)(given),
    "value_and_gradients_function": lambda given: gx.value_and_gradients_function(zero, "_")(given),
    "ForwardAccumulator": lambda given: gx.ForwardAccumulator(given, given),
    "map_fn": lambda given: gx.map_fn(zero, given),
    "scan": lambda given: gx.scan(lambda carry, x: (carry, x), 0.0, given),
    "vectorized_map": lambda given: gx.vectorized_map(zero, given),
    "associative_scan": lambda given: gx.associative_scan(lambda a, b: a, given),
    "gradcheck": lambda given: gx.gradcheck(zero, [given]),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("given", EMPTY, ids=repr)
def test_what_holds_no_array_is_refused_without_a_word_of_variables_that_nobody_asked_for(name, given):
    with pytest.raises((ArgumentError, GradientError), match="no array|no floating argument") as caught:
        CALLS[name](given)
    assert "the list of Variables is empty" not in str(caught.value)


@pytest.mark.parametrize("name", ["grad", "jvp", "jacobian", "scan", "map_fn", "gradients_function"])
def test_what_was_given_is_named(name):
    with pytest.raises((ArgumentError, GradientError), match=r"\{'a': \{\}\}") as caught:
        CALLS[name]({"a": {}})
    assert name not in ("scan", "map_fn") or str(caught.value).startswith(f"{name} got xs=")


def test_lists_of_variables_that_are_empty_are_told_as_such():
    for derive in (gx.grad(lambda: 1.0, wrt=[]), lambda: gx.jacobian(lambda: ops.zeros(()), wrt={})):
        with pytest.raises(GradientError, match="the list of Variables is empty"):
            derive()


def test_an_empty_part_beside_arrays_is_none_of_this():
    assert gx.grad(lambda given: given["x"] * 2.0)({"x": 1.0, "rest": {}})["rest"] == {}
    assert gx.scan(lambda carry, x: (carry + 1, x), 0, {}, length=3)[1] == {}
