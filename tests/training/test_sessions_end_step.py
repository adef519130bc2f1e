"""`end_step` of a session with epochs, optimizers, failures and memory."""

import gc

import jax
import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.callbacks import ModelCheckpoint
from tests.training.test_sessions_between_steps import Killed, Loader


def train(folder, compiled, fails_at=None, last=True, every=10):
    """Three epochs of three steps; a batch is taken in front of each."""
    w, loader = gx.Variable(1.0), Loader()
    fails = [fails_at]

    def move(x):
        w.assign(0.9 * w + x)
        if not compiled and loader.place == fails[0]:
            raise Killed

    class Fails(gx.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            if compiled and loader.place == fails[0]:
                raise Killed

    step = gx.jit(move) if compiled else move
    callbacks = [ModelCheckpoint(folder, every=every), Fails()]
    with gx.training.session(callbacks, resume=folder, w=w, loader=loader) as run:
        while run.epoch < 3:
            while True:
                run.step(step, next(loader))
                is_last = loader.place % 3 == 0
                if not (is_last and last):
                    run.end_step()
                if is_last:
                    break
            run.end_epoch({"loss": 1.0})
            if last:
                run.end_step()
    return float(w), loader.place


@pytest.mark.parametrize("last", [False, True], ids=["before end_epoch", "behind end_epoch"])
@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
def test_epochs(compiled, last, tmp_path):
    whole = train(tmp_path / "whole", compiled, last=last)
    for fails_at in range(3, 10):
        folder = tmp_path / str(fails_at)
        with pytest.raises(Killed):
            train(folder, compiled, fails_at, last)
        assert gx.CheckpointManager(folder).latest().step == fails_at - 1
        assert train(folder, compiled, last=last) == whole, fails_at


def test_nothing_is_moved_where_nothing_is_due(tmp_path):
    moved = []

    class Told(Loader):
        def set_state(self, state):
            moved.append(state)
            super().set_state(state)

    w, loader = gx.Variable(1.0), Told()
    step = gx.jit(lambda x: w.assign_add(x))
    with gx.training.session([ModelCheckpoint(tmp_path, every=1000)], w=w, loader=loader) as run:
        for _ in range(20):
            run.step(step, next(loader))
            run.end_step()
    assert moved == []


def test_slots_that_change_between_steps_are_named(tmp_path):
    model, optimizer = gx.Sequential([layers.Dense(1)]), gx.optimizers.Adam(0.1)
    x = np.ones((2, 3), "float32")
    step = gx.jit(lambda: optimizer.minimize(lambda: ops.mean(model(x) ** 2), model))
    model(x)

    def loop():
        with gx.training.session([ModelCheckpoint(tmp_path, every=2)], model=model, optimizer=optimizer) as run:
            for _ in range(4):
                run.step(step)
                step()

    with pytest.warns(UserWarning, match=r"model/layers/0/kernel.*optimizer/iterations.*run.end_step"):
        loop()


@pytest.mark.parametrize("ends", [False, True])
def test_the_end_of_a_session_holds_no_earlier_values(ends, tmp_path):
    w = gx.Variable(np.zeros(100_003, "float32"))
    step = gx.jit(lambda: (w.assign_add(1.0), None)[1])
    with gx.training.session([ModelCheckpoint(tmp_path, every=2)], w=w) as run:
        for _ in range(2):
            run.step(step)
            if ends:
                run.end_step()
    step()
    gc.collect()
    assert sum(array.shape == (100_003,) for array in jax.live_arrays()) == 1
    assert run.steps == 2


def test_a_loop_that_fails_behind_its_first_step_is_saved(tmp_path):
    w = gx.Variable(0.0)

    def loop():
        with gx.training.session([ModelCheckpoint(tmp_path)], w=w) as run:
            run.step(lambda: w.assign_add(1.0))
            raise Killed

    with pytest.raises(Killed):
        loop()
    assert gx.CheckpointManager(tmp_path).latest().step == 1


def test_an_error_between_step_and_end_step_saves_nothing(tmp_path):
    w, mean = gx.Variable(0.0), gx.Variable(0.0)

    def loop():
        with gx.training.session([ModelCheckpoint(tmp_path, every=2)], w=w, mean=mean) as run:
            while True:
                run.step(lambda: w.assign_add(1.0))
                if run.steps == 6:
                    raise Killed  # whether the mean moves is not known
                mean.assign(0.5 * mean + 0.5 * w)
                run.end_step()

    with pytest.raises(Killed):
        loop()
    assert gx.CheckpointManager(tmp_path).latest().step == 4
