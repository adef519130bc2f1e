"""Callbacks of learning rates and averages for a model whose train_step has several optimizers."""

import numpy as np
import pytest

import graftax as gx
from graftax import callbacks, layers, ops
from graftax.errors import ArgumentTypeError, StateError

X = np.random.default_rng(0).normal(size=(8, 2)).astype("float32")
MAKE = {
    "LearningRateScheduler": lambda **o: callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2, **o),
    "ReduceLROnPlateau": lambda **o: callbacks.ReduceLROnPlateau("loss", 0.5, 0, min_delta=100.0, **o),
    "SwapAverages": lambda **o: callbacks.SwapAverages(**o),
}


class Pair(gx.Model):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = layers.Dense(1), layers.Dense(1)
        self.of_first = gx.optimizers.SGD(0.5, ema_momentum=0.9)
        self.of_second = gx.optimizers.Adam(0.5, ema_momentum=0.9)

    def call(self, x):
        return self.first(x) + self.second(x)

    def train_step(self, batch):
        x, *_ = batch
        loss = lambda: ops.mean(self(x, training=True) ** 2)  # noqa: E731
        self.of_first.minimize(loss, self.first)
        return {"loss": self.of_second.minimize(loss, self.second)}

    def test_step(self, batch):
        x, *_ = batch
        return {"loss": ops.mean(self(x, training=False) ** 2)}


def pair() -> Pair:
    gx.set_random_seed(0)
    model = Pair()
    model.compile()
    model(X)
    return model


@pytest.mark.broad
@pytest.mark.parametrize("name", MAKE)
def test_none_is_guessed(name):
    with pytest.raises(StateError, match=rf"{name} of a model whose model.optimizer is None(.|\n)*optimizer=gan\."):
        pair().fit(X, epochs=1, verbose=0, callbacks=[MAKE[name]()])
    with pytest.raises(ArgumentTypeError, match=rf"{name} got optimizer='adam'"):
        MAKE[name](optimizer="adam")


@pytest.mark.broad
@pytest.mark.parametrize("name", ["LearningRateScheduler", "ReduceLROnPlateau"])
def test_each_rate_has_its_callback(name):
    model = pair()
    model.fit(X, epochs=3, verbose=0, callbacks=[MAKE[name](optimizer=model.of_second)])
    assert float(model.of_first.learning_rate) == 0.5
    assert float(model.of_second.learning_rate) == (0.0625 if name == "LearningRateScheduler" else 0.125)


@pytest.mark.broad
def test_averages_of_both():
    model, plain = pair(), pair()
    both = [callbacks.SwapAverages(optimizer=one) for one in (model.of_first, model.of_second)]
    model.fit(X, epochs=3, verbose=0, callbacks=both, validation_data=(X,), shuffle=False)
    plain.fit(X, epochs=3, verbose=0, shuffle=False)
    for one in (plain.of_first, plain.of_second):
        one.assign_averages()
    for path, value in gx.state(plain).items():
        np.testing.assert_array_equal(gx.state(model)[path], value, err_msg=path)


@pytest.mark.broad
def test_early_stopping_leaves_the_averages_of_both():
    model, plain = pair(), pair()
    both = [callbacks.SwapAverages(optimizer=one) for one in (model.of_first, model.of_second)]
    stopping = callbacks.EarlyStopping("loss", patience=5, mode="max", restore_best_weights=True)  # the first is best
    model.fit(X, epochs=3, verbose=0, callbacks=[*both, stopping])
    plain.fit(X, epochs=1, verbose=0)
    for one in (plain.of_first, plain.of_second):
        one.assign_averages()
    for part in ("first/kernel", "second/kernel"):
        np.testing.assert_allclose(gx.state(model)[part], gx.state(plain)[part], rtol=1e-6)


@pytest.mark.broad
def test_a_run_with_them_is_resumed(tmp_path):
    def run(epochs: int) -> Pair:
        model = pair()
        given = [MAKE[name](optimizer=model.of_second) for name in MAKE]
        model.fit(X, epochs=epochs, verbose=0, callbacks=[*given, callbacks.ModelCheckpoint(tmp_path)], resume=tmp_path)
        return model

    run(1)
    resumed = run(3)
    assert float(resumed.of_second.learning_rate) == 0.5 / 2**3 / 2**2
