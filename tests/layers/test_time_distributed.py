import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.variables import masks

X = np.random.default_rng(0).normal(size=(2, 4, 5, 3)).astype("float32")


def test_each_step_is_computed_alone():
    layer = layers.TimeDistributed(layers.Conv1D(2, 3))
    out = np.asarray(layer(X))
    for t in range(4):
        np.testing.assert_allclose(out[:, t], layer.layer(X[:, t]), rtol=1e-5, atol=1e-6)
    assert [v.path for v in layer.variables] == ["layer/kernel", "layer/bias"]
    assert layer.compute_output_shape((None, 4, 5, 3)) == (None, 4, 3, 2)


@pytest.mark.broad
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


@pytest.mark.broad
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


@pytest.mark.broad
def test_a_recurrent_layer_beside_statistics_inside_takes_the_mask():
    inner = gx.Sequential([layers.BatchNormalization(), layers.GRU(2)])
    mask = np.array([[1, 1, 0, 0], [1, 0, 0, 0]], bool)
    out = layers.TimeDistributed(inner)(X, mask=mask)
    assert np.isfinite(np.asarray(out)).all()


WORDS = np.array([[[1, 2, 0, 0], [3, 0, 0, 0], [0, 0, 0, 0]], [[4, 1, 2, 3], [0, 0, 0, 0], [2, 2, 1, 0]]])
INNER = {
    "lstm": lambda: layers.LSTM(4),
    "sequences": lambda: layers.LSTM(4, return_sequences=True),
    "average": layers.GlobalAveragePooling1D,
    "dense": lambda: layers.Dense(3, "tanh"),
    "model": lambda: gx.Sequential([layers.Dense(3), layers.GRU(2)]),
    "statistics": layers.BatchNormalization,
}


def embedded(hidden=0.0):
    x = np.random.default_rng(1).normal(size=(2, 3, 4, 5)).astype("float32")
    return np.where((WORDS != 0)[..., None], x, np.float32(hidden))


@pytest.mark.broad
@pytest.mark.in_turn(4)
@pytest.mark.parametrize("run", [lambda fn: fn, gx.jit], ids=["eager", "compiled"])
@pytest.mark.parametrize("name", INNER)
def test_a_mask_within_steps_goes_to_the_layer_inside(name, run):
    mask, layer = WORDS != 0, layers.TimeDistributed(INNER[name]())
    layer.build_for(embedded())

    def steps(x):
        return ops.stack([layer.layer(x[:, t], mask=mask[:, t]) for t in range(3)], axis=1)

    def given(x):
        return layer(x, mask=mask)

    def carried(x):
        x = ops.asarray(x) * 1
        masks.set_mask(x, mask)
        return layer(x)

    def slope(fn):
        return gx.grad(lambda x: ops.sum(ops.where(seen_in(fn(x)), ops.square(fn(x)), 0)))

    def seen_in(out):
        return np.broadcast_to(mask[..., None], out.shape) if out.ndim == 4 else np.ones(out.shape, bool)

    expected = run(steps)(embedded())
    expected_slope = run(slope(steps))(embedded())
    for fn in (given, carried):
        for hidden in (0.0, 7.0, np.nan):
            got = run(fn)(embedded(hidden))
            seen = seen_in(expected)
            np.testing.assert_allclose(np.asarray(got)[seen], np.asarray(expected)[seen], rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(run(slope(fn))(embedded(hidden)), expected_slope, rtol=1e-4, atol=1e-5)
        on = run(lambda x, fn=fn: masks.mask_of(fn(x)))(embedded())
        np.testing.assert_array_equal(on, mask if len(expected.shape) == 4 else mask.any(-1))


@pytest.mark.broad
def test_sentences_of_words_are_masked_on_both_levels():
    embedding, inside, after = layers.Embedding(5, 4, mask_zero=True), layers.LSTM(3), layers.LSTM(2)
    model = gx.Sequential([embedding, layers.TimeDistributed(inside), after])
    out = model(WORDS)
    first = inside(embedding(np.array([[1, 2], [3, 0]])))
    np.testing.assert_allclose(out[0], after(first[None])[0], rtol=1e-5, atol=1e-6)
    _, state = layers.TimeDistributed(layers.GRU(2, return_state=True))(embedding(WORDS))
    assert masks.mask_of(state) is None
    inputs = gx.Input((3, 4), dtype="int32")
    by_graph = gx.Model(inputs, after(model.layers[1](embedding(inputs))))
    np.testing.assert_allclose(by_graph(WORDS), out, rtol=1e-5, atol=1e-6)


def test_a_mask_within_steps_gives_what_keras_gives(keras):
    theirs = keras.Sequential(
        [keras.layers.Embedding(5, 4, mask_zero=True), keras.layers.TimeDistributed(keras.layers.LSTM(3))]
    )
    ours = gx.Sequential([layers.Embedding(5, 4, mask_zero=True), layers.TimeDistributed(layers.LSTM(3))])
    expected = theirs(WORDS[:, :1])
    ours.build_for(WORDS[:, :1])
    ours.set_weights([np.asarray(v.value) for v in theirs.weights])
    np.testing.assert_allclose(ours(WORDS[:, :1]), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.broad
@pytest.mark.parametrize("run", [lambda fn: fn, gx.jit], ids=["eager", "compiled"])
def test_a_mask_that_the_layer_inside_makes_is_that_of_the_output(run):
    embedding = layers.Embedding(5, 3, mask_zero=True)
    layer = layers.TimeDistributed(embedding)
    np.testing.assert_array_equal(run(lambda x: masks.mask_of(layer(x)))(WORDS), WORDS != 0)
    steps = np.array([[True, True, False], [False, True, True]])
    np.testing.assert_array_equal(
        run(lambda x: masks.mask_of(layer(x, mask=steps)))(WORDS), (WORDS != 0) & steps[..., None]
    )
    last = layers.TimeDistributed(gx.Sequential([embedding, layers.LSTM(2)]))
    assert run(lambda x: masks.mask_of(last(x)))(WORDS) is None
    model = gx.Sequential([layer, layers.TimeDistributed(layers.LSTM(2)), layers.LSTM(2)])
    np.testing.assert_allclose(run(lambda x: model(x))(WORDS)[:1], model(WORDS[:1, :2]), rtol=1e-4, atol=1e-6)
