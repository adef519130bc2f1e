"""Metrics that a step does not update are not among its numbers."""

import re
import textwrap
import warnings

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.callbacks import EarlyStopping
from graftax.core.errors import DataError

X = np.random.default_rng(0).normal(size=(12, 3)).astype("float32")
Y = X[:, :1] > 0


class Gaps(gx.Model):
    """Its own step updates one metric, its call in training another, its call in general a third, and none a fourth."""

    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(1)
        self.gap, self.trained = gx.metrics.Mean(name="gap"), gx.metrics.Mean(name="trained")
        self.seen, self.idle = gx.metrics.FalsePositives(name="seen"), gx.metrics.Mean(name="idle")

    def call(self, x, training=False):
        if training:
            self.trained.update(ops.mean(x))
        self.seen.update(ops.zeros((len(x), 1)), ops.zeros((len(x), 1)))  # which finds none, and stays at 0
        return self.dense(x)


class Own(Gaps):
    def train_step(self, batch):
        x, y = batch
        loss = self.optimizer.minimize(lambda: ops.mean((self(x, training=True) - y) ** 2), self.trainable_variables)
        self.gap.update(loss)
        return {"loss": loss, "gap": self.gap.result()}


class After(Gaps):
    def train_step(self, batch):
        self.gap.update(ops.mean(batch[0]))
        return super().train_step(batch)


class Measures(Own):
    def test_step(self, batch):
        self.idle.update(ops.mean(batch[0]))
        return super().test_step(batch)


def numbers(kind, options, data=None, **more):
    model = kind()
    model.compile("sgd", "mse", metrics=["mae"], **options)
    data = {"x": X, "y": Y.astype("float32")} if data is None else data
    validation = (X, Y.astype("float32"))
    history = model.fit(**data, batch_size=4, epochs=2, verbose=0, validation_data=validation, **more).history
    return set(history) - {"learning_rate"}, model


WAYS = [{}, {"run_eagerly": True}, {"steps_per_execution": 3}]
TESTED = {"val_loss", "val_mae", "val_seen"}


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("options", WAYS, ids=["compiled", "eager", "together"])
@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        (Gaps, {"loss", "mae", "seen", "trained"} | TESTED),
        (Own, {"loss", "gap"} | TESTED),
        (After, {"loss", "mae", "gap", "seen", "trained", "idle"} | TESTED),
        (Measures, {"loss", "gap", "val_idle", "val_gap", "val_trained"} | TESTED),  # its own step says what it shows
    ],
)
def test_a_step_shows_what_it_updates(kind, wanted, options):
    found, model = numbers(kind, options)
    assert found == wanted
    evaluated = model.evaluate(X, Y.astype("float32"), verbose=0)
    assert {f"val_{name}" for name in evaluated} == {name for name in wanted if name.startswith("val_")}


def test_what_a_validation_never_updates_cannot_be_monitored():
    with pytest.raises(DataError, match="val_gap"):
        numbers(Own, {}, callbacks=[EarlyStopping("val_gap", mode="min")])


# --- the mean of the loss ---------------------------------------------------------------------------------------------

LINE = "return {'loss': loss, **self.compute_metrics(x, y, y_pred, sample_weight)}"
TRAIN = """
def train_step(self, batch):
    x, y = batch
    sample_weight = None

    def forward():
        y_pred = self(x, training=True)
        return ops.mean((y_pred - y) ** 2), y_pred

    loss, y_pred = self.optimizer.minimize(forward, self.trainable_variables, has_aux=True)
    {line}
"""


def model_with(line, options, **methods):
    names = {"ops": ops}
    exec(TRAIN.format(line=line), names)
    kind = type("Lined", (gx.Sequential,), {"train_step": names["train_step"], **methods})
    gx.set_random_seed(0)
    model = kind([layers.Dense(1)])
    model.compile(gx.optimizers.SGD(0.01), "mse", metrics=["mae"], **options)
    return model


def loss_of(model):
    return model.fit(X, Y.astype("float32"), batch_size=12, epochs=2, verbose=0).history["loss"]


@pytest.mark.broad
@pytest.mark.parametrize("options", WAYS, ids=["compiled", "eager", "together"])
def test_the_line_that_the_warning_names_shows_the_loss(options):
    without = model_with("return {'loss': loss}", options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        expected = loss_of(without)
    assert all(expected)
    if "run_eagerly" not in options:
        found = [str(one.message) for one in caught]
        assert re.search(r"Instead: (return .*)", found[0])[1] == LINE
    with_line = model_with(LINE, options)
    assert loss_of(with_line) == expected
    assert "mae" in with_line.history.history


def test_a_step_that_measures_no_loss_shows_none():
    model = model_with("return self.compute_metrics(x, y, y_pred)", {})
    assert "loss" not in model.fit(X, Y.astype("float32"), verbose=0).history
    assert set(model.compute_metrics(X, Y.astype("float32"), model(X))) == {"mae"}


@pytest.mark.broad
@pytest.mark.parametrize("place", ["before", "after"])
def test_a_step_that_updates_the_mean_itself_shows_it(place):
    update = "self.metrics[0].update(loss)"
    numbers = "found = self.compute_metrics(x, y, y_pred)"
    lines = [update, numbers] if place == "before" else [numbers, update]
    line = textwrap.indent("\n".join([*lines, "return found"]), " " * 4).strip()
    history = model_with(line, {}).fit(X, Y.astype("float32"), verbose=0).history
    assert ("loss" in history) == (place == "before")


@pytest.mark.broad
def test_the_losses_of_outputs_are_those_of_this_step():
    class Two(gx.Model):
        def __init__(self):
            super().__init__()
            self.a, self.b = layers.Dense(1), layers.Dense(1)

        def call(self, x):
            return {"a": self.a(x), "b": self.b(x)}

        def train_step(self, batch):
            x, y = batch

            def forward():
                y_pred = self(x, training=True)
                return ops.mean((y_pred["a"] - y["a"]) ** 2), y_pred

            loss, y_pred = self.optimizer.minimize(forward, self.trainable_variables, has_aux=True)
            return {"loss": loss, **self.compute_metrics(x, y, y_pred)}

    model, y = Two(), {"a": Y.astype("float32"), "b": Y.astype("float32")}
    model.compile(gx.optimizers.SGD(0.01), {"a": "mse", "b": "mse"}, metrics={"a": ["mae"]})
    assert {"a_loss", "b_loss", "loss", "a_mae"} <= set(model.evaluate(X, y, verbose=0))
    with pytest.warns(UserWarning, match="no gradient for b/kernel"):  # its loss is of the other output alone
        found = model.fit(X, y, verbose=0).history
    assert {name for name in found if name.endswith("loss")} == {"loss"}
    assert found["loss"][0] > 0
