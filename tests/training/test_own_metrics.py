"""Metrics that a model holds itself: they start over with each epoch, validation and evaluation, and are shown."""

import copy

import numpy as np
import pytest

import graftax as gx
from graftax import layers, metrics, ops

X = np.arange(4, dtype="float32")[:, None]
Y = np.zeros((4, 1), "float32")


class Counts(layers.Dense):
    """A layer that counts the rows it is called with."""

    def __init__(self, **options):
        super().__init__(1, use_bias=False, kernel_initializer="ones", **options)
        self.rows = metrics.Sum(name="rows")

    def call(self, x):
        self.rows.update(ops.ones(x.shape[:1]))
        return super().call(x)


class Steps(gx.Model):
    """A step of its own, with a metric as an attribute, as in guides to training loops."""

    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(1, use_bias=False, kernel_initializer="ones")
        self.seen = metrics.Sum(name="seen")

    def call(self, x):
        return self.dense(x)

    def train_step(self, batch):
        x, y = batch[:2]
        loss, gradients = gx.value_and_grad(lambda: ops.mean((self(x) - y) ** 2), wrt=self.trainable_variables)()
        self.optimizer.apply(gradients, self.trainable_variables)
        self.seen.update(ops.ones(x.shape[:1]))
        return {"own_loss": loss, "seen": self.seen.result()}

    def test_step(self, batch):
        self.seen.update(ops.ones(batch[0].shape[:1]))
        return {"seen": self.seen.result()}


class Property(Steps):
    """The same, with the metric out of sight, and a ``metrics`` that lists it."""

    def __init__(self):
        super().__init__()
        object.__setattr__(self, "hidden", (self.seen,))
        del self.seen
        object.__setattr__(self, "seen", self.hidden[0])

    @property
    def metrics(self):
        return [self.seen]


class VAE(gx.Model):
    """As in the guide of Keras: trackers, a ``metrics`` property, and no ``call``."""

    def __init__(self):
        super().__init__()
        self.encoder = gx.Sequential([layers.Dense(2)])
        self.decoder = gx.Sequential([layers.Dense(1)])
        self.total = metrics.Mean(name="loss")
        self.rows = metrics.Sum(name="rows")
        for part, width in ((self.encoder, 1), (self.decoder, 2)):
            part.build((None, width))

    @property
    def metrics(self):
        return [self.total]

    def train_step(self, batch):
        (x,) = batch

        def loss():
            return ops.mean((self.decoder(self.encoder(x)) - x) ** 2)

        found = self.optimizer.minimize(loss, self.trainable_variables)
        self.total.update(found)
        self.rows.update(ops.ones(x.shape[:1]))
        return {"loss": self.total.result(), "rows": self.rows.result()}


@pytest.mark.broad
@pytest.mark.parametrize("eagerly", [False, True])
@pytest.mark.parametrize("kind", [Steps, Property])
def test_t1_own_metrics_start_over_each_epoch_validation_and_evaluation(kind, eagerly):
    model = kind()
    model.compile(gx.optimizers.SGD(0.0), run_eagerly=eagerly)
    history = model.fit(X, Y, batch_size=2, epochs=3, validation_data=(X[:3], Y[:3]), verbose=0).history
    assert history["seen"] == [4, 4, 4]
    assert history["val_seen"] == [3, 3, 3]
    assert list(history) == ["own_loss", "seen", "val_seen", "learning_rate"]
    assert model.evaluate(X, Y, verbose=0) == {"seen": 4}
    assert model.evaluate(X, Y, verbose=0) == {"seen": 4}


@pytest.mark.broad
def test_t1_on_batch_they_start_over_unless_told():
    model = Steps()
    model.compile(gx.optimizers.SGD(0.0))
    assert model.train_on_batch(X, Y)["seen"] == 4
    assert model.train_on_batch(X[:3], Y[:3])["seen"] == 3
    assert model.train_on_batch(X, Y, reset_metrics=False)["seen"] == 7
    assert model.test_on_batch(X, Y)["seen"] == 4
    assert model.test_on_batch(X, Y, reset_metrics=False)["seen"] == 8


@pytest.mark.broad
def test_t1_metrics_in_layers_and_in_nested_models_are_found_reset_and_shown():
    inner = gx.Sequential([Counts()])
    model = gx.Sequential([inner])
    model.compile(gx.optimizers.SGD(0.0), "mse", ["mae"])
    history = model.fit(X, Y, batch_size=2, epochs=2, validation_data=(X[:3], Y[:3]), verbose=0).history
    assert history["rows"] == [4, 4]
    assert history["val_rows"] == [3, 3]
    assert list(history) == ["loss", "mae", "rows", "val_loss", "val_mae", "val_rows", "learning_rate"]
    assert model.evaluate(X, Y, verbose=0) == {"loss": 3.5, "mae": 1.5, "rows": 4}
    assert [m.name for m in model.metrics] == ["loss", "mae", "rows"]
    model.reset_metrics()
    assert [float(m.result()) for m in model.metrics] == [0, 0, 0]


@pytest.mark.broad
def test_t1_a_vae_whose_metrics_property_leaves_one_out():
    model = VAE()
    model.compile(gx.optimizers.SGD(0.01))
    history = model.fit(X, batch_size=2, epochs=3, verbose=0).history
    assert history["rows"] == [4, 4, 4]
    again = VAE()
    for a, b in zip(again.variables, model.variables, strict=True):
        a.assign(b)
    again.compile(gx.optimizers.SGD(0.0))
    alone = again.fit(X, batch_size=4, verbose=0).history["loss"][0]
    again.fit(X, batch_size=4, verbose=0)
    assert again.fit(X, batch_size=4, verbose=0).history["loss"] == [alone]


