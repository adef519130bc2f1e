"""A gradient with respect to a structure that holds integers names the entry, and how to leave it out."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

X = np.ones((4, 2), "float32")


@pytest.fixture(scope="module")
def model():
    made = gx.Sequential([layers.Dense(3), layers.Dropout(0.5), layers.BatchNormalization(), layers.Dense(1)])
    made(X)
    return made


def loss_of(model):
    return lambda state: ops.mean(gx.functional_call(model, state, X)[0] ** 2)


DERIVATIVES = {
    "grad": lambda fn, state: gx.grad(fn)(state),
    "value_and_grad": lambda fn, state: gx.value_and_grad(fn)(state),
    "jacobian": lambda fn, state: gx.jacobian(fn, state),
    "hessian": lambda fn, state: gx.hessian(fn, state),
    "gradients_function": lambda fn, state: gx.gradients_function(fn)(state),
    "jvp": lambda fn, state: gx.jvp(fn, (state,), (state,)),
}


@pytest.mark.parametrize("derivative", DERIVATIVES)
def test_the_error_names_the_entry_and_what_is_differentiated(model, derivative):
    with pytest.raises(gx.errors.GraftaxError, match=r"layers/1/seed_generator/state' of .* of dtype uint32") as caught:
        DERIVATIVES[derivative](loss_of(model), gx.state(model))
    assert "if v.trainable}" in caught.value.instead
    assert "only floating values" in caught.value.reason


def test_what_the_error_says_to_write_works(model):
    state = gx.state(model)
    trained = {p: v.value for p, v in model.named_variables().items() if v.trainable}
    loss = loss_of(model)
    found = gx.grad(lambda trained: loss({**state, **trained}))(trained)
    wanted = gx.grad(lambda: ops.mean(model(X) ** 2), wrt=model)()
    assert found.keys() == wanted.keys() == {v.path for v in model.trainable_variables}
    for path in wanted:
        np.testing.assert_allclose(found[path], wanted[path], rtol=1e-6)


def test_a_partial_state_is_answered_with_the_line_that_completes_it(model):
    trained = {v.path: v.value for v in model.trainable_variables}
    with pytest.raises(gx.errors.ArgumentError, match="got a state without") as caught:
        gx.functional_call(model, trained, X)
    assert "{**graftax.state(module), **state}" in caught.value.instead
    gx.functional_call(model, {**gx.state(model), **trained}, X)


@pytest.mark.parametrize(
    ("given", "shown"), [(3, "to an argument of dtype"), ([1, 2], "the entry '0' of an argument of dtype")]
)
def test_integers_alone_are_to_be_cast(given, shown):
    with pytest.raises(gx.errors.GradientError, match=shown) as caught:
        gx.grad(lambda x: ops.sum(ops.asarray(x)))(given)
    assert "ops.cast" in caught.value.instead
