"""Callbacks that can do nothing in the run that they are given to are told, once; others are not."""

import numpy as np
import pytest

import graftax as gx
from graftax.callbacks import EarlyStopping, LambdaCallback, Profiler, ReduceLROnPlateau, SwapAverages

X = np.ones((4, 2), "float32")
Y = X[:, :1]


def fit(callback, epochs=3, **options):
    model = gx.Sequential([gx.layers.Dense(1)])
    model.compile(gx.optimizers.SGD(1e-3, ema_momentum=0.5), "mse")
    return model.fit(X, Y, epochs=epochs, verbose=0, callbacks=[callback], **options)


IDLE = {
    "start": (lambda: EarlyStopping("loss", start_from_epoch=3), "none is looked at"),
    "lowest rate": (lambda: ReduceLROnPlateau("loss", patience=1, min_lr=0.1), "does not get below min_lr"),
    "averages": (lambda: SwapAverages(at_end=False), "nothing is validated"),
    "trace": (lambda: Profiler(first_step=9), "ended after 3 steps"),
    "of evaluations": (lambda: LambdaCallback(on_test_end=lambda logs: None), "only with validation_data="),
    "of predictions": (lambda: LambdaCallback(on_predict_end=lambda logs: None), "those of predictions never"),
}


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", IDLE)
def test_what_does_nothing_is_told(name):
    make, reason = IDLE[name]
    with pytest.warns(UserWarning, match=f"does nothing in this run: .*{reason}.* Instead: ") as told:
        fit(make())
    assert len(told) == 1


ACTIVE = {
    "start": (lambda: EarlyStopping("loss", start_from_epoch=2), {}),
    "patience of a longer run": (lambda: EarlyStopping("loss", patience=9), {}),
    "rate of a longer run": (lambda: ReduceLROnPlateau("loss"), {}),
    "best weights": (lambda: EarlyStopping("loss", patience=9, restore_best_weights=True), {}),
    "rate": (lambda: ReduceLROnPlateau("loss", patience=2, min_lr=1e-4), {}),
    "averages at the end": (SwapAverages, {}),
    "averages": (lambda: SwapAverages(at_end=False), {"validation_data": (X, Y)}),
    "of evaluations": (lambda: LambdaCallback(on_test_end=lambda logs: None), {"validation_data": (X, Y)}),
    "of both": (lambda: LambdaCallback(on_predict_end=lambda logs: None, on_epoch_end=lambda epoch, logs: None), {}),
}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", ACTIVE)
def test_others_are_not(name):
    make, options = ACTIVE[name]
    fit(make(), **options)


@pytest.mark.broad
def test_a_run_that_is_over_when_it_is_resumed_is_not_told(tmp_path):
    for _ in range(2):
        saves = gx.callbacks.ModelCheckpoint(tmp_path / "run")
        model = gx.Sequential([gx.layers.Dense(1)])
        model.compile(gx.optimizers.SGD(1e-3), "mse")
        stop = EarlyStopping("loss", patience=1)
        model.fit(X, Y, epochs=2, verbose=0, callbacks=[stop, saves], resume=tmp_path / "run")
