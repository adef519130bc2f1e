"""Weights and metrics that a step of the user's drops: refused if given by an argument, else said once."""

import re
import warnings

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import DataError

X = np.linspace(-1, 1, 24, dtype="float32").reshape(12, 2)
Y = (X[:, :1] > 0).astype("float32")
W = np.linspace(0.5, 2, 12, dtype="float32")


class Line(gx.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(1)

    def call(self, x):
        return self.dense(x)


class Drops(Line):
    def train_step(self, data):
        x, y = data[0], data[1]
        return {"loss": self.optimizer.minimize(lambda: ops.mean((self(x) - y) ** 2), self.trainable_variables)}


class Starred(Drops):
    def train_step(self, data):
        x, y, *_ = data
        return super().train_step((x, y))


class OwnTest(Line):
    def test_step(self, data):
        x, y, *_ = data
        return {"loss": ops.mean((self(x) - y) ** 2)}


class OwnLoss(Line):
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None):
        return ops.mean((y - y_pred) ** 2)


class OwnMetrics(Line):
    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        return {"gap": ops.mean(y - y_pred)}


class Uses(Line):
    def train_step(self, data):
        x, y, w = data

        def forward():
            y_pred = self(x, training=True)
            return self.compute_loss(x, y, y_pred, w), y_pred

        loss, y_pred = self.optimizer.minimize(forward, self.trainable_variables, has_aux=True)
        return {"loss": loss, **self.compute_metrics(x, y, y_pred, w)}


class Half(Drops):
    def train_step(self, data):
        x, y, w = data
        loss = self.optimizer.minimize(lambda: ops.mean(w["a"] * (self(x) - y) ** 2), self.trainable_variables)
        return {"loss": loss}


def compiled(kind, **options):
    model = kind()
    uses_none = issubclass(kind, Drops | OwnLoss)
    model.compile(gx.optimizers.SGD(0.1), **{"loss": None if uses_none else "mse", **options})
    model(X)
    return model


def texts(run):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run()
    return [str(one.message) for one in found]


@pytest.mark.broad
@pytest.mark.parametrize("kind", [Drops, Starred, OwnLoss])
def test_weights_given_to_fit(kind):
    model = compiled(kind)
    before = model.dense.kernel.numpy()
    own = "compute_loss" if kind is OwnLoss else "train_step"
    with pytest.raises(DataError, match=rf"(?s)^sample_weight= .* its own {own}.*{kind.__name__}\.{own} does not use"):
        model.fit(X, Y, sample_weight=W, verbose=0)
    with pytest.raises(DataError, match="(?s)^class_weight= .*or without class_weight="):
        model.fit(X, Y[:, 0], class_weight={0: 1.0, 1: 9.0}, verbose=0)
    with pytest.raises(DataError, match="^sample_weight= and class_weight= "):
        model.train_on_batch(X, Y[:, 0], W, class_weight={1: 9.0})
    np.testing.assert_array_equal(model.dense.kernel.numpy(), before)
    assert texts(lambda: model.fit(X, Y, verbose=0)) == []


@pytest.mark.broad
def test_weights_given_to_several_steps_in_one_run():
    with pytest.raises(DataError, match=r"^sample_weight="):
        compiled(Drops, steps_per_execution=2).fit(X, Y, sample_weight=W, batch_size=4, verbose=0)


@pytest.mark.broad
def test_weights_given_to_evaluate():
    model = compiled(OwnTest)
    with pytest.raises(DataError, match=r"^sample_weight= .*\n.*\n.*OwnTest\.test_step does not use"):
        model.evaluate(X, Y, sample_weight=W, verbose=0)
    with pytest.raises(DataError, match=r"^sample_weight="):
        model.test_on_batch(X, Y, W)
    found = texts(lambda: model.fit(X, Y, sample_weight=W, validation_data=(X, Y, W), epochs=2, verbose=0))
    assert len(found) == 1
    assert "OwnTest.test_step" in found[0]


@pytest.mark.broad
@pytest.mark.parametrize("kind", [Drops, OwnLoss])
def test_weights_in_batches_are_said_once(kind):
    batches = [(X[:6], Y[:6], W[:6]), (X[6:], Y[6:], W[6:])]
    found = texts(lambda: compiled(kind).fit(batches, epochs=3, verbose=0))
    assert len(found) == 1
    assert re.search(r"the batches have sample weights\. .* does not use them.*Instead: ", found[0])


@pytest.mark.broad
def test_one_of_several_weights():
    with pytest.raises(DataError, match=r"^sample_weight= of 'b' for"):
        compiled(Half).fit(X, Y, sample_weight={"a": W, "b": W}, verbose=0)


@pytest.mark.broad
@pytest.mark.parametrize(
    "metrics", [["mae"], [gx.metrics.MeanAbsoluteError()], [lambda y_true, y_pred: y_pred - y_true]]
)
@pytest.mark.parametrize("given", ["metrics", "weighted_metrics"])
def test_metrics_that_the_step_never_updates(metrics, given):
    found = texts(lambda: compiled(Drops, **{given: metrics}).fit(X, Y, epochs=2, verbose=0))
    assert len(found) == 1
    assert re.match(r"metrics of compile: '.*'\. Drops\.train_step never updates them.*self\.compute_metrics", found[0])


@pytest.mark.broad
def test_metrics_that_the_validation_shows():
    model = compiled(Drops, metrics=["mae"], loss="mse")
    assert texts(lambda: model.fit(X, Y, validation_data=(X, Y), verbose=0)) == []
    assert "val_mae" in model.history.history


@pytest.mark.broad
def test_metrics_that_neither_training_nor_validation_updates():
    class Both(Drops):
        test_step = OwnTest.test_step

    found = texts(lambda: compiled(Both, metrics=["mae"]).fit(X, Y, epochs=2, validation_data=(X, Y), verbose=0))
    assert len(found) == 1
    assert "Both.test_step never updates them" in found[0]
    assert texts(lambda: compiled(OwnTest, metrics=["mae"]).fit(X, Y, validation_data=(X, Y), verbose=0)) == []


@pytest.mark.broad
def test_metrics_that_an_own_compute_metrics_drops():
    found = texts(lambda: compiled(OwnMetrics, metrics=["mae"]).fit(X, Y, verbose=0))
    assert len(found) == 1
    assert "OwnMetrics.compute_metrics never updates them" in found[0]
    assert "super().compute_metrics(" in found[0]


@pytest.mark.broad
@pytest.mark.parametrize("together", [1, 2])
def test_steps_that_use_all_are_let_alone(together):
    model = compiled(Uses, metrics=["mae"], weighted_metrics=["mse"], steps_per_execution=together)
    found = texts(lambda: model.fit(X, Y, sample_weight=W, batch_size=4, epochs=2, verbose=0))
    assert found == []
    assert {"mae", "mse"} <= set(model.history.history)


@pytest.mark.broad
def test_a_metric_that_the_step_updates_itself():
    class Counts(Drops):
        def train_step(self, data):
            shown.update(data[1], self(data[0]))
            return {**super().train_step(data), "mae": shown.result()}

    shown = gx.metrics.MeanAbsoluteError()
    assert texts(lambda: compiled(Counts, metrics=[shown]).fit(X, Y, verbose=0)) == []
