"""The gradient with respect to a weight that is computed: of its value, where that of itself is one of its parts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops, reparam

X = np.sin(np.arange(8, dtype="float32")).reshape(4, 2)
CREATORS = [reparam.WeightNorm(), reparam.LoRA(1), reparam.FakeQuant(4), reparam.SpectralNorm(), reparam.Positive()]


def grafted(creator, policy):
    with gx.variable_creator_scope(creator, where="kernel"):
        layer = layers.Dense(3, use_bias=False, dtype=policy)
        layer.build(X.shape)
    return layer


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("wrap", [lambda f: f, gx.jit], ids=["eager", "compiled"])
@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
@pytest.mark.parametrize("creator", CREATORS)
def test_a_tape_gives_that_of_the_value(creator, policy, wrap):
    layer = grafted(creator, policy)

    def both():
        with gx.GradientTape() as tape:
            weight = layer.kernel.value
            loss = ops.sum(ops.tanh(ops.cast(layer(X), "float32")) ** 2)
        return tape.gradient(loss, [weight, layer.kernel])

    whole, parts = wrap(both)()
    wanted = jax.grad(lambda w: (jnp.tanh(X @ w) ** 2).sum())(layer.kernel.numpy())
    np.testing.assert_allclose(whole, wanted, atol=1e-5 if policy == "float32" else 0.05)
    assert list(parts) == [path for path, v in layer.kernel.named_variables().items() if v.trainable]
