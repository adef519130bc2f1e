"""A model of frozen weights alone is not trained without a word; a GAN of two compiled models freezes by a rule."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers

X, Y = np.ones((8, 2), "float32"), np.zeros((8, 1), "float32")


def small(units: int = 1) -> gx.Sequential:
    gx.set_random_seed(0)
    model = gx.Sequential([gx.Input((2,)), layers.Dense(units)])
    model.compile("sgd", "mse")
    return model


@pytest.mark.broad
@pytest.mark.parametrize("freeze", [lambda m: setattr(m, "trainable", False), lambda m: m.freeze()])
@pytest.mark.parametrize("train", [lambda m: m.train_on_batch(X, Y), lambda m: m.fit(X, Y, verbose=0)])
def test_frozen_weights_are_named(freeze, train):
    """Found by an outsider: a critic that was frozen for a combined model no longer learnt, and nothing said so."""
    model = small()
    freeze(model)
    before = model.layers[0].kernel.numpy()
    with pytest.warns(UserWarning, match=r"nothing is trained.*'layers/0/kernel'.*frozen") as found:
        train(model)
    assert len(found) == 1
    np.testing.assert_array_equal(model.layers[0].kernel, before)


@pytest.mark.broad
def test_what_has_no_weights_is_let_be():
    model = gx.Sequential([gx.Input((2,)), layers.ReLU(), layers.Flatten()])
    model.compile("sgd", "mse")
    model.fit(X, X, verbose=0)
    model.evaluate(X, X, verbose=0)


@pytest.mark.broad
def test_two_compiled_models_with_a_part_in_common():
    """The line of the warning: frozen for one optimizer, trained by the other."""
    critic = small()
    maker = gx.Sequential([gx.Input((2,)), layers.Dense(2)])
    z = gx.Input((2,))
    both = gx.Model(z, critic(maker(z)))
    place = next(v.path for v in both.variables if v is critic.layers[0].kernel).rpartition("layers/0/kernel")[0]
    both.compile(gx.optimizers.SGD(0.1, rules=[(f"{place}**", {"frozen": True})]), "mse")
    parts = critic.layers[0].kernel, maker.layers[0].kernel
    for _ in range(2):
        for model, moved in ((critic, 0), (both, 1)):
            before = [part.numpy() for part in parts]
            model.train_on_batch(X, Y)
            assert [np.array_equal(a, b) for a, b in zip(before, parts, strict=True)] == [moved == 1, moved == 0]
