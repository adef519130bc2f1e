"""Callbacks that keep weights beside `SwapAverages`: what was monitored is what comes back, in any order."""

import itertools

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.callbacks import EarlyStopping, ModelCheckpoint, SwapAverages

DRAW = np.random.default_rng(0)
X, Y = (DRAW.normal(size=(24, n)).astype("float32") for n in (3, 1))
XV, YV = (DRAW.normal(size=(9, n)).astype("float32") for n in (3, 1))

OPTIMIZERS = {
    "ema": lambda: gx.optimizers.SGD(0.3, momentum=0.9, ema_momentum=0.8),
    "its own": lambda: gx.optimizers.ScheduleFreeSGD(0.9),
    "around": lambda: gx.optimizers.Lookahead(gx.optimizers.SGD(0.3, momentum=0.9, ema_momentum=0.8)),
}


def make(optimizer="ema"):
    gx.set_random_seed(0)
    model = gx.Sequential([gx.Input((3,)), layers.Dense(4, activation="tanh"), layers.Dense(1)])
    model.compile(OPTIMIZERS[optimizer](), "mse")
    return model


def fit(model, callbacks, epochs=6, **options):
    return model.fit(
        X, Y, batch_size=8, epochs=epochs, verbose=0, validation_data=(XV, YV), callbacks=callbacks, **options
    )


def kept(model):
    return [v.numpy() for v in [*model.variables, *model.optimizer.variables]]


@pytest.mark.broad
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_model_is_what_was_monitored(optimizer, tmp_path):
    ends = []
    for order in itertools.permutations(range(3)):
        model, stop = make(optimizer), EarlyStopping(patience=30, restore_best_weights=True)
        callbacks = [stop, SwapAverages(), ModelCheckpoint(tmp_path / str(order))]
        history = fit(model, [callbacks[i] for i in order])
        assert stop.best_epoch not in (None, 5)  # else any order would do
        assert model.evaluate(XV, YV, verbose=0)["loss"] == pytest.approx(min(history.history["val_loss"]), rel=1e-6)
        ends.append(kept(model))
    for end in ends[1:]:
        for one, other in zip(ends[0], end, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.broad
def test_original_weights_are_restored_if_the_averages_are_not_wanted_at_the_end():
    for order in (1, -1):
        model, stop, seen = make(), EarlyStopping(patience=30, restore_best_weights=True), []

        class Look(gx.Callback):
            def on_epoch_end(self, epoch, logs=None):
                seen.append([v.numpy() for v in self.model.variables])  # noqa: B023 - called in this turn

        fit(model, [*[stop, SwapAverages(at_end=False)][::order], Look()])
        for one, other in zip(seen[stop.best_epoch], model.variables, strict=True):
            np.testing.assert_array_equal(one, other.numpy())


@pytest.mark.broad
def test_the_best_checkpoint_has_the_averages_that_were_monitored(tmp_path):
    model = make()
    history = fit(model, [SwapAverages(), ModelCheckpoint(tmp_path, monitor="val_loss", keep_best=1, keep=1)])
    again = make()
    best = gx.CheckpointManager(tmp_path, monitor="val_loss").best()
    gx.Checkpoint(model=again, optimizer=again.optimizer).restore(best.path)
    again.optimizer.assign_averages()
    assert again.evaluate(XV, YV, verbose=0)["loss"] == pytest.approx(min(history.history["val_loss"]), rel=1e-6)
