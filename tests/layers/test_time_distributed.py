import numpy as np
import pytest

import graftax as gx
from graftax import layers

X = np.random.default_rng(0).normal(size=(2, 4, 5, 3)).astype("float32")


def test_each_step_is_computed_alone():
    layer = layers.TimeDistributed(layers.Conv1D(2, 3))
    out = np.asarray(layer(X))
    for t in range(4):
        np.testing.assert_allclose(out[:, t], layer.layer(X[:, t]), rtol=1e-5, atol=1e-6)
    assert [v.path for v in layer.variables] == ["layer/kernel", "layer/bias"]
    assert layer.compute_output_shape((None, 4, 5, 3)) == (None, 4, 3, 2)


def test_the_layer_inside_may_give_several_arrays_and_learns_that_it_is_training():
    out, state = layers.TimeDistributed(layers.GRU(2, return_state=True))(X)
    assert out.shape == state.shape == (2, 4, 2)
    dropped = np.asarray(layers.TimeDistributed(layers.Dropout(0.5, seed=0))(X, training=True))
    assert (dropped == 0).any()


def test_values_are_those_of_keras(keras):
    theirs = keras.layers.TimeDistributed(keras.layers.Dense(2))
    ours = layers.TimeDistributed(layers.Dense(2))
    expected = theirs(X)
    ours.build_for(X)
    ours.set_weights([np.asarray(v.value) for v in theirs.weights])
    np.testing.assert_allclose(ours(X), expected, rtol=1e-5, atol=1e-6)


def test_bad_input_is_refused():
    with pytest.raises(gx.errors.ArgumentTypeError, match="it is a layer"):
        layers.TimeDistributed(abs)
    with pytest.raises(gx.errors.ShapeError, match="at least 2 axes"):
        layers.TimeDistributed(layers.Dense(2))(X[0, 0, 0])


@pytest.mark.parametrize("run", [lambda fn: fn, gx.jit], ids=["eager", "compiled"])
def test_statistics_inside_leave_out_what_is_hidden(run):
    mask = np.array([[1, 1, 0, 0], [1, 0, 0, 0]], bool)
    x = X.copy()
    x[~mask] = np.nan
    for inner, given in (
        (layers.BatchNormalization(), x[:, :, 0]),
        (gx.Sequential([layers.Dense(3, kernel_initializer="identity"), layers.BatchNormalization()]), x[:, :, 0]),
        (layers.BatchNormalization(), x),
    ):
        layer = layers.TimeDistributed(inner)
        out = np.asarray(run(lambda x, mask, layer=layer: layer(x, mask=mask, training=True))(given, mask))
        rows = given[mask].reshape(-1, 3)
        np.testing.assert_allclose(layer.variables[-2], 0.01 * rows.mean(0), rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(
            out[mask].reshape(-1, 3), (rows - rows.mean(0)) / np.sqrt(rows.var(0) + 1e-3), rtol=1e-3, atol=1e-4
        )


def test_a_recurrent_layer_beside_statistics_inside_takes_the_mask():
    inner = gx.Sequential([layers.BatchNormalization(), layers.GRU(2)])
    mask = np.array([[1, 1, 0, 0], [1, 0, 0, 0]], bool)
    out = layers.TimeDistributed(inner)(X, mask=mask)
    assert np.isfinite(np.asarray(out)).all()