def test_t1_two_of_one_name_are_shown_by_their_paths_and_none_is_lost():
    model = gx.Sequential([Counts(), Counts()])
    model.compile(gx.optimizers.SGD(0.0), "mse")
    logs = model.evaluate(X, Y, verbose=0)
    assert logs == {"loss": 3.5, "layers/0/rows": 4, "layers/1/rows": 4}


def test_t1_a_metric_that_is_an_attribute_and_compiled_counts_once():
    model = gx.Sequential([layers.Dense(1, use_bias=False, kernel_initializer="ones")])
    model.error = metrics.MeanAbsoluteError(name="error")
    model.compile(gx.optimizers.SGD(0.0), "mse", [model.error])
    assert model.evaluate(X, Y, verbose=0) == {"loss": 3.5, "error": 1.5}
    assert len(model.metrics) == 2


class Ratio(metrics.Metric):
    """A metric made of metrics."""

    def __init__(self):
        super().__init__(name="ratio")
        self.above, self.below = metrics.Sum(), metrics.Sum()

    def update(self, y_true, y_pred, sample_weight=None):
        self.above.update(y_pred)
        self.below.update(ops.ones_like(y_pred))

    def result(self):
        return self.above.result() / self.below.result()


@pytest.mark.broad
def test_t1_a_metric_resets_the_metrics_that_it_holds():
    model = gx.Sequential([layers.Dense(1, use_bias=False, kernel_initializer="ones")])
    model.compile(gx.optimizers.SGD(0.0), "mse", [Ratio()])
    assert model.fit(X, Y, epochs=2, verbose=0).history["ratio"] == [1.5, 1.5]
    assert model.evaluate(X[:1], Y[:1], verbose=0)["ratio"] == 0
    alone = Ratio()
    alone.update(Y, X)
    alone.reset()
    alone.update(Y[:1], X[2:3])
    assert float(alone.result()) == 2


def test_t1_a_result_of_several_numbers_is_shown_under_its_keys():
    class Both(Ratio):
        def result(self):
            return {"above": self.above.result(), "below": self.below.result()}

    model = gx.Sequential([layers.Dense(1, use_bias=False, kernel_initializer="ones")])
    model.compile(gx.optimizers.SGD(0.0), "mse", [Both()])
    assert model.evaluate(X, Y, verbose=0) == {"loss": 3.5, "above": 6, "below": 4}


def test_t1_what_is_no_metric_is_refused():
    class Wrong(gx.Sequential):
        @property
        def metrics(self):
            return ["mae"]

    model = Wrong([layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.raises(TypeError, match="'mae'"):
        model.fit(X, Y, verbose=0)


def test_t1_before_compile_the_metrics_are_those_it_holds():
    model = gx.Sequential([Counts()])
    assert [metric.name for metric in model.metrics] == ["rows"]
    model(X)
    model.reset_metrics()
    assert float(model.layers[0].rows.result()) == 0


@pytest.mark.broad
def test_t1_steps_per_execution_and_copies():
    model = gx.Sequential([Counts()])
    model.compile(gx.optimizers.SGD(0.0), "mse", steps_per_execution=2)
    assert model.fit(X, Y, batch_size=1, epochs=2, verbose=0).history["rows"] == [4, 4]
    twin = copy.deepcopy(model)
    assert twin.fit(X[:3], Y[:3], batch_size=1, verbose=0).history["rows"] == [3]
    assert float(model.layers[0].rows.result()) == 4


def test_t1_the_same_numbers_as_keras(keras):
    options = {"batch_size": 2, "epochs": 3, "validation_data": (X[:3], Y[:3]), "shuffle": False, "verbose": 0}
    ours = gx.Sequential([layers.Dense(1, use_bias=False, kernel_initializer="ones")])
    theirs = keras.Sequential([keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")])
    ours.compile(gx.optimizers.SGD(0.01), "mse", ["mae"])
    theirs.compile(keras.optimizers.SGD(0.01), "mse", metrics=["mae"])
    found, expected = ours.fit(X, Y, **options).history, theirs.fit(X, Y, **options).history
    assert set(found) == {*expected, "learning_rate"}
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-5)
    assert ours.test_on_batch(X, Y) == pytest.approx(theirs.test_on_batch(X, Y, return_dict=True), rel=1e-5)
    assert ours.test_on_batch(X[:1], Y[:1]) == pytest.approx(theirs.test_on_batch(X[:1], Y[:1], return_dict=True))


@pytest.mark.broad
def test_metrics_of_one_name_that_no_attribute_holds_are_all_shown():
    listed = [metrics.Mean("a"), metrics.Mean("a"), metrics.Mean("loss")]

    class Lists(gx.Sequential):
        @property
        def metrics(self):
            return listed

        def train_step(self, batch):
            for number, metric in enumerate(listed, 1):
                metric.update(float(number))
            return super().train_step(batch)

    model = Lists([layers.Dense(1, use_bias=False, kernel_initializer="ones")])
    model.compile(gx.optimizers.SGD(0.0), "mse")
    history = model.fit(X, Y, verbose=0).history
    assert (history["a"], history["a_1"], history["loss"], history["loss_1"]) == ([1.0], [2.0], [3.5], [3.0])
