"""A tape around a tape, over a gradient that has none of its own."""

import pytest

import graftax as gx
from graftax import ops


@gx.custom_gradient
def grown(x):
    def backward(dy):
        return gx.while_loop(lambda u: ops.max(ops.abs(u)) < 10.0, lambda u: u * u + 1.5, dy * x)

    return gx.while_loop(lambda z: ops.max(z) < 10.0, lambda z: z * z + 0.5, x), backward


@pytest.mark.parametrize("compiled", [False, True])
def test_the_gradient_of_a_loop_without_a_bound_is_refused_in_words(compiled):
    w = gx.Variable([0.1, 0.5])

    def twice():
        with gx.GradientTape() as outer:
            with gx.GradientTape() as inner:
                total = ops.sum(grown(w))
            slope = ops.sum(inner.gradient(total, w))
        return outer.gradient(slope, w)

    with pytest.raises(gx.errors.GradientError, match="maximum_iterations="):
        (gx.jit(twice) if compiled else twice)()
