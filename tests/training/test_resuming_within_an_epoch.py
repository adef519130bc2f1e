"""An epoch that had begun when the run was saved begins once for Variables and what callbacks remember."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.callbacks import Callback, LambdaCallback, LearningRateScheduler, ModelCheckpoint

X = np.ones((20, 2), "float32")


class Killed(BaseException):
    """What a machine does not say."""


class Halves(Callback):
    """Changes a Variable, counts, and sets something up, when an epoch begins."""

    epochs = 0

    def on_epoch_begin(self, epoch, logs=None):
        self.model.optimizer.learning_rate = float(self.model.optimizer.learning_rate) / 2
        self.epochs, self.seen = self.epochs + 1, []

    def on_train_batch_end(self, batch, logs=None):
        self.seen.append(batch)

    def get_state(self):
        return {"epochs": self.epochs}

    def set_state(self, state):
        self.epochs = state["epochs"]


def rates_of(make, where, every, kill_at=None):
    model = gx.Sequential([layers.Dense(1)])
    model.compile(gx.optimizers.SGD(0.1), "mse")

    def kill(batch, logs):
        if kill_at == int(model.optimizer.iterations):
            raise Killed

    callback = make()
    history = model.fit(
        X,
        X[:, :1],
        batch_size=4,
        epochs=3,
        verbose=0,
        resume=where,
        callbacks=[callback, ModelCheckpoint(where, every=every), LambdaCallback(on_train_batch_end=kill)],
    )
    return history.history["learning_rate"], getattr(callback, "epochs", 3)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("every", [2, "epoch"])
@pytest.mark.parametrize("make", [lambda: LearningRateScheduler(lambda e, lr: lr * 0.5), Halves], ids=["ours", "own"])
def test_a_rate_that_is_halved_each_epoch_is_halved_once(tmp_path, make, every):
    with pytest.raises(Killed):
        rates_of(make, tmp_path, every, kill_at=8)
    rates, epochs = rates_of(make, tmp_path, every)
    np.testing.assert_allclose(rates, [0.05, 0.025, 0.0125], rtol=1e-6)
    assert epochs == 3


def test_in_a_session_too(tmp_path):
    def train(kill_at=None):
        w, optimizer = gx.Variable([4.0], name="w"), gx.optimizers.SGD(0.1)
        optimizer.build([w])
        begun = []

        def begin(epoch, logs):
            begun.append(epoch)
            optimizer.learning_rate = float(optimizer.learning_rate) / 2

        callbacks = [LambdaCallback(on_epoch_begin=begin), ModelCheckpoint(tmp_path, every=1)]
        with gx.training.session(callbacks, resume=tmp_path, w=w, optimizer=optimizer) as run:
            while run.epoch < 2:
                while run.steps < 3 * (run.epoch + 1):
                    run.step(lambda: w.assign(w / 2))
                    if run.steps == kill_at:
                        raise Killed
                run.end_epoch()
        return float(optimizer.learning_rate), begun

    with pytest.raises(Killed):
        train(kill_at=4)
    rate, begun = train()
    assert rate == pytest.approx(0.025)
    assert begun == [1]
