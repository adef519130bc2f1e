"""A resumed run trains what its program trains, unless the run that it resumes had frozen or unfrozen a part."""

import logging

import numpy as np
import pytest

import graftax as gx
from graftax import callbacks, layers

X = np.random.default_rng(0).normal(size=(32, 4)).astype("float32")
Y = X[:, :1]
FIRST = ["layers/0/kernel", "layers/0/bias"]


class Change(gx.callbacks.Callback):
    def __init__(self, freezes):
        self.freezes = freezes

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 1:
            (self.model.freeze if self.freezes else self.model.unfreeze)("layers/0/**")


def made(frozen, is_built=True):
    gx.set_random_seed(0)
    first = layers.Dense(8, trainable=frozen != "constructor")
    given = [gx.Input((4,))] if is_built else []
    model = gx.Sequential([*given, first, layers.BatchNormalization(), layers.Dense(1)])
    if frozen == "attribute":
        first.trainable = False
    if frozen == "freeze":
        model.freeze("layers/0/**")
    return model


def train(folder, epochs, frozen, change=None, is_built=True):
    model = made(frozen, is_built)
    model.compile(gx.optimizers.Adam(0.1), "mse")
    saver = callbacks.ModelCheckpoint(folder)
    model.fit(X, Y, epochs=epochs, verbose=0, resume=folder, callbacks=[saver, *([change] if change else [])])
    return model


def is_trained(model):
    return {*FIRST} <= {v.path for v in model.trainable_variables}


HOWS = [("constructor", True), ("constructor", False), ("attribute", True), ("attribute", False), ("freeze", True)]


@pytest.mark.parametrize(("how", "is_built"), HOWS)
@pytest.mark.parametrize("was_frozen", [False, True])
def test_what_the_program_freezes_now_counts(how, is_built, was_frozen, tmp_path, caplog):
    before, after = (how, "no") if was_frozen else ("no", how)
    first = train(tmp_path, 2, before, is_built=is_built)
    with caplog.at_level(logging.INFO, logger="graftax"):
        second = train(tmp_path, 3, after, is_built=is_built)
    assert "the program freezes and trains other parts than that run: model/layers/0" in caplog.text
    moved = not np.array_equal(first.layers[0].kernel, second.layers[0].kernel)
    assert moved == was_frozen == is_trained(second)
    third = train(tmp_path, 4, after, is_built=is_built)
    assert np.array_equal(third.layers[0].kernel, second.layers[0].kernel) != was_frozen
    np.testing.assert_array_equal(first.layers[1].moving_mean == second.layers[1].moving_mean, False)


@pytest.mark.parametrize("is_built", [True, False], ids=["built", "later"])
@pytest.mark.parametrize("freezes", [True, False])
def test_what_callbacks_have_changed_stays_changed(freezes, is_built, tmp_path):
    start = "no" if freezes else "constructor"
    whole = train(tmp_path / "whole", 4, start, Change(freezes), is_built)
    train(tmp_path / "parts", 2, start, Change(freezes), is_built)
    resumed = train(tmp_path / "parts", 4, start, Change(freezes), is_built)
    assert is_trained(resumed) != freezes
    for one, other in zip(whole.variables, resumed.variables, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("freezes", [True, False])
def test_a_program_that_does_what_a_callback_has_done_changes_nothing(freezes, tmp_path):
    before, after = ("no", "freeze") if freezes else ("freeze", "no")
    assert is_trained(train(tmp_path, 2, before, Change(freezes))) != freezes
    assert is_trained(train(tmp_path, 3, before)) != freezes
    assert is_trained(train(tmp_path, 4, after)) != freezes


def step_of(model, optimizer):
    @gx.jit
    def step(x, y):
        return optimizer.minimize(lambda: gx.ops.mean((model(x, training=True) - y) ** 2), model.trainable_variables)

    return step


@pytest.mark.parametrize("is_built", [True, False], ids=["built", "later"])
@pytest.mark.parametrize("was_frozen", [False, True])
def test_sessions(was_frozen, is_built, tmp_path):
    def run(frozen, epochs):
        model, optimizer = made(frozen, is_built), gx.optimizers.Adam(0.1)
        saver = callbacks.ModelCheckpoint(tmp_path)
        with gx.training.session([saver], resume=tmp_path, model=model, optimizer=optimizer) as session:
            model(X)  # what is not built gets its saved values here
            step = step_of(model, optimizer)
            while session.epoch < epochs:
                session.end_epoch({"loss": session.step(step, X, Y)})
        return model

    before, after = ("constructor", "no") if was_frozen else ("no", "constructor")
    first, second = run(before, 2), run(after, 3)
    assert np.array_equal(first.layers[0].kernel, second.layers[0].kernel) != was_frozen
    assert is_trained(second) == was_frozen


def test_a_finished_run_tells_that_this_program_freezes_other_parts(tmp_path):
    train(tmp_path, 2, "no")
    with pytest.warns(UserWarning, match="nothing left to do.*model/layers/0/kernel frozen.* in this program"):
        model = train(tmp_path, 2, "freeze")
    assert not is_trained(model)


@pytest.mark.parametrize("is_built", [True, False], ids=["built", "later"])
@pytest.mark.parametrize("was_frozen", [False, True])
@pytest.mark.parametrize("kind", ["list", "dict", "slash", "tied"])
def test_roots_and_paths_of_all_kinds(kind, was_frozen, is_built, tmp_path):
    """Parts in lists and dicts, keys with a slash, and layers that are found first by another way."""

    class Tied(gx.Module):
        def __init__(self, layer):
            self.deep = [[layer]]
            self.direct = layer

    class Keyed(gx.Module):
        def __init__(self, layer):
            self.layers = {"x/y": layer}

    def run(frozen, epochs):
        layer = layers.Dense(2, trainable=not frozen)
        if is_built:
            layer.build((None, 4))
        roots = {"list": [layer], "dict": {"a": layer}, "slash": Keyed(layer), "tied": Tied(layer)}
        saver = callbacks.ModelCheckpoint(tmp_path)
        with gx.training.session([saver], resume=tmp_path, parts=roots[kind]) as session:
            while session.epoch < epochs:
                session.step(lambda: {"loss": gx.ops.sum(layer(X))})
                session.end_epoch()
        return layer.kernel.trainable, layer.trainable

    assert run(was_frozen, 1) == (not was_frozen,) * 2
    assert run(not was_frozen, 2) == (was_frozen,) * 2
    assert run(not was_frozen, 3) == (was_frozen,) * 2
