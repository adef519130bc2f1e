"""Weights that are not finite are refused with their row, lists in dicts are arrays, iterators that end say so."""

import itertools

import numpy as np
import pytest

import graftax as gx
from graftax import layers, losses, metrics
from graftax.core.errors import ArgumentError, DataError

X = np.linspace(-1, 1, 24, dtype="float32").reshape(8, 3)
Y = X[:, :1] * 2


def line():
    gx.set_random_seed(0)
    model = gx.Sequential([layers.Dense(1)])
    model.compile(gx.optimizers.SGD(0.1), "mse", weighted_metrics=["mae"])
    return model


def bad(value, shape=(8,)):
    weights = np.ones(shape, "float32")
    weights[(3, *[0] * (len(shape) - 1))] = value
    return weights


def batches(count):
    for _ in range(count):
        yield X, Y


VALUES = [np.nan, np.inf, -np.inf]


@pytest.mark.in_turn(18, broad=11)
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("run", ["fit", "evaluate", "train_on_batch", "test_on_batch", "batches", "validation"])
def test_weights_that_are_not_finite(run, value):
    model, w = line(), bad(value)
    model(X)
    before = model.layers[0].kernel.numpy()
    calls = {
        "batches": lambda: model.fit([(X, Y, w)], verbose=0),
        "validation": lambda: model.fit(X, Y, validation_data=(X, Y, w), verbose=0),
        "fit": lambda: model.fit(X, Y, sample_weight=w, verbose=0),
        "evaluate": lambda: model.evaluate(X, Y, sample_weight=w, verbose=0),
    }
    call = calls.get(run, lambda: getattr(model, run)(X, Y, sample_weight=w))
    with pytest.raises(ArgumentError, match=r"sample_weight\[3\] = -?(nan|inf)") as caught:
        call()
    np.testing.assert_array_equal(model.layers[0].kernel.numpy(), before)
    mended = eval(caught.value.instead.partition(":")[0], {"np": np, "sample_weight": w})
    assert np.isfinite(model.fit(X, Y, sample_weight=mended, verbose=0).history["loss"]).all()


def test_weights_of_an_output_are_named():
    with pytest.raises(ArgumentError, match=r"sample_weight\['b'\]\[3, 0\] = nan"):
        line().fit(X, Y, sample_weight={"a": np.ones(8), "b": bad(np.nan, (8, 2))}, verbose=0)


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize(
    "objective",
    [
        losses.MeanSquaredError(),
        losses.BinaryCrossentropy(reduction="none"),
        losses.FunctionLoss(lambda y, p: abs(y - p)),
        metrics.MeanSquaredError(),
        metrics.BinaryAccuracy(),
        metrics.Precision(),
        metrics.Recall(),
        metrics.MeanMetricWrapper(lambda y, p: abs(y - p)),
    ],
    ids=lambda one: type(one).__module__.split(".")[1] + "." + type(one).__name__,
)
def test_called_by_hand_they_are_refused_too(objective, value):
    with pytest.raises(ArgumentError, match=r"sample_weight\[1\]"):
        objective([1.0, 0.0], [0.5, 0.25], sample_weight=[1.0, value])
    with pytest.raises(ArgumentError, match=r"sample_weight\[1\]"):
        gx.jit(lambda w: objective([1.0, 0.0], [0.5, 0.25], sample_weight=w), checked=True)(np.float32([1.0, value]))


@pytest.mark.parametrize("metric", [metrics.Mean, metrics.Sum])
def test_means_and_sums_refuse_them(metric):
    with pytest.raises(ArgumentError, match=r"sample_weight = nan|sample_weight\[\] = nan"):
        metric()(1.0, sample_weight=np.nan)


@pytest.mark.broad
def test_lists_in_dicts_and_lists_are_arrays():
    class Named(gx.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(1)

        def call(self, x):
            return self.dense(x["img"])

    found = []
    for x, y in (
        ({"img": X}, Y),
        ({"img": X.tolist()}, Y.tolist()),
        ({"img": tuple(map(tuple, X.tolist()))}, Y.tolist()),
    ):
        gx.set_random_seed(0)
        model = Named()
        model.compile("sgd", "mse")
        fitted = model.fit(x, y, verbose=0).history["loss"]
        found.append([*fitted, model.evaluate(x, y, verbose=0)["loss"], *np.ravel(model.predict(x, verbose=0))])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-6)


def test_ragged_lists_in_a_dict_are_named():
    with pytest.raises(DataError, match=r"x\['img'\] is a list of 2 rows of different lengths"):
        line().fit({"img": [[1.0, 2.0], [1.0]]}, Y[:2], verbose=0)


def test_a_number_in_a_dict_gets_an_axis_as_the_remedy_says():
    x = {"img": 3.0}
    with pytest.raises(DataError, match="x/img is a single number") as caught:
        line().fit(x, Y, verbose=0)
    remedy = caught.value.instead.partition(": ")[2]
    assert eval(remedy, {"np": np, "x": x}).shape == (1,)


@pytest.mark.broad
def test_an_iterator_for_several_validations_is_refused_at_once():
    model = line()
    model(X)
    before = model.layers[0].kernel.numpy()
    with pytest.raises(DataError, match="iterator, for 3 validations"):
        model.fit(X, Y, validation_data=batches(3), epochs=3, verbose=0)
    np.testing.assert_array_equal(model.layers[0].kernel.numpy(), before)
    for remedy in ({"validation_data": list(batches(3))}, {"validation_data": batches(9), "validation_steps": 3}):
        assert len(model.fit(X, Y, epochs=3, verbose=0, **remedy).history["val_loss"]) == 3
    model.fit(X, Y, validation_data=batches(3), epochs=3, validation_freq=3, verbose=0)
    model.fit(X, Y, validation_data=itertools.repeat((X, Y)), validation_steps=2, epochs=3, verbose=0)


@pytest.mark.broad
def test_an_iterator_that_ends_in_a_later_validation():
    with (
        pytest.warns(UserWarning, match="after 1 of 3 steps"),
        pytest.raises(DataError, match=r"(?s)validation after epoch 3.*used up.*list\(batches\)"),
    ):
        line().fit(X, Y, validation_data=batches(4), validation_steps=3, epochs=3, verbose=0)


@pytest.mark.broad
@pytest.mark.parametrize("run", ["fit", "evaluate", "predict"])
def test_an_iterator_that_was_used_up_before(run):
    model, source = line(), batches(2)
    getattr(model, run)(source, verbose=0)
    with pytest.raises(DataError, match=r"(?s)used up by an earlier pass.*list\(batches\)"):
        getattr(model, run)(source, verbose=0)
    getattr(model, run)(list(batches(2)), verbose=0)


@pytest.mark.broad
@pytest.mark.parametrize("steps", [None, 2])
def test_an_iterator_that_ends_while_training_says_what_to_write(steps):
    with pytest.warns(UserWarning, match=r"Instead: fewer steps or epochs.*list\(batches\)"):
        line().fit(batches(3), epochs=3, steps_per_epoch=steps, verbose=0)
    assert len(line().fit(list(batches(3)), epochs=3, verbose=0).history["loss"]) == 3
    assert len(line().fit(batches(6), epochs=3, steps_per_epoch=2, verbose=0).history["loss"]) == 3
