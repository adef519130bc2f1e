"""The sum of what a layer added, as state."""

import numpy as np

import graftax as gx
from graftax import ops
from graftax.variables.added_loss import AddedLoss
from graftax.variables.state.storage import frames


def made():
    layer = gx.layers.Dense(1, name="dense")
    return layer, AddedLoss.of(layer, "float32")


def test_it_is_called_after_its_layer_and_is_no_part_of_it():
    layer, total = made()
    assert total.path == "dense/added loss"
    assert (layer.variables, total.trainable) == ([], False)
    del layer
    assert total.path == "added loss"


def test_terms_of_any_dtype_are_summed_in_its_own():
    _, total = made()
    for term in (ops.asarray(1.5), ops.asarray(2), ops.cast(3, "float16")):
        total.add(term)
    assert (float(total), str(total.value.dtype)) == (6.5, "float32")


def test_it_is_forgotten_where_the_outermost_call_began():
    layer, total = made()

    @gx.jit
    def step(x):
        stack = frames.items  # that of the step, which the gradient is inside of

        def loss(x):
            total.forget(7, stack)
            total.add(x * x)
            return total.value * 1.0

        total.assign(100.0)
        return gx.grad(loss)(x)

    np.testing.assert_allclose(step(3.0), 6.0)
    assert (float(total), total.number) == (9.0, 7)
    assert layer.losses == []


def test_a_compiled_function_that_hands_it_over_leaves_its_zero_alone():
    _, total = made()
    double = gx.jit(lambda: total.assign_add(total.value + 1.0))
    for _ in range(2):
        total.forget(1, ())
        double()
        assert float(total) == 1.0
    total.forget(2, ())
    assert float(total) == 0.0
