"""Arrays of NumPy that say more than numbers: masked ones, and those with fields, at every door that takes arrays."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.backend import registry
from graftax.core.errors import ArgumentTypeError

X, Y = np.ones((4, 2), "float32"), np.ones((4, 1), "float32")
MASKED = np.ma.masked_array(X, mask=np.arange(8).reshape(4, 2) % 3 == 0)
FIELDS = np.array([(1.0, 2.0)] * 4, dtype=[("a", "f4"), ("b", "f4")])


@pytest.fixture(scope="module")
def model():
    found = gx.Sequential([layers.Dense(1)])
    found.compile("sgd", "mse", metrics=["mae"])
    found(X)
    return found


DOORS = {
    "an op": lambda m, v: ops.sum(v),
    "asarray": lambda m, v: ops.asarray(v),
    "a list": lambda m, v: ops.asarray([v, v]),
    "a list with an array": lambda m, v: ops.asarray([ops.ones((4, 2)), v]),
    "stack": lambda m, v: ops.stack([v, v]),
    "Variable": lambda m, v: gx.Variable(v),
    "assign": lambda m, v: gx.Variable(X).assign(v),
    "an operator": lambda m, v: gx.Variable(X) + v,
    "a layer": lambda m, v: layers.Dense(2)(v),
    "a built layer": lambda m, v: m.layers[0](v),
    "a merge": lambda m, v: layers.Add()([X, v]),
    "a loss": lambda m, v: gx.losses.MeanSquaredError()(X, v),
    "targets of a loss": lambda m, v: gx.losses.MeanSquaredError()(v, X),
    "weights of a loss": lambda m, v: gx.losses.MeanSquaredError()(X, X, sample_weight=v),
    "a metric": lambda m, v: gx.metrics.MeanSquaredError()(X, v),
    "an accuracy": lambda m, v: gx.metrics.BinaryAccuracy()(v, X),
    "jit": lambda m, v: gx.jit(ops.sum)(v),
    "grad": lambda m, v: gx.grad(ops.sum)(v),
    "vectorized_map": lambda m, v: gx.vectorized_map(lambda row: row, v),
    "scan": lambda m, v: gx.map_fn(lambda row: row, v),
    "functional_call": lambda m, v: gx.functional_call(m.layers[0], gx.state(m.layers[0]), v),
    "fit x": lambda m, v: m.fit(v, Y, verbose=0),
    "fit y": lambda m, v: m.fit(X, v, verbose=0),
    "fit sample_weight": lambda m, v: m.fit(X, Y, sample_weight=v, verbose=0),
    "fit validation_data": lambda m, v: m.fit(X, Y, validation_data=(v, Y), verbose=0),
    "fit of a generator": lambda m, v: m.fit(((v, Y) for _ in range(2)), verbose=0),
    "evaluate": lambda m, v: m.evaluate(v, Y, verbose=0),
    "predict": lambda m, v: m.predict(v),
    "train_on_batch": lambda m, v: m.train_on_batch(v, Y),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_masked_array_is_refused_at_every_door_that_takes_arrays(model, door):
    with pytest.raises(ArgumentTypeError, match=r"masked array of shape \(4, 2\) with 3 of 8") as caught:
        DOORS[door](model, MASKED)
    assert "filled(0)" in str(caught.value)
    assert "sample_weight" in str(caught.value)
    assert "mask=" in str(caught.value)


@pytest.mark.parametrize("door", DOORS)
def test_an_array_with_fields_is_refused_at_every_door_that_takes_arrays(model, door):
    gx.jit(ops.sum)(X)  # other arrays of NumPy have passed before
    with pytest.raises(ArgumentTypeError, match="structured array of dtype") as caught:
        DOORS[door](model, FIELDS)
    assert "the fields 'a', 'b'" in str(caught.value)
    assert "np.stack(" in str(caught.value)


@pytest.mark.parametrize("value", [MASKED, FIELDS], ids=["masked", "fields"])
@pytest.mark.parametrize("backend", ["jax", "numpy"])
def test_each_backend_refuses_them(backend, value):
    with registry.use(backend):
        for made in (lambda: ops.asarray(value), lambda: ops.asarray(value, "float32"), lambda: gx.Variable(value)):
            with pytest.raises(ArgumentTypeError, match="masked array|structured array"):
                made()


@pytest.mark.broad
def test_the_lines_that_are_shown_work(model):
    stacked = np.stack([FIELDS[field] for field in FIELDS.dtype.names], axis=-1)
    assert model.predict(stacked, verbose=0).shape == (4, 1)
    assert ops.sum(MASKED.filled(0)) == 5
    mask = ~np.ma.getmaskarray(MASKED)
    assert layers.LSTM(2)(MASKED.filled(0)[..., None], mask=mask).shape == (4, 2)
