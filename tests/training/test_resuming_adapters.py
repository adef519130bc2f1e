"""A resumed run uses the adapters that its program uses, unless the run that it resumes had chosen others."""

import logging

import numpy as np
import pytest

import graftax as gx
from graftax import callbacks, layers

X = np.random.default_rng(0).normal(size=(32, 4)).astype("float32")
Y = X[:, :1]


class Use(gx.callbacks.Callback):
    def __init__(self, *names):
        self.names = names

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 1:
            gx.adapters.use(self.model, *self.names)


def made(*names):
    gx.set_random_seed(0)
    model = gx.Sequential([gx.Input((4,)), layers.Dense(8), layers.Dense(1)])
    for name in ("a", "b"):
        gx.graft(model, gx.reparam.LoRA(2, name=name), where="**/kernel")
    gx.adapters.use(model, *names)
    return model


def train(folder, epochs, *names, change=None):
    model = made(*names)
    model.compile(gx.optimizers.Adam(0.1), "mse")
    saver = callbacks.ModelCheckpoint(folder)
    model.fit(X, Y, epochs=epochs, verbose=0, resume=folder, callbacks=[saver, *([change] if change else [])])
    return model


def in_use(model):
    return {tuple(kernel_of(layer).active) for layer in model.layers}


def kernel_of(layer):
    return vars(layer)["kernel"]


def test_adapters_that_the_program_uses_now_count(tmp_path, caplog):
    first = train(tmp_path, 2, "a")
    with caplog.at_level(logging.INFO, logger="graftax"):
        second = train(tmp_path, 3, "b")
    assert "the adapters in use are those of this program: model/layers/0/kernel with b" in caplog.text
    assert in_use(second) == {("b",)}
    for name, moved in (("a", False), ("b", True)):
        one, other = (kernel_of(model.layers[0]).adapters[name].up for model in (first, second))
        assert np.array_equal(one, other) != moved
    assert in_use(train(tmp_path, 4, "b")) == {("b",)}
    assert in_use(train(tmp_path, 5)) == {()}


def test_adapters_that_a_callback_has_chosen_stay(tmp_path):
    train(tmp_path / "whole", 4, "a", change=Use("b"))
    train(tmp_path / "parts", 2, "a", change=Use("b"))
    whole, parts = (train(tmp_path / name, 4, "a", change=Use("b")) for name in ("whole", "parts"))
    assert in_use(parts) == {("b",)}
    for one, other in zip(whole.variables, parts.variables, strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_both_have_chosen_is_warned_of(tmp_path):
    train(tmp_path, 2, "a", change=Use("b"))
    with pytest.warns(UserWarning, match=r"goes on with the adapters.*kernel with b, and not none.*on_train_begin"):
        assert in_use(train(tmp_path, 3)) == {("b",)}


def test_a_session_whose_layers_are_built_later_uses_those_of_the_program(tmp_path):
    """The creator of the program says which adapters a weight has, as soon as it is made."""

    class Resting(gx.reparam.LoRA):
        def __call__(self, next_creator, spec):
            weight = super().__call__(next_creator, spec)
            weight.switch(())
            return weight

    def run(creator, epochs):
        gx.set_random_seed(0)
        with gx.variable_creator_scope(creator, where="**/kernel"):
            model, optimizer = gx.Sequential([layers.Dense(8), layers.Dense(1)]), gx.optimizers.Adam(0.1)
            saver = callbacks.ModelCheckpoint(tmp_path)
            with gx.training.session([saver], resume=tmp_path, model=model, optimizer=optimizer) as session:
                model(X)
                while session.epoch < epochs:
                    session.step(
                        lambda: optimizer.minimize(lambda: gx.ops.mean((model(X) - Y) ** 2), model.trainable_variables)
                    )
                    session.end_epoch()
        return model

    assert in_use(run(gx.reparam.LoRA(2, name="a"), 2)) == {("a",)}
    assert in_use(run(Resting(2, name="a"), 3)) == {()}
