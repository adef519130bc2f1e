"""In half precision, weights that are used at many places get the gradients of all of them."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

POLICIES = ["bfloat16", "mixed_bfloat16", "float16", "mixed_float16"]
ONES = np.ones((5, 400, 1), "float32")
STEPS = np.random.default_rng(0).normal(size=(5, 400, 1)).astype("float32")
MAKERS = {
    "embedding": (lambda dtype: layers.Embedding(3, 2, dtype=dtype), np.zeros((5, 400), "int32")),
    "dense": (lambda dtype: layers.Dense(2, dtype=dtype), ONES),
    "conv": (lambda dtype: layers.Conv1D(2, 1, dtype=dtype), ONES),
    "einsum": (lambda dtype: layers.EinsumDense("abc,cd->abd", (None, 2), bias_axes="d", dtype=dtype), ONES),
    "prelu": (lambda dtype: layers.PReLU(shared_axes=(1, 2), dtype=dtype), -ONES),
    "simple_rnn": (lambda dtype: layers.SimpleRNN(2, return_sequences=True, dtype=dtype), STEPS),
    "gru": (lambda dtype: layers.GRU(2, return_sequences=True, dtype=dtype), STEPS),
    "lstm": (lambda dtype: layers.LSTM(2, return_sequences=True, dtype=dtype), STEPS),
    "conv_lstm": (
        lambda dtype: layers.ConvLSTM2D(1, 1, return_sequences=True, dtype=dtype),
        np.ones((1, 400, 2, 1, 1), "float32"),
    ),
}


def gradients(name, dtype):
    make, x = MAKERS[name]
    gx.set_random_seed(0)
    layer = make(dtype)
    layer.build_for(x)
    weights = {
        path: np.float32(0.125 + 0.25 * (np.arange(v.size) % 3)).reshape(v.shape)
        for path, v in layer.named_variables().items()
    }
    for path, v in layer.named_variables().items():
        v.assign(ops.cast(weights[path], v.dtype))
    run = gx.jit(gx.grad(lambda: ops.sum(ops.cast(layer(x), "float32")), wrt=layer.trainable_variables))
    return [np.asarray(ops.cast(one, "float32")) for one in run()]


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", MAKERS)
def test_all_places_count(name, policy):
    for ours, exact in zip(gradients(name, policy), gradients(name, "float32"), strict=True):
        np.testing.assert_allclose(ours, exact, rtol=0.05, atol=0.05 * np.abs(exact).max())
