"""Settings that a callback changes during training go on in a run that is resumed; others are the program's."""

import logging
from types import SimpleNamespace

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.callbacks import LambdaCallback, ModelCheckpoint
from graftax.training.settings import Settings

X = np.random.default_rng(0).normal(size=(16, 4)).astype("float32")
Y = X[:, :1].copy()


class Killed(BaseException):
    pass


class Beta(gx.Model):
    gamma = 0.0

    def __init__(self, beta=0.0):
        super().__init__()
        self.dense = layers.Dense(1)
        self.drop = layers.Dropout(0.0)
        self.beta, self.scales, self.weights_by_epoch = beta, {"g": 1.0}, [1.0]
        self.config = SimpleNamespace(alpha=0.0)

    def call(self, x, training=False):
        return self.dense(self.drop(x, training=training))

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None):
        error = self.scales["g"] * self.weights_by_epoch[0] * ops.mean((y - y_pred) ** 2)
        return error + (self.beta + self.gamma + self.config.alpha) * ops.sum(self.dense.kernel**2)


def item(container, key, value):
    container[key] = value


CHANGES = {
    "number": lambda model: setattr(model, "beta", 1.0),
    "default of the class": lambda model: setattr(model, "gamma", 1.0),
    "in place, dict": lambda model: item(model.scales, "g", 3.0),
    "in place, list": lambda model: item(model.weights_by_epoch, 0, 2.0),
    "of a plain object": lambda model: setattr(model.config, "alpha", 0.5),
    "of a layer": lambda model: setattr(model.drop, "rate", 0.5),
    "activation": lambda model: setattr(model.dense, "activation", "tanh"),
    "momentum": lambda model: setattr(model.optimizer, "momentum", 0.9),
    "clipping": lambda model: setattr(model.optimizer, "global_clipnorm", 0.01),
    "decay": lambda model: setattr(model.optimizer, "weight_decay", 0.5),
    "frozen": lambda model: setattr(model.dense.kernel, "trainable", False),
}


class Change(gx.Callback):
    def __init__(self, change):
        self.change = change

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 1:
            self.change(self.model)


def run(folder, change, kill_at=None, beta=0.0, epochs=3):
    gx.set_random_seed(3)
    model = Beta(beta)
    model.compile(gx.optimizers.SGD(0.1, momentum=0.5))

    def kill(batch, logs):
        if int(model.optimizer.iterations) == kill_at:
            raise Killed

    save = ModelCheckpoint(folder, every=3)
    watch = LambdaCallback(on_train_batch_end=kill)
    model.fit(
        X, Y, batch_size=8, epochs=epochs, verbose=0, resume=folder, callbacks=[Change(change), save, watch]
    )  # fmt: skip
    return model


def require_the_same(one, other):
    for value, another in zip(one.variables, other.variables, strict=True):
        np.testing.assert_array_equal(value.numpy(), another.numpy())


@pytest.mark.broad
@pytest.mark.in_turn(4)
@pytest.mark.parametrize("kind", CHANGES)
def test_it_goes_on(tmp_path, kind):
    whole = run(tmp_path / "whole", CHANGES[kind])
    for kill_at in (3, 5):  # and once more, in the resumed run
        with pytest.raises(Killed):
            run(tmp_path / "run", CHANGES[kind], kill_at)
    require_the_same(whole, run(tmp_path / "run", CHANGES[kind]))


@pytest.mark.broad
def test_the_log_tells_what_is_set(tmp_path, caplog):
    run(tmp_path, CHANGES["number"], epochs=2)
    caplog.set_level(logging.INFO, "graftax")
    run(tmp_path, lambda model: None)
    assert "model.beta = 1.0" in caplog.text


@pytest.mark.broad
def test_a_setting_that_no_callback_changed_is_that_of_the_program(tmp_path):
    run(tmp_path, lambda model: None, epochs=2)
    assert run(tmp_path, lambda model: None, beta=0.25).beta == 0.25


@pytest.mark.broad
def test_what_cannot_be_saved_is_told(tmp_path):
    run(tmp_path, lambda model: setattr(model.dense, "activation", lambda x: x), epochs=2)
    with pytest.warns(UserWarning, match=r"model/dense\.activation \(function\), which could not be saved"):
        run(tmp_path, lambda model: None)


@pytest.mark.broad
def test_a_toggle_at_the_beginning_of_an_epoch_happens_once(tmp_path):
    class Toggle(gx.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            self.model.beta += 1.0
            self.model.dense.bias.trainable = not self.model.dense.bias.trainable

    def fit(kill_at=None):
        model = Beta()
        model.compile(gx.optimizers.SGD(0.1))

        def kill(batch, logs):
            if int(model.optimizer.iterations) == kill_at:
                raise Killed

        model.fit(
            X, Y, batch_size=8, epochs=2, verbose=0, resume=tmp_path,
            callbacks=[Toggle(), LambdaCallback(on_train_batch_end=kill), ModelCheckpoint(tmp_path)],
        )  # fmt: skip
        return model.beta, model.dense.bias.trainable

    with pytest.raises(Killed):
        fit(kill_at=3)
    assert fit() == (2.0, True)


@pytest.mark.broad
def test_in_a_session(tmp_path):
    def train(steps):
        dropout, w = layers.Dropout(0.0), gx.Variable(1.0)
        with gx.training.session([ModelCheckpoint(tmp_path)], resume=tmp_path, drop=dropout, w=w) as here:
            before = dropout.rate
            while here.steps < steps:
                here.step(lambda: w.assign_add(1.0))
                dropout.rate = 0.5
        return before

    assert [train(2), train(3)] == [0.0, 0.5]


def test_attributes_that_building_sets_are_no_changes():
    class Own(layers.Layer):
        def build(self, input_shape):
            self.size, self.lock = input_shape[-1], object()

        def call(self, x):
            return x

    layer = Own()
    settings = Settings(lambda: {"model": layer})
    settings.note()
    layer(X)
    settings.note()
    assert settings.changed_values() == {"values": {}, "lost": {}, "written": []}
    layer.later = 3
    settings.note()
    assert settings.changed_values()["values"] == {"model.later": 3}


def test_an_object_in_a_list_counts_with_what_is_in_it():
    layer = layers.Dropout(0.1)
    layer.parts = [SimpleNamespace(k=1)]
    settings = Settings(lambda: {"model": layer})
    settings.note()
    layer.parts[0].k = 2
    assert settings.changed_values() == {"values": {}, "lost": {"model.parts": "list"}, "written": []}
