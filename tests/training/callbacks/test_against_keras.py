"""Callbacks of Keras run in fit, and decide as ours do."""

import numpy as np
import pytest

from graftax.callbacks import EarlyStopping, LambdaCallback, ReduceLROnPlateau
from tests.training.lines import X, Y, line


def epochs_of(values, callback):
    numbers = iter(values)
    tell = LambdaCallback(on_epoch_end=lambda epoch, logs: logs.update(val_loss=next(numbers)))
    model = line(1.0)
    history = model.fit(X * 0, Y, epochs=len(values), verbose=0, callbacks=[tell, callback])
    return history.epoch, history.history.get("learning_rate")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "options", [{"patience": 1}, {"patience": 2, "min_delta": 0.2}, {"patience": 3, "baseline": 0.3}]
)
def test_early_stopping(keras, seed, options):
    values = np.random.default_rng(seed).uniform(size=12).tolist()
    theirs = keras.callbacks.EarlyStopping("val_loss", **options)
    assert epochs_of(values, EarlyStopping("val_loss", **options))[0] == epochs_of(values, theirs)[0]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("options", [{"patience": 1}, {"patience": 2, "cooldown": 2}, {"patience": 1, "min_lr": 0.1}])
def test_reduce_lr_on_plateau(keras, seed, options):
    values = np.random.default_rng(seed).uniform(size=12).tolist()
    options = {"factor": 0.5, **options}
    ours = epochs_of(values, ReduceLROnPlateau("val_loss", **options))[1]
    theirs = epochs_of(values, keras.callbacks.ReduceLROnPlateau("val_loss", **options))[1]
    assert ours == theirs


def test_best_weights_and_other_callbacks_of_keras(keras, tmp_path):
    values = iter([3.0, 1.0, 2.0])
    steps = LambdaCallback(
        on_epoch_begin=lambda epoch, logs: model.variables[0].assign([[float(epoch)]]),
        on_epoch_end=lambda epoch, logs: logs.update(val_loss=next(values)),
    )
    model = line()
    model(X)
    theirs = [
        keras.callbacks.EarlyStopping(patience=9, restore_best_weights=True),
        keras.callbacks.CSVLogger(tmp_path / "log.csv"),
        keras.callbacks.TerminateOnNaN(),
        keras.callbacks.LearningRateScheduler(lambda epoch: 0.0),
        keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: None),
    ]
    history = model.fit(X, Y, epochs=3, verbose=0, callbacks=[steps, *theirs])
    np.testing.assert_array_equal(model.variables[0].numpy(), [[1.0]])
    assert history.history["learning_rate"] == [0.0] * 3
    assert (tmp_path / "log.csv").read_text().startswith("epoch,")
