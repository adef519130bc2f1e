"""Data that a callback changes during a run: arrays are read batch by batch, and of copies a change is told."""

import warnings

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

ROWS = 6


class MeanOf(gx.Model):
    """A model whose loss is the mean of one part of the data."""

    def __init__(self, part):
        super().__init__()
        self.part, self.dense = part, layers.Dense(1)

    def call(self, x):
        return self.dense(ops.cast(x, "float32"))

    def compute_loss(self, x, y, y_pred, sample_weight=None):
        parts = {"x": x, "y": y, "sample_weight": sample_weight}
        return ops.mean(ops.cast(parts[self.part], "float32")) + 0 * ops.mean(y_pred)


class Write(gx.Callback):
    """Adds 1 to all data after each epoch."""

    def __init__(self, data):
        super().__init__()
        self.data = data

    def on_epoch_end(self, epoch, logs=None):
        write(self.data)


def write(data):
    if isinstance(data, gx.Variable):
        data.assign(data + 1)
    elif hasattr(data, "iloc"):
        data.iloc[...] = data + 1
    else:
        data[:] = data + 1 if hasattr(data, "shape") else [one + 1 for one in data]


def losses(part, data, callbacks=None, **options):
    model = MeanOf(part)
    model.compile(gx.optimizers.SGD(0.0))
    rest = {name: np.ones((ROWS, 1), "float32") for name in ("x", "y")}
    given = {**rest, part: data}
    run = model.fit(
        **given, **options, epochs=3, verbose=0, callbacks=[Write(data)] if callbacks is None else callbacks
    )
    return run.history["loss"]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int32", "uint8", ">f8", ">i4"])
@pytest.mark.parametrize("part", ["x", "y", "sample_weight"])
@pytest.mark.parametrize("shuffle", [False, True])
def test_what_is_written_to_an_array_counts_whatever_its_dtype(part, dtype, shuffle):
    assert losses(part, np.ones((ROWS, 1), dtype), shuffle=shuffle, batch_size=2) == [1, 2, 3]


@pytest.mark.parametrize("part", ["x", "y"])
def test_columns_and_strided_rows_count_too(part):
    table = np.ones((2 * ROWS, 3))
    for data in (table[::2, 1:2], np.asfortranarray(table)[:ROWS], np.broadcast_to(np.ones((1, 2)), (ROWS, 2)).copy()):
        assert losses(part, data) == [1, 2, 3]
        table[:] = 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tensors_of_torch_count_too(dtype):
    torch = pytest.importorskip("torch")
    assert losses("x", torch.ones((ROWS, 1), dtype=getattr(torch, dtype))) == [1, 2, 3]


def test_parts_of_a_dict_and_of_a_validation_split():
    inputs = {"a": np.ones((10, 1)), "b": np.ones((10, 1))}
    given = gx.Input((1,), name="a"), gx.Input((1,), name="b")
    model = gx.Model(given, layers.Add()(given))
    model.compile(gx.optimizers.SGD(0.0), "mae")

    class Double(gx.Callback):
        def on_epoch_end(self, epoch, logs=None):
            inputs["b"][:] += 1

    run = model.fit(inputs, np.zeros((10, 1)), epochs=3, validation_split=0.2, verbose=0, callbacks=[Double()])
    assert run.history["loss"] == run.history["val_loss"] == [2, 3, 4]


def test_weights_of_classes_are_those_of_the_labels_of_now():
    labels = np.array([0, 0, 1])
    model = gx.Sequential([layers.Dense(1)])
    x, seen = np.ones((3, 1), "float32"), []

    class Weights(gx.Callback):
        def on_epoch_end(self, epoch, logs=None):
            seen.append(logs["weighted"])
            labels[:] = 1

    def weight(y_true, y_pred):
        return ops.ones_like(y_pred)

    class Sum(gx.metrics.Sum):
        def update(self, y_true, y_pred, sample_weight=None):
            super().update(sample_weight)

    model.compile(gx.optimizers.SGD(0.0), "mse", weighted_metrics=[Sum(name="weighted")])
    model.fit(x, labels, class_weight={0: 1.0, 1: 5.0}, epochs=2, verbose=0, callbacks=[Weights()])
    assert seen == [7, 15]


def test_a_number_written_later_that_32_bits_do_not_hold_is_refused():
    data = np.ones((ROWS, 1))

    class Large(gx.Callback):
        def on_epoch_end(self, epoch, logs=None):
            data[3] = 1e300

    with pytest.raises(gx.errors.DataError, match=r"(?s)x holds 1e\+300.*instead: x / scale"):
        losses("x", data, [Large()])


def of_pandas(name, *given):
    return getattr(pytest.importorskip("pandas"), name)(*given)


COPIED = [
    pytest.param(lambda: [1.0] * ROWS, id="list"),
    pytest.param(lambda: gx.Variable(np.ones((ROWS, 1), "float32")), id="variable"),
    pytest.param(lambda: of_pandas("DataFrame", {"a": np.ones(ROWS)}), id="table", marks=pytest.mark.references),
    pytest.param(lambda: of_pandas("Series", np.ones(ROWS)), id="column", marks=pytest.mark.references),
]


@pytest.mark.parametrize("make", COPIED)
@pytest.mark.parametrize("part", ["y", "sample_weight"])
def test_a_change_of_what_was_copied_is_told_and_the_line_works(make, part):
    data = make()
    with pytest.warns(UserWarning, match=rf"(?s){part}, a \w+, has changed.*{part} = np.array\({part}\)") as told:
        assert losses(part, data) == [1, 1, 1]
    assert len(told) == 1
    assert losses(part, np.array(make())) == [1, 2, 3]


@pytest.mark.parametrize("make", COPIED)
@pytest.mark.parametrize("way", ["validation_split", "validation_data"])
def test_a_change_of_copies_beside_a_validation_is_told(make, way):
    data = make()
    options = {"validation_data": (np.ones((ROWS, 1), "float32"), data)} if way == "validation_data" else {way: 0.5}
    with pytest.warns(UserWarning, match=r"y, a \w+, has changed"):
        losses("y", np.ones((ROWS, 1)) if way == "validation_data" else data, [Write(data)], **options)


@pytest.mark.parametrize("make", COPIED)
@pytest.mark.parametrize("callbacks", [[], [gx.Callback()]], ids=["none", "one"])
def test_data_that_stay_say_nothing(make, callbacks):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert losses("y", make(), callbacks) == [1, 1, 1]


def test_a_list_that_becomes_ragged_is_told_and_the_run_goes_on():
    data = [[1.0] for _ in range(ROWS)]

    class Longer(gx.Callback):
        def on_epoch_end(self, epoch, logs=None):
            data[0].append(1.0)

    with pytest.warns(UserWarning, match="y, a list, has changed"):
        assert losses("y", data, [Longer()]) == [1, 1, 1]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_a_table_beside_arrays_that_do_not_change_is_not_told(dtype):
    pandas = pytest.importorskip("pandas")
    given, column = gx.Input((1,), name="a"), gx.Input((1,), name="b")
    model = gx.Model({"a": given, "b": column}, gx.layers.Dense(1)(given + column))
    model.compile("sgd", "mse")
    x = {"a": np.ones((4, 1), dtype), "b": pandas.DataFrame({"b": np.arange(4.0)})}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(
            x,
            np.ones((4, 1)),
            epochs=2,
            verbose=0,
            callbacks=[gx.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: None)],
        )
