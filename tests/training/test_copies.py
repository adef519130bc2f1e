"""Copies of a compiled model train by themselves: whatever runs, the original stays as it is."""

import copy
import gc
import pickle
import threading
import weakref

import numpy as np
import pytest

import graftax as gx
from graftax import layers, metrics, ops
from tests.conformance.lanes import crossed

X = np.linspace(-1, 1, 12, dtype="float32").reshape(6, 2)
Y = X.sum(1, keepdims=True)

WAYS = {
    "fit": lambda model: model.fit(X, Y, batch_size=2, epochs=2, verbose=0),
    "fit_unshuffled_rest": lambda model: model.fit(X[:5], Y[:5], batch_size=2, shuffle=False, verbose=0),
    "train_on_batch": lambda model: model.train_on_batch(X, Y),
    "evaluate": lambda model: model.evaluate(X, Y, verbose=0),
    "test_on_batch": lambda model: model.test_on_batch(X, Y),
    "predict": lambda model: model.predict(X, verbose=0),
    "minimize": lambda model: model.optimizer.minimize(lambda: ops.sum(model(X) ** 2), model),
    "call": lambda model: model(X, training=True),
}


class Noisy(layers.Dense):
    """A layer with a metric, a term of the loss, a stream, and a count."""

    def __init__(self):
        super().__init__(1)
        self.rows = metrics.Sum(name="rows")
        self.dropout = layers.Dropout(0.5)
        self.calls = gx.Variable(0.0, trainable=False)

    def call(self, x, training=None):
        self.rows.update(ops.ones(x.shape[:1]))
        self.add_loss(ops.mean(x) ** 2)
        if training:
            self.calls.assign_add(1.0)
        return super().call(self.dropout(x))


def trained(**options):
    model = gx.Sequential([layers.Dense(3, activation="relu"), Noisy()])
    model.compile(gx.optimizers.Adam(0.1, ema_momentum=0.9), "mse", metrics=["mae"], **options)
    for run in WAYS.values():
        run(model)
    return model


def values(model):
    return {
        path: variable.numpy()
        for part, prefix in ((model, ""), (model.optimizer, "optimizer/"))
        for path, variable in ((prefix + p, v) for p, v in part.named_variables().items())
    }


@pytest.mark.broad
@pytest.mark.parametrize(
    ("options", "way"),
    crossed([{}, {"steps_per_execution": 2}, {"run_eagerly": True}], ["deepcopy", "pickle"]),
    ids=str,
)
def test_whatever_a_copy_does_leaves_the_original_as_it_is(options, way):
    model = trained(**options)
    before = values(model)
    twin = copy.deepcopy(model) if way == "deepcopy" else pickle.loads(pickle.dumps(model))
    assert values(twin).keys() == before.keys()
    for name, run in WAYS.items():
        run(twin)
        for path, value in values(model).items():
            np.testing.assert_array_equal(value, before[path], err_msg=f"{name}: {path}")
    after = values(twin)
    assert any(not np.array_equal(after[path], before[path]) for path in before)
    for run in WAYS.values():
        run(model)
    for path, value in values(model).items():
        np.testing.assert_array_equal(value, after[path], err_msg=path)


class Copies(gx.Callback):
    """A callback that copies the model during training, and that cannot be copied itself."""

    def __init__(self, way):
        super().__init__()
        self.way, self.lock, self.twins = way, threading.Lock(), []

    def on_epoch_end(self, epoch, logs=None):
        twin = pickle.loads(pickle.dumps(self.model)) if self.way == "pickle" else copy.deepcopy(self.model)
        self.twins.append(twin)


@pytest.mark.parametrize("way", ["deepcopy", "pickle"])
def test_a_copy_takes_neither_callbacks_nor_data_along(way):
    class Data:
        def __len__(self):
            return 3

        def __getitem__(self, index):
            return X[2 * index : 2 * index + 2], Y[2 * index : 2 * index + 2]

        def __iter__(self):
            return (self[index] for index in range(len(self)))

    model, data, callback = gx.Sequential([layers.Dense(1)]), Data(), Copies(way)
    model.compile("sgd", "mse")
    history = model.fit(data, epochs=2, verbose=0, callbacks=[callback])
    first, second = callback.twins
    np.testing.assert_array_equal(values(second)["layers/0/kernel"], values(model)["layers/0/kernel"])
    assert not np.array_equal(values(first)["layers/0/kernel"], values(second)["layers/0/kernel"])
    first.fit(X, Y, verbose=0)
    gone = [weakref.ref(data), weakref.ref(callback)]
    del data, callback, first, second
    gc.collect()
    assert [one() for one in gone] == [None, None]
    assert history.params["epochs"] == 2
