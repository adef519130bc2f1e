"""Weights are read in the dtype in which their layer computes, whatever a creator stores them in."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

L = layers
X = np.sin(np.arange(2 * 4 * 6, dtype="float32")).reshape(2, 4, 6)
IDS = np.array([[1, 2, 0]])
ROWS = {
    "dense": (lambda **o: L.Dense(3, **o), X),
    "conv": (lambda **o: L.Conv1D(3, 2, **o), X),
    "embedding": (lambda **o: L.Embedding(5, 3, **o), IDS),
    "lstm": (lambda **o: L.LSTM(3, **o), X),
    "gru": (lambda **o: L.GRU(3, **o), X),
    "attention": (lambda **o: L.MultiHeadAttention(2, 2, **o), X),
    "layer_normalization": (lambda **o: L.LayerNormalization(**o), X),
    "batch_normalization": (lambda **o: L.BatchNormalization(**o), X),
}


def stored_in(dtype):
    return lambda next_creator, spec: next_creator(spec.replace(dtype=dtype))


@pytest.mark.in_turn(5, broad=2)
@pytest.mark.parametrize("name", ROWS)
def test_l16_a_weight_stored_in_another_dtype(name):
    make, x = ROWS[name]
    plain = make()
    expected = np.asarray(plain(x))
    for stored, policy, computed in (("float16", None, "float32"), ("float32", "float16", "float16")):
        with gx.variable_creator_scope(stored_in(stored), roles=None if name.startswith("batch") else ("weight",)):
            layer = make(dtype=policy)
            layer(x)
        assert {v.dtype for v in layer.trainable_variables} == {stored}
        for mine, given in zip(layer.variables, plain.variables, strict=True):
            mine.assign(ops.cast(given, mine.dtype))
        out = layer(x)
        assert str(out.dtype) == computed
        np.testing.assert_allclose(np.asarray(out, "float32"), expected, atol=1e-2)
        np.testing.assert_allclose(np.asarray(gx.jit(layer)(x), "float32"), expected, atol=1e-2)
        weights = layer.trainable_variables
        assert isinstance(weights, list)

        def loss(layer=layer):
            return ops.sum(ops.square(ops.cast(layer(x, training=True), "float32")))

        gradients = gx.grad(loss, wrt=weights)()
        assert {str(gradient.dtype) for gradient in gradients} == {stored}
        before = [v.numpy().astype("float32") for v in weights]
        gx.optimizers.SGD(0.1).apply(gradients, weights)
        assert {v.dtype for v in weights} == {stored}
        assert any((v.numpy() != old).any() for v, old in zip(weights, before, strict=True))


@pytest.mark.broad
def test_l16_parts_of_expressions():
    with gx.variable_creator_scope(stored_in("float16")), gx.variable_creator_scope(gx.reparam.LowRank(rank=2)):
        layer = L.Dense(3)
        out = layer(X)
    assert layer.kernel.left.dtype == "float16"
    assert str(out.dtype) == "float32"
