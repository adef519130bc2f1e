"""Models whose call takes more than one array of fractions are saved and loaded as they were called."""

from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

X, PLACES = np.ones((5, 2), "float32"), np.arange(5, dtype="int32") % 4


class Pair(gx.Model):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.out = layers.Embedding(4, 3), layers.Dense(1)

    def call(self, inputs: Any) -> Any:
        x, i = inputs
        return self.out(ops.concatenate([x, self.table(i)], axis=-1))


class Named(Pair):
    def call(self, inputs: Any) -> Any:
        return super().call((inputs["x"], inputs["i"]))


class Several(Pair):
    def call(self, x: Any, i: Any, scale: float = 1.0) -> Any:
        return super().call((x, i)) * scale


class Holder(gx.Model):
    """Its part takes two arguments, and no call of the model reaches it."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.apart = layers.Dense(1), Several()

    def call(self, x: Any) -> Any:
        return self.first(x)


class OneHot(gx.Model):
    def __init__(self) -> None:
        super().__init__()
        self.out = layers.Dense(1)

    def call(self, i: Any) -> Any:
        return self.out(ops.one_hot(i, 4))


CASES = {
    "a pair": (Pair, lambda m: m((X, PLACES))),
    "a dict": (Named, lambda m: m({"x": X, "i": PLACES})),
    "two arguments": (Several, lambda m: m(X, PLACES)),
    "an argument by name": (Several, lambda m: m(X, i=PLACES)),
    "a number besides": (Several, lambda m: m(X, PLACES, 2.0)),
    "a part apart": (Holder, lambda m: ops.stack([m(X), m.apart(X, PLACES)])),
    "integers that no Embedding takes": (OneHot, lambda m: m(PLACES)),
}


@pytest.mark.broad
@pytest.mark.parametrize("case", CASES)
def test_a_model_comes_back_as_it_was_called(case, tmp_path):
    kind, call = CASES[case]
    model = kind()
    expected = call(model)
    model.save(tmp_path / "model")
    loaded = gx.load_model(tmp_path / "model", custom={kind.__name__: kind})
    np.testing.assert_array_equal(call(loaded), expected)
    loaded.save(tmp_path / "again")  # it knows what it was made with


@pytest.mark.broad
@pytest.mark.parametrize(("kind", "x"), [(Pair, (X, PLACES)), (Named, {"x": X, "i": PLACES})])
def test_a_fitted_model_comes_back(kind, x, tmp_path):
    model = kind()
    model.compile("sgd", "mse")
    model.fit(x, np.ones((5, 1), "float32"), verbose=0)
    model.save(tmp_path / "model")
    loaded = gx.load_model(tmp_path / "model", custom={kind.__name__: kind})
    np.testing.assert_array_equal(loaded(x), model(x))


class GAN(gx.Model):
    def __init__(self) -> None:
        super().__init__()
        self.generator, self.critic = layers.Dense(2), layers.Dense(1)

    def call(self, z: Any) -> Any:
        return self.generator(z)


@pytest.mark.broad
@pytest.mark.parametrize("later", [False, True])
def test_a_grafted_part_that_no_call_reaches(later, tmp_path):
    """Found by an outsider: a critic with a norm, beside a generator that the call is."""
    gan = GAN()
    if later:
        gan(X)
        gan.critic(X)
        gx.graft(gan.critic, gx.reparam.WeightNorm(), where="kernel")
    else:
        with gx.variable_creator_scope(gx.reparam.SpectralNorm(), where="**/kernel"):
            gan.critic = layers.Dense(1)
        gan(X)
        gan.critic(X)
    expected = gan.critic(X)
    gan.save(tmp_path / "model")
    loaded = gx.load_model(tmp_path / "model", custom={"GAN": GAN})
    np.testing.assert_array_equal(loaded.critic(X), expected)


FOLLOWERS = {
    "embedding": lambda: [layers.Discretization([-1.0, 0.0, 1.0]), layers.Embedding(4, 2), layers.Flatten()],
    "one_hot": lambda: [layers.Discretization([-1.0, 0.0, 1.0], output_mode="one_hot")],
    "adapted": lambda: [layers.Discretization(num_bins=3), layers.Embedding(3, 2), layers.Flatten()],
}


@pytest.mark.parametrize("name", FOLLOWERS)
def test_what_follows_an_adapted_normalization_is_saved_and_loaded(tmp_path, name) -> None:
    x = np.random.default_rng(0).normal(size=(10, 3)).astype("float32")
    first, then = layers.Normalization(), FOLLOWERS[name]()
    first.adapt(x)
    if name == "adapted":
        then[0].adapt(first(x))
    model = gx.Sequential([first, *then, layers.Dense(1)])
    wanted = model(x)
    model.save(tmp_path / "net")
    np.testing.assert_array_equal(gx.load_model(tmp_path / "net")(x), wanted)
