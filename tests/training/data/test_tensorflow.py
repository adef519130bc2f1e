"""Data of tf.data, and tensors of TensorFlow, in fit, evaluate and predict."""

import numpy as np
import pytest

import graftax as gx
from graftax.core.errors import DataError
from tests.training.lines import X, Y, line, losses


@pytest.fixture(scope="module")
def tf():
    return pytest.importorskip("tensorflow")


@pytest.fixture
def pairs(tf):
    """Rows one by one, each with its target."""
    return tf.data.Dataset.from_tensor_slices((X, Y))


@pytest.fixture
def expected():
    return losses(line(0.1), X, Y, epochs=2, batch_size=2, shuffle=False)


def ends(batches):
    """As a process that is killed after so many batches; a callback that remembers nothing."""
    left = iter(range(batches, -1, -1))
    next(left)

    def count(batch, logs):
        if not next(left):
            raise KeyboardInterrupt

    return gx.callbacks.LambdaCallback(on_train_batch_end=count)


FORMS = {
    "as it is": lambda data: data,
    "read ahead by tf.data": lambda data: data.prefetch(2),
    "read ahead by graftax": lambda data: gx.data.prefetch(data),
    "without a length": lambda data: data.filter(lambda *parts: True),
    "with weights": lambda data: data.map(lambda x, y: (x, y, y + 1)),
    "as dicts": lambda data: gx.data.columns(data.map(lambda x, y: {"value": x, "label": y}), "value", "label"),
}


@pytest.mark.parametrize("form", FORMS)
def test_batches(pairs, expected, form):
    data = FORMS[form](pairs.batch(2))
    assert losses(line(0.1), data, epochs=2) == expected
    assert line().evaluate(data, verbose=0) == {"loss": 6}
    assert line().predict(data, verbose=0).shape == (5, 1)
    assert (
        line(0.1).fit(X, Y, validation_data=data, epochs=2, batch_size=2, shuffle=False, verbose=0).history["val_loss"]
    )


def test_batches_of_a_python_function_whose_sizes_are_not_told(tf, expected):
    def batches():
        for i in range(0, 5, 2):
            yield X[i : i + 2], Y[i : i + 2]

    spec = tf.TensorSpec((None, 1))
    data = tf.data.Dataset.from_generator(batches, output_signature=(spec, spec))
    assert losses(line(0.1), data, epochs=2) == expected


def test_names_of_columns(tf, expected):
    data = tf.data.Dataset.from_tensor_slices({"value": X, "label": Y}).batch(2)
    assert losses(line(0.1), data, y="label", epochs=2) == expected
    with pytest.raises(DataError, match="the batch has 'value', 'label'"):
        line().fit(data, y="labels", verbose=0)


def test_iterators_run_once(pairs, expected):
    assert losses(line(0.1), pairs.batch(2).as_numpy_iterator()) == expected[:1]
    with pytest.warns(UserWarning, match="no batches left"):
        assert losses(line(0.1), iter(pairs.batch(2)), epochs=2) == expected[:1]


def test_tensors_are_arrays(tf, expected):
    x, y = tf.constant(X), tf.constant(Y)
    assert losses(line(0.1), x, y, epochs=2, batch_size=2, shuffle=False) == expected
    assert line().evaluate(x, y, verbose=0) == {"loss": 6}
    assert gx.layers.Dense(2)(x).shape == (5, 2)


def test_numbers_of_other_sizes(tf, expected):
    data = tf.data.Dataset.from_tensor_slices((X.astype("float64"), Y.astype("float16"))).batch(2)
    assert losses(line(0.1), data, epochs=2) == expected
    data = tf.data.Dataset.from_tensor_slices((tf.cast(X, tf.bfloat16), Y)).batch(2)
    assert losses(line(0.1), data, epochs=2) == expected
    data = tf.data.Dataset.from_tensor_slices((X, np.arange(5) % 2)).batch(5)
    weighted = (3 * (1 - 1) ** 2 + (2 - 0) ** 2 + 3 * (3 - 1) ** 2 + (4 - 0) ** 2) / 5
    assert line().fit(data, class_weight={0: 1, 1: 3}, verbose=0).history["loss"] == pytest.approx([weighted])


def test_data_that_begin_again_for_ever(pairs):
    data = pairs.repeat().batch(2)
    assert len(losses(line(0.1), data, epochs=2, steps_per_epoch=4)) == 2
    assert line().evaluate(data, steps=5, verbose=0) == {"loss": 6}
    assert line().predict(data, steps=2, verbose=0).shape == (4, 1)
    history = line().fit(X, Y, validation_data=data, validation_steps=5, verbose=0).history
    assert history["val_loss"] == [6]


