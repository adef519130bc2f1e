"""Ctrl-C anywhere: what is saved is one moment of the run, and nothing is lost or trained twice."""

import gc
import signal
import sys
import threading
import time

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.callbacks import LambdaCallback, ModelCheckpoint
from graftax.training.interrupts import Interrupts
from tests.interrupts import interrupts

X = np.random.default_rng(0).normal(size=(12, 2)).astype("float32")
Y = X[:, :1] * 2 + 1


failing = []
"""Not empty while steps are to fail."""


class Eager(gx.Sequential):
    """A step that fails after it has assigned."""

    def train_step(self, batch):
        found = super().train_step(batch)
        if failing:
            raise ZeroDivisionError
        return found


def made(kind=gx.Sequential, **options):
    gx.set_random_seed(3)
    model = kind([layers.Dense(2, activation="tanh"), layers.Dense(1)])
    model.compile(gx.optimizers.Adam(0.05), "mse", **options)
    return model


def fit(model, folder, *callbacks, epochs=2, **options):
    save = ModelCheckpoint(folder, every=1000)
    return model.fit(X, Y, batch_size=4, epochs=epochs, verbose=0, callbacks=[*callbacks, save], **options)


def saved(folder):
    """The steps that the latest checkpoint counts, and those that its weights have seen."""
    latest = gx.CheckpointManager(folder).latest()
    if latest is None:
        return None
    optimizer = gx.optimizers.Adam()
    gx.Checkpoint(optimizer=optimizer).restore(latest.path, mode="overlap")
    return latest.step, int(optimizer.iterations)


@pytest.mark.broad
@pytest.mark.parametrize("file", ["training/counted_steps.py", "compile/run.py", "training/position.py"])
def test_position_and_weights_are_those_of_one_step_wherever_it_comes(tmp_path, file):
    model = made()
    fit(model, tmp_path / "before", epochs=1)
    folders = iter(tmp_path / str(i) for i in range(1000))
    places = 0
    for places in interrupts(lambda: fit(model, next(folders), epochs=1), file):
        assert (found := saved(tmp_path / str(places - 1))) is None or found[0] == found[1], (places, found)
    assert places > 10 or "position" in file


@pytest.mark.broad
@pytest.mark.parametrize("steps", [1, 2])
def test_a_warning_that_is_raised_after_the_step_counts_it(tmp_path, steps):
    model, calls = made(steps_per_execution=steps), []
    fit(model, tmp_path / "before", epochs=1)

    def warn():
        calls.append(1)
        if len(calls) == 2:
            raise UserWarning("raised")

    model.objectives.warn_of_scores = warn
    with pytest.raises(UserWarning, match="raised"):
        fit(model, tmp_path / "run")
    step, iterations = saved(tmp_path / "run")
    assert step == iterations == int(model.optimizer.iterations)


@pytest.mark.broad
def test_an_eager_step_that_fails_after_it_has_assigned_is_saved_as_before_it(tmp_path):
    whole = made(Eager, run_eagerly=True)
    fit(whole, tmp_path / "whole")
    model = made(Eager, run_eagerly=True)

    def fail(batch, logs):
        failing[:] = [4] if int(model.optimizer.iterations) == 4 else []

    with pytest.raises(ZeroDivisionError):
        fit(model, tmp_path / "run", LambdaCallback(on_train_batch_begin=fail))
    failing.clear()
    assert saved(tmp_path / "run") == (4, 4)
    resumed = made(Eager, run_eagerly=True)
    fit(resumed, tmp_path / "run", resume=tmp_path / "run")
    for one, other in zip(whole.variables, resumed.variables, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


@pytest.mark.broad
@pytest.mark.parametrize("live", [True, False])
def test_nothing_is_saved_before_the_first_step(tmp_path, live):
    class Half(layers.Layer):
        interrupted = True

        def build(self, input_shape):
            self.kernel = self.add_weight((input_shape[-1], 1))
            if Half.interrupted:
                raise KeyboardInterrupt

        def call(self, x):
            return ops.matmul(x, self.kernel)

    def half():
        gx.set_random_seed(3)
        model = gx.Sequential([layers.Dense(2), Half()])
        model.compile("sgd", "mse")
        return model

    model = half()
    with pytest.raises(KeyboardInterrupt):
        fit(model, tmp_path, resume=tmp_path)
    assert saved(tmp_path) is None
    Half.interrupted = False
    model = model if live else half()
    fit(model, tmp_path, epochs=1, resume=tmp_path)
    assert saved(tmp_path) == (3, 3)


def collected(act):
    """Run a function as a callback of the garbage collector, which swallows what it raises."""

    def call(phase, info):
        gc.callbacks.remove(call)
        act()

    gc.callbacks.append(call)
    gc.collect()


@pytest.mark.broad
@pytest.mark.usefixtures("interruptible")
def test_it_is_not_lost_in_a_callback_of_the_garbage_collector(tmp_path):
    model, begun = made(), []

    def begin(batch, logs):
        begun.append(batch)
        collected(lambda: signal.raise_signal(signal.SIGINT))

    before = sys.unraisablehook
    with pytest.raises(KeyboardInterrupt):
        fit(model, tmp_path, LambdaCallback(on_train_batch_begin=begin))
    assert (begun, saved(tmp_path), sys.unraisablehook) == ([0], (1, 1), before)


def test_what_another_handler_raises_is_not_lost_either():
    def ended():
        raise SystemExit(3)

    with pytest.raises(SystemExit), Interrupts():
        collected(ended)


def test_errors_are_told_as_ever(monkeypatch):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)

    def fail():
        raise ZeroDivisionError

    with Interrupts():
        collected(fail)
    assert [one.exc_type for one in told] == [ZeroDivisionError]


@pytest.mark.broad
def test_handlers_of_the_user_stay(tmp_path):
    came, model = [], made()
    usual = signal.signal(signal.SIGINT, lambda *args: came.append(1))
    try:
        fit(model, tmp_path, LambdaCallback(on_train_batch_end=lambda b, logs: signal.raise_signal(signal.SIGINT)))
    finally:
        mine = signal.signal(signal.SIGINT, usual)
    assert len(came) == 6
    assert mine is not usual


@pytest.mark.broad
def test_fit_in_another_thread(tmp_path):
    before, found = sys.unraisablehook, []
    thread = threading.Thread(target=lambda: found.append(fit(made(), tmp_path)))
    thread.start()
    thread.join()
    assert len(found) == 1
    assert sys.unraisablehook is before


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
def test_at_random_moments_the_resumed_run_has_the_same_numbers(tmp_path):
    def run(folder, *callbacks):
        model = made()
        model.fit(
            X, Y, batch_size=1, epochs=30, verbose=0, resume=folder,
            callbacks=[ModelCheckpoint(folder, every=10**6), *callbacks],
        )  # fmt: skip
        return [v.numpy() for v in (*model.variables, *model.optimizer.variables)]

    whole = run(tmp_path / "whole")
    usual = signal.signal(signal.SIGALRM, lambda *args: signal.raise_signal(signal.SIGINT))
    draw = np.random.default_rng(1)
    try:
        for number in range(10):
            folder = tmp_path / str(number)

            def soon(batch, logs):
                if batch == 5:
                    signal.setitimer(signal.ITIMER_REAL, draw.uniform(0.001, 0.05))

            with pytest.raises(KeyboardInterrupt):
                run(folder, LambdaCallback(on_train_batch_begin=soon, on_train_end=lambda logs: time.sleep(1)))
            for one, other in zip(whole, run(folder), strict=True):
                np.testing.assert_array_equal(one, other)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, usual)
