"""dropout= and recurrent_dropout= of cells: the same at all steps of a sequence, and as the layers have it."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.core.errors import ArgumentError

X = np.random.default_rng(0).normal(size=(3, 5, 4)).astype("float32")
PAIRS = {
    "lstm": (layers.LSTM, layers.LSTMCell),
    "gru": (layers.GRU, layers.GRUCell),
    "simple": (layers.SimpleRNN, layers.SimpleRNNCell),
}
SLOW = pytest.mark.slow
each = pytest.mark.parametrize(
    ("layer", "cell"),
    [pytest.param(*pair, id=name, marks=SLOW if name != "simple" else ()) for name, pair in PAIRS.items()],
)


@pytest.mark.broad
@each
def test_a_cell_drops_what_its_layer_drops(layer, cell):
    options = {"dropout": 0.3, "recurrent_dropout": 0.4, "seed": 7}
    whole = layer(6, return_sequences=True, **options)
    steps = layers.RNN(cell(6, **options), return_sequences=True)
    whole(X), steps(X)
    for a, b in zip(steps.trainable_variables, whole.trainable_variables, strict=True):
        a.assign(b)
    np.testing.assert_allclose(steps(X), whole(X), atol=1e-6)
    dropped = steps(X, training=True)
    np.testing.assert_allclose(dropped, whole(X, training=True), atol=1e-6)
    assert not np.allclose(dropped, steps(X), atol=1e-3)
    assert not np.allclose(dropped, steps(X, training=True), atol=1e-3)


@pytest.mark.broad
def test_inputs_are_dropped_at_all_steps_of_a_sequence_or_at_none():
    cell = layers.SimpleRNNCell(
        4, activation=None, kernel_initializer="identity", recurrent_initializer="zeros", dropout=0.5
    )
    out = np.asarray(layers.RNN(cell, return_sequences=True)(np.ones((8, 6, 4), "float32"), training=True))
    assert set(np.unique(out)) == {0.0, 2.0}
    assert (out == out[:, :1]).all()


@pytest.mark.slow
def test_stacked_cells_and_one_call_of_a_cell():
    cells = layers.StackedRNNCells([layers.LSTMCell(4, dropout=0.5), layers.GRUCell(3, recurrent_dropout=0.5)])
    rnn = layers.RNN(cells)
    rnn(X)
    assert not np.allclose(rnn(X, training=True), rnn(X, training=True), atol=1e-4)
    np.testing.assert_array_equal(rnn(X), rnn(X))
    out, _ = cells(X[:, 0], training=True)
    assert out.shape == (3, 3)
    model = gx.Sequential([layers.Bidirectional(layers.RNN(layers.LSTMCell(4, dropout=0.2))), layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(X, np.zeros((3, 1), "float32"), verbose=0)


def test_a_rate_is_a_share():
    with pytest.raises(ArgumentError, match="dropout=1.5"):
        layers.LSTMCell(4, dropout=1.5)
