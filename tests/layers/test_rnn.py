import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core import tree

X = np.random.default_rng(0).normal(size=(2, 5, 3)).astype("float32")
SHOWN = np.array([[False, True, True, False, True], [True, False, True, True, False]])
CELLS = {"LSTM": layers.LSTMCell, "GRU": layers.GRUCell, "SimpleRNN": layers.SimpleRNNCell}


def pair(kind, **options):
    """A layer, and an RNN around the cell of its kind, with the same weights."""
    whole, parts = getattr(layers, kind)(4, **options), layers.RNN(CELLS[kind](4), **options)
    for layer in (whole, parts):
        layer.build_for(X)
    values = [v + 0.1 for v in whole.get_weights()]
    whole.set_weights(values)
    parts.set_weights(values)
    return whole, parts


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("options", [{"return_state": True}, {"return_sequences": True, "go_backwards": True}], ids=str)
def test_a_cell_carried_over_the_steps_is_the_layer_of_its_name(kind, options):
    whole, parts = pair(kind, **options)
    for mask in (None, SHOWN):
        ours, theirs = parts(X, mask=mask), whole(X, mask=mask)
        for a, b in zip(tree.flatten(ours), tree.flatten(theirs), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.broad
def test_a_cell_by_hand_is_the_layer():
    whole, parts = pair("LSTM", return_sequences=True)
    states, outs = None, []
    for t in range(5):
        out, states = parts.cell(X[:, t], states)
        outs.append(np.asarray(out))
    np.testing.assert_allclose(np.stack(outs, 1), whole(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("is_stacked", [False, True], ids=["one", "stacked"])
@pytest.mark.parametrize("sequences", [False, True], ids=["last", "sequences"])
def test_the_output_stays_where_a_later_call_has_nothing_to_see(kind, is_stacked, sequences):
    """The first row ends before the second call begins, which goes on from its state."""
    cell = CELLS[kind](4)
    made = [CELLS[kind](3), cell] if is_stacked else cell
    whole, carried = layers.RNN(made, return_sequences=sequences), layers.RNN(made, sequences, stateful=True)
    given = layers.RNN(made, sequences, return_state=True)
    shown = np.array([[True, True, False, False, False], [True, True, True, False, True]])
    expected = np.asarray(whole(X, mask=shown))[:, 2:] if sequences else np.asarray(whole(X, mask=shown))
    first = given(X[:, :2], mask=shown[:, :2])
    carried(X[:, :2], mask=shown[:, :2])
    for out in (
        carried(X[:, 2:], mask=shown[:, 2:]),
        given(X[:, 2:], mask=shown[:, 2:], initial_state=list(first[1:]))[0],
    ):
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)
    if not is_stacked and not sequences:
        layer = getattr(layers, kind)(4)
        layer.build_for(X)
        layer.set_weights(whole.get_weights())
        for state in first[1:]:
            assert np.abs(state).max() > 0
        out = layer(X[:, 2:], mask=shown[:, 2:], initial_state=list(first[1:]))
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)


def test_cells_with_another_output_start_with_zeros():
    class Half(layers.GRUCell):
        def call(self, x, states=None, training=None, dropout_factors=None):
            out, states = super().call(x, states, training, dropout_factors)
            return out / 2, states

    class Says(Half):
        def output_of(self, states):
            return states[0] / 2

    class Wide(layers.StackedRNNCells):
        def call(self, x, states=None, dropout_factors=None):
            out, states = super().call(x, states, dropout_factors)
            return ops.concatenate([out, out], -1), states

    class Wrong(Half):
        def output_of(self, states):
            return states[0][:, :1]

    shown = np.zeros((2, 5), bool)
    state = np.full((2, 4), 0.5, "float32")
    out = layers.RNN(Wide([layers.GRUCell(4)]))(X, mask=shown, initial_state=[[state]])
    np.testing.assert_array_equal(out, np.zeros((2, 8), "float32"))
    with pytest.raises(gx.errors.ShapeError, match=r"output_of gave \(2, 1\)"):
        layers.RNN(Wrong(4))(X, mask=shown, initial_state=[state])
    for cell, expected in ((Half(4), 0.0), (Says(4), 0.25), (layers.GRUCell(4), 0.5)):
        out = layers.RNN(cell)(X, mask=shown, initial_state=[state])
        np.testing.assert_array_equal(out, np.full((2, 4), expected, "float32"))


def test_a_simple_rnn_in_numpy():
    layer = layers.SimpleRNN(4, return_sequences=True)
    out = np.asarray(layer(X))
    w, u, b = (v.astype("float64") for v in layer.get_weights())
    h, expected = np.zeros((2, 4)), []
    for t in range(5):
        h = np.tanh(X[:, t] @ w + h @ u + b)
        expected.append(h)
    np.testing.assert_allclose(out, np.stack(expected, 1), rtol=1e-5, atol=1e-6)


class Counting(gx.Layer):
    """A cell with a state of two parts of other shapes than its output."""

    def __init__(self):
        super().__init__()
        self.state_size = [(2, 3), 1]

    def call(self, x, states):
        seen, steps = states
        seen = seen + ops.stack([x, 2 * x], 1)
        return ops.mean(seen, axis=1)[:, :2], [seen, steps + 1]


@pytest.mark.broad
def test_a_cell_of_ones_own():
    layer = layers.RNN(Counting(), return_sequences=True, return_state=True)
    out, seen, steps = layer(X, mask=SHOWN)
    total = np.cumsum(np.where(SHOWN[..., None], X, 0), 1)
    np.testing.assert_allclose(out, 1.5 * total[..., :2], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(seen, np.stack([total[:, -1], 2 * total[:, -1]], 1), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(steps[:, 0], SHOWN.sum(1))
    again = layer(X, initial_state=[seen, steps], mask=SHOWN)
    np.testing.assert_array_equal(again[2][:, 0], 2 * SHOWN.sum(1))


@pytest.mark.broad
def test_stacked_cells_are_layers_one_on_the_other():
    stacked = layers.RNN([layers.LSTMCell(4), layers.GRUCell(3)], return_sequences=True, return_state=True)
    out, first, second = stacked(X)
    model = gx.Sequential([layers.LSTM(4, return_sequences=True), layers.GRU(3, return_sequences=True)])
    model.build_for(X)
    model.set_weights(stacked.get_weights())
    np.testing.assert_allclose(out, model(X), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(second[0], out[:, -1], rtol=1e-6)
    assert [part.shape for part in first] == [(2, 4), (2, 4)]
    np.testing.assert_allclose(stacked(X, initial_state=[first, second])[0].shape, (2, 5, 3))


STATEFUL = {
    "lstm": lambda **o: layers.LSTM(4, return_sequences=True, **o),
    "rnn": lambda **o: layers.RNN([layers.GRUCell(4), layers.LSTMCell(2)], return_sequences=True, **o),
    "conv_lstm": lambda **o: layers.ConvLSTM2D(2, 2, padding="same", return_sequences=True, **o),
}


@pytest.mark.broad
@pytest.mark.parametrize("kind", STATEFUL)
def test_a_stateful_layer_goes_on_where_it_ended(kind):
    x = X[:, :, None, None] if kind == "conv_lstm" else X
    layer = STATEFUL[kind](stateful=True)
    first, second = np.asarray(layer(x[:, :2])), np.asarray(gx.jit(lambda x: layer(x))(x[:, 2:]))
    assert {v.role for v in layer.variables if "carried" in v.path} == {"state"}
    layer.reset_state()
    whole = layer(x)
    np.testing.assert_allclose(np.concatenate([first, second], 1), whole, rtol=1e-5, atol=1e-6)
    assert not np.allclose(layer(x), whole)
    with pytest.raises(gx.errors.ShapeError, match=r"a batch of 1 sequences(.|\n)*stateful=False"):
        layer(x[:1])
    with pytest.raises(gx.errors.StateError, match="it starts from zeros"):
        STATEFUL[kind]().reset_state()


@pytest.mark.parametrize("kind", CELLS)
def test_values_are_those_of_keras(keras, kind):
    theirs = keras.layers.RNN([getattr(keras.layers, f"{kind}Cell")(n) for n in (4, 2)], return_sequences=True)
    ours = layers.RNN([CELLS[kind](4), CELLS[kind](2)], return_sequences=True)
    expected = theirs(X)
    ours.build_for(X)
    ours.set_weights([np.asarray(v.value) for v in theirs.weights])
    np.testing.assert_allclose(ours(X), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(ours(X, mask=SHOWN), theirs(X, mask=SHOWN), rtol=1e-4, atol=1e-5)


def test_a_simple_rnn_is_that_of_torch(torch):
    theirs = torch.nn.RNN(3, 4, batch_first=True)
    ours = layers.SimpleRNN(4, return_sequences=True)
    ours.build_for(X)
    w, u, b, c = (p.detach().numpy() for p in theirs.parameters())
    ours.set_weights([w.T, u.T, b + c])
    np.testing.assert_allclose(ours(X), theirs(torch.tensor(X))[0].detach(), rtol=1e-4, atol=1e-5)


class WrongStates(gx.Layer):
    """A cell that forgets a part of its state."""

    state_size = (4,)

    def call(self, x, states):
        return x, []


@pytest.mark.broad
def test_bad_input_is_refused():
    for cell in (layers.Dense(3), "lstm", None, [layers.Dense(3)]):
        with pytest.raises(gx.errors.ArgumentTypeError, match="state_size"):
            layers.RNN(cell)
    with pytest.raises(gx.errors.ArgumentTypeError, match="it is a list of cells"):
        layers.RNN([])
    with pytest.raises(gx.errors.ArgumentTypeError, match="gave 0 states"):
        layers.RNN(WrongStates())(X)
    layer = layers.RNN(layers.LSTMCell(4))
    with pytest.raises(gx.errors.ShapeError, match=r"initial_state of shapes \[\(2, 4\)\]"):
        layer(X, initial_state=[np.zeros((2, 4), "float32")])
    with pytest.raises(gx.errors.ArgumentError, match="0 steps"):
        layer(X[:, :0])
    with pytest.raises(gx.errors.ShapeError, match="states of shapes"):
        layers.GRUCell(4)(X[:, 0], [np.zeros((2, 3), "float32")])
    with pytest.raises(gx.errors.ShapeError, match="at least 3 axes"):
        layer(X[:, 0])


@pytest.mark.broad
def test_states_of_integer_steps_keep_their_fractions():
    class OfWords(gx.Layer):
        state_size = 3

        def build(self, x_shape, states_shape):
            self.words = self.add_weight((5, 3), "normal")

        def call(self, x, states):
            new = states[0] * 0.5 + ops.take(self.words, ops.cast(x[:, 0], "int32"), axis=0)
            return new, [new]

    layer = layers.RNN(OfWords(), return_state=True)
    out, state = layer(np.array([[[1], [2], [3]]], "int32"))
    rows = layer.cell.words.numpy()
    np.testing.assert_allclose(out[0], (rows[1] * 0.5 + rows[2]) * 0.5 + rows[3], rtol=1e-5)
    np.testing.assert_array_equal(out, state)


class Reader(gx.Layer):
    """A cell of words: it looks their vectors up itself."""

    state_size = 3

    def __init__(self):
        super().__init__()
        self.table = gx.layers.Embedding(7, 3)

    def call(self, x, states):
        total = states[0] + ops.sum(self.table(x), axis=1)
        return total, [total]


@pytest.mark.broad
@pytest.mark.parametrize("way", ["call", "named", "build", "shape"])
def test_a_cell_takes_integers(way):
    """Such a cell was built with fractions, which its table refuses."""
    words = np.int32([[[1, 2], [3, 4], [0, 6]]])
    layer = gx.layers.RNN(Reader())
    if way == "build":
        layer.build((1, 3, 2))
    elif way == "shape":
        assert layer.compute_output_shape((None, 3, 2)) == (None, 3)
    out = layer(x=words) if way == "named" else layer(words)
    table = layer.cell.table.embeddings.numpy()
    np.testing.assert_allclose(out[0], table[words[0]].sum((0, 1)), rtol=1e-6)


def test_a_cell_that_refuses_integers_says_so_at_the_first_call():
    with pytest.raises(gx.errors.DTypeError, match=r"(?s)int32.*ops.cast"):
        gx.layers.RNN(gx.layers.LSTMCell(3))(np.ones((2, 4, 3), "int32"))
