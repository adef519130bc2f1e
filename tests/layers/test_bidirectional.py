import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.core import tree

X = np.random.default_rng(0).normal(size=(2, 5, 3)).astype("float32")
SHOWN = np.array([[True, True, True, False, False], [True, True, True, True, False]])
MERGES = {
    "concat": lambda a, b: np.concatenate([a, b], -1),
    "sum": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "ave": lambda a, b: (a + b) / 2,
}


@pytest.mark.in_turn(5)
@pytest.mark.parametrize("mode", MERGES)
@pytest.mark.parametrize("sequences", [False, True])
def test_two_layers_go_both_ways(mode, sequences):
    layer = layers.Bidirectional(layers.GRU(4, return_sequences=sequences), mode)
    out = layer(X)
    there = np.asarray(layer.forward_layer(X))
    back = np.asarray(layer.backward_layer(X))
    np.testing.assert_allclose(out, MERGES[mode](there, back[:, ::-1] if sequences else back), rtol=1e-5, atol=1e-6)
    assert not np.allclose(layer.forward_layer.kernel, layer.backward_layer.kernel)
    assert [v.path.split("/")[0] for v in layer.variables] == ["forward_layer"] * 3 + ["backward_layer"] * 3


@pytest.mark.broad
def test_states_are_given_and_returned_one_direction_after_the_other():
    layer = layers.Bidirectional(layers.LSTM(4, return_sequences=True, return_state=True))
    out, *states = layer(X)
    assert [state.shape for state in states] == [(2, 4)] * 4
    np.testing.assert_allclose(states[0], out[:, -1, :4], rtol=1e-6)
    np.testing.assert_allclose(states[2], out[:, 0, 4:], rtol=1e-6)
    again = layer(X, initial_state=states)[0]
    expected = layer.forward_layer(X, initial_state=states[:2])[0]
    np.testing.assert_allclose(again[..., :4], expected, rtol=1e-5, atol=1e-6)
    one, other, *_ = layers.Bidirectional(layers.LSTM(4, return_state=True), None)(X)
    assert one.shape == other.shape == (2, 4)


@pytest.mark.broad
def test_padding_at_the_end_is_skipped_in_both_directions():
    layer = layers.Bidirectional(layers.LSTM(4))
    expected = np.concatenate([layer(X[:1, :3]), layer(X[1:, :4])])
    np.testing.assert_allclose(layer(X, mask=SHOWN), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.broad
def test_a_layer_of_ones_own_for_the_way_back():
    layer = layers.Bidirectional(layers.LSTM(4), backward_layer=layers.GRU(2, go_backwards=True))
    assert layer(X).shape == (2, 6)
    assert layers.Bidirectional(layers.RNN(layers.GRUCell(3)))(X).shape == (2, 6)
    assert layers.Bidirectional(layers.ConvLSTM2D(2, 1))(X[:, :, None, None]).shape == (2, 1, 1, 4)


@pytest.mark.parametrize("mode", [*MERGES, None])
def test_values_are_those_of_keras(keras, mode):
    theirs = keras.layers.Bidirectional(keras.layers.LSTM(4, return_sequences=True), merge_mode=mode)
    ours = layers.Bidirectional(layers.LSTM(4, return_sequences=True), mode)
    expected = theirs(X)
    ours.build_for(X)
    ours.set_weights([np.asarray(v.value) for v in theirs.weights])
    for a, b in zip(tree.flatten(ours(X)), tree.flatten(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    for a, b in zip(tree.flatten(ours(X, mask=SHOWN)), tree.flatten(theirs(X, mask=SHOWN)), strict=True):
        np.testing.assert_allclose(np.asarray(a)[SHOWN], np.asarray(b)[SHOWN], rtol=1e-4, atol=1e-5)


def test_bad_settings_are_refused():
    built = layers.LSTM(3)
    built(X)
    same = layers.LSTM(3)
    for make, message in (
        (lambda: layers.Bidirectional(layers.LSTM(3), "max"), "merge_mode="),
        (lambda: layers.Bidirectional(built), "which is built"),
        (lambda: layers.Bidirectional(same, backward_layer=layers.LSTM(3)), "go the same way"),
        (lambda: layers.Bidirectional(same, backward_layer=same), "one layer as both"),
        (
            lambda: layers.Bidirectional(same, backward_layer=layers.LSTM(3, go_backwards=True, return_state=True)),
            "return_state=False forwards",
        ),
    ):
        with pytest.raises(gx.errors.ArgumentError, match=message):
            make()
    with pytest.raises(gx.errors.ArgumentTypeError, match="it is a recurrent layer"):
        layers.Bidirectional(layers.Dense(3))
    with pytest.raises(gx.errors.ArgumentTypeError, match="initial_state of 1 parts"):
        layers.Bidirectional(layers.GRU(3))(X, initial_state=[np.zeros((2, 3), "float32")])


def test_both_layers_begin_from_zeros_again():
    layer = layers.Bidirectional(layers.GRU(3, stateful=True))
    x = np.ones((2, 4, 3), "float32")
    first = np.asarray(layer(x))
    assert not np.array_equal(layer(x), first)
    layer.reset_state()
    np.testing.assert_array_equal(layer(x), first)
    one = layers.Bidirectional(layers.GRU(3, stateful=True), backward_layer=layers.GRU(3, go_backwards=True))
    first = np.asarray(one(x))
    one(x)
    one.reset_state()
    np.testing.assert_array_equal(one(x), first)
    with pytest.raises(gx.errors.StateError, match="starts from zeros at each call"):
        layers.Bidirectional(layers.GRU(3)).reset_state()


def test_layers_of_cells_are_built_for_any_number_of_sequences():
    layer = layers.RNN(layers.StackedRNNCells([layers.LSTMCell(3), layers.GRUCell(2)]))
    layer.build((None, None, 4))
    assert layer(np.ones((5, 2, 4), "float32")).shape == (5, 2)
