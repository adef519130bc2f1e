"""Metrics that a step does not update are not among its numbers."""

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
