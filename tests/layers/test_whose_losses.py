"""Penalties after a call with given weights, and terms of layers that run in one loop: `losses` is never of others."""

import jax
import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import StateError
from tests.layers.small_layers import Mean

X = np.ones((4, 2), "float32")


class Whole(gx.Layer):
    """Returns the terms beside the outputs, as the message says."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def call(self, x):
        return self.model(x), sum(self.model.losses)


def numbers(layer):
    return [float(loss) for loss in layer.losses]


WRAPS = {"eager": lambda f: f, "grad": gx.grad, "jit": gx.jit, "JAX grad": jax.grad, "JAX jit": jax.jit}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("wrap", WRAPS.values(), ids=WRAPS)
def test_penalties_after_a_functional_call_are_not_those_of_other_weights(wrap):
    model = gx.Sequential([layers.Dense(2, kernel_regularizer="l2", kernel_initializer="ones", use_bias=False)])
    model(X)
    own = float(sum(model.losses))
    state = {path: 2 * value for path, value in gx.state(model).items()}

    def penalty(state):
        gx.functional_call(model, state, X)
        return sum(model.losses)

    with pytest.raises(
        StateError, match=r"after a functional_call(.|\n)*returns self.model\(x\), sum\(self.model.losses\)"
    ):
        wrap(penalty)(state)
    model(X)
    assert float(sum(model.losses)) == own

    whole = Whole(model)
    whole(X)
    doubled = {path: 2 * value for path, value in gx.state(whole).items()}
    found = wrap(lambda state: gx.functional_call(whole, state, X)[0][1])(doubled)
    if isinstance(found, dict):  # gradients
        np.testing.assert_allclose(found["model/layers/0/kernel"], np.full((2, 2), 2 * 0.01 * 2), rtol=1e-6)
    else:
        np.testing.assert_allclose(found, 4 * own, rtol=1e-6)


@pytest.mark.parametrize("again", [lambda m: m(X), lambda m: gx.assign_state(m, gx.state(m)), lambda m: m.layers[0](X)])
def test_penalties_of_own_weights_are_there_again(again):
    model = gx.Sequential([layers.Dense(2, kernel_regularizer="l2", kernel_initializer="ones")])
    model(X)
    own = float(sum(model.losses))
    gx.functional_call(model, gx.state(model), X)
    with pytest.raises(StateError, match="after a functional_call"):
        _ = model.losses
    again(model)
    assert float(sum(model.losses)) == own


@pytest.mark.broad
@pytest.mark.parametrize("wrap", [lambda f: f, gx.jit, lambda f: lambda x: gx.jit(f)(x)], ids=["eager", "jit", "trace"])
@pytest.mark.parametrize("remat", [False, True])
def test_layers_of_a_stack_have_their_own_terms(wrap, remat):
    class Doubles(gx.Layer):
        def __init__(self):
            super().__init__()
            self.mean = Mean()

        def build(self, shape):
            self.factor = self.add_weight((), "ones", name="factor")

        def call(self, x):
            self.add_loss(10 * ops.mean(x))
            return self.mean(x) * 2 * self.factor.value

    stack = gx.stack(Doubles(), 3, remat=remat)
    stack(X)
    run = wrap(lambda x: (stack(x), stack(x), list(stack.losses))[2])
    for _ in range(2):
        run(X)
        assert numbers(stack) == [10, 1, 20, 2, 40, 4]
    assert [numbers(layer) for layer in stack.layers] == [[10, 1], [20, 2], [40, 4]]
    both = gx.Sequential([stack, stack])
    for function in (both, gx.jit(both), both):
        function(X)
        assert numbers(stack) == [90, 9, 180, 18, 360, 36]
    slope = gx.jit(gx.grad(lambda: (stack(X), sum(stack.losses))[1], wrt=stack.layers[0].factor))()
    assert float(slope) == 66