@pytest.mark.parametrize("around", [lambda data: data, gx.data.prefetch, lambda data: gx.data.columns(data, "x", "y")])
def test_data_that_begin_again_for_ever_need_a_number_of_steps(pairs, around):
    data = around(pairs.map(lambda x, y: {"x": x, "y": y}).repeat().batch(2))
    for run in (line().fit, line().evaluate, line().predict, lambda d, verbose: line().fit(X, Y, validation_data=d)):
        with pytest.raises(DataError, match="_BatchDataset that begins again for ever"):
            run(data, verbose=0)


def test_samples_in_place_of_batches(tf):
    with pytest.raises(DataError, match="y of a batch is a single number"):
        line().fit(tf.data.Dataset.from_tensor_slices((X, Y[:, 0])), verbose=0)
    with pytest.raises(DataError, match=r"x\['a'\] of a batch is a single number"):
        line().predict(tf.data.Dataset.from_tensor_slices({"a": X[:, 0]}), verbose=0)


def test_what_is_no_dense_array_of_numbers_is_named(tf):
    slices = tf.data.Dataset.from_tensor_slices
    with pytest.raises(DataError, match=r"x is a RaggedTensor(.|\n)*batch 0(.|\n)*padded_batch"):
        line().fit(slices((tf.ragged.constant([[1.0], [1.0, 2.0]]), Y[:2])).batch(2), verbose=0)
    with pytest.raises(DataError, match=r"x is a RaggedTensor(.|\n)*bucket"):
        line().fit(tf.ragged.constant([[1.0], [1.0, 2.0]]), Y[:2], verbose=0)
    with pytest.raises(DataError, match=r"x is a SparseTensor(.|\n)*to_dense"):
        line().fit(slices((tf.sparse.from_dense(X), Y)).batch(2), verbose=0)
    with pytest.raises(DataError, match=r"dtype object(.|\n)*StringLookup"):
        line().fit(slices((np.array([["a"], ["b"]]), Y[:2])).batch(2), verbose=0)
    with pytest.raises(DataError, match=r"x\['city'\]"):
        line().fit(slices({"v": X[:2], "city": ["a", "b"], "y": Y[:2]}).batch(2), y="y", verbose=0)


def test_texts_become_numbers_on_their_way(tf):
    lookup = gx.layers.StringLookup(vocabulary=["a", "b"], output_mode="one_hot")
    data = tf.data.Dataset.from_tensor_slices((["a", "b", "z"], Y[:3])).batch(2)
    model = gx.Sequential([gx.layers.Dense(1, use_bias=False, kernel_initializer="ones")])
    model.compile(gx.optimizers.SGD(0.0), "mse")
    assert losses(model, [(lookup(x.numpy().astype(str)), y) for x, y in data]) == [1]


@pytest.mark.parametrize("batches", [3, 4])
@pytest.mark.parametrize(
    "fixed",
    [
        lambda data: data.batch(2),
        lambda data: data.shuffle(5, seed=1, reshuffle_each_iteration=False).batch(2),
        lambda data: gx.data.prefetch(data.batch(2)),
    ],
)
def test_a_run_goes_on_where_it_was(tmp_path, pairs, fixed, batches):
    whole = line(0.1)
    whole.fit(fixed(pairs), epochs=3, verbose=0)
    callbacks = [gx.callbacks.ModelCheckpoint(tmp_path, every=1), ends(batches)]
    with pytest.raises(KeyboardInterrupt):
        line(0.1).fit(fixed(pairs), epochs=3, verbose=0, callbacks=callbacks)
    resumed = line(0.1)
    resumed.fit(fixed(pairs), epochs=3, verbose=0, resume=tmp_path)
    assert resumed.get_weights() == whole.get_weights()


@pytest.mark.parametrize(
    "moving",
    [
        lambda data: data.shuffle(5).batch(2),
        lambda data: data.shuffle(5, seed=1).cache().batch(2),
        lambda data: gx.data.prefetch(data.shuffle(5, reshuffle_each_iteration=False).batch(2)),
    ],
)
def test_a_run_with_another_order_each_time_cannot_be_resumed(tmp_path, pairs, moving):
    line(0.1).fit(moving(pairs), verbose=0, callbacks=[gx.callbacks.ModelCheckpoint(tmp_path)])
    with pytest.raises(DataError, match="of tf.data that shuffles each pass anew"):
        line(0.1).fit(moving(pairs), epochs=2, verbose=0, resume=tmp_path)
