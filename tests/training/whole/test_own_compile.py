"""Whole models with a ``compile`` of their own: it is called again with what it was given."""

import copy
import pickle

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import ArgumentError

X = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")


class Gan(gx.Model):
    """As programs of Keras have it: two networks, two optimizers, a loss of its own."""

    def __init__(self, generator, discriminator):
        super().__init__()
        self.generator, self.discriminator = generator, discriminator

    def compile(self, d_optimizer, g_optimizer, loss_fn="mse", *, weight=1.0):
        super().compile()
        self.d_optimizer, self.g_optimizer = d_optimizer, g_optimizer
        self.loss_fn, self.weight = gx.losses.get(loss_fn), weight

    def call(self, x):
        return self.discriminator(self.generator(x))

    def train_step(self, batch):
        (x,) = batch
        ones, zeros = ops.ones((len(x), 1)), ops.zeros((len(x), 1))
        d_loss = self.d_optimizer.minimize(
            lambda: self.loss_fn(zeros, self(x)) + self.loss_fn(ones, self.discriminator(x)),
            self.discriminator.trainable_variables,
        )
        g_loss = self.g_optimizer.minimize(
            lambda: self.weight * self.loss_fn(ones, self(x)), self.generator.trainable_variables
        )
        return {"d_loss": d_loss, "g_loss": g_loss}


class Wider(Gan):
    def compile(self, rate=0.1):
        super().compile(gx.optimizers.SGD(rate), gx.optimizers.SGD(rate))


class Late(gx.Model):
    """Its ``compile`` has arguments of its own beside those of `Model`, which it hands on."""

    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(1)

    def compile(self, temperature=2.0, *args, **options):
        super().compile(*args, **options)
        self.temperature = temperature

    def call(self, x):
        return self.dense(x) / self.temperature


def gan(kind=Gan):
    gx.set_random_seed(0)
    return kind(gx.Sequential([layers.Dense(3)]), gx.Sequential([layers.Dense(1)]))


class Counts(gx.Model):
    """Its ``compile`` looks at weights."""

    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(1)

    def compile(self, optimizer):
        super().compile(optimizer, "mse")
        self.count = sum(v.numpy().size for v in self.trainable_variables)

    def call(self, x):
        return self.dense(x)


def test_a_compile_that_looks_at_weights_finds_them_again(tmp_path):
    model = Counts()
    model(X)
    model.compile("sgd")
    model.save(tmp_path / "whole")
    assert gx.load_model(tmp_path / "whole", custom=[Counts]).count == model.count == 4


@pytest.mark.broad
def test_a_model_of_two_optimizers_goes_on(tmp_path):
    model = gan()
    model.compile(gx.optimizers.Adam(0.02), g_optimizer=gx.optimizers.Adam(0.01), weight=0.5)
    model.fit(X, batch_size=4, epochs=2, verbose=0)
    model.save(tmp_path / "whole")
    again = gx.load_model(tmp_path / "whole", custom=[Gan])
    assert (again.weight, float(again.d_optimizer.learning_rate)) == (0.5, float(model.d_optimizer.learning_rate))
    for one in (model, again):
        gx.set_random_seed(4)
        one.fit(X, batch_size=4, epochs=2, verbose=0)
    for one, other in zip(model.variables, again.variables, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy(), err_msg=one.path)


@pytest.mark.broad
def test_the_outermost_compile_is_called_again(tmp_path):
    model = gan(Wider)
    model.compile(0.25)
    model(X)
    model.save(tmp_path / "whole")
    again = gx.load_model(tmp_path / "whole", custom=[Wider])
    assert float(again.g_optimizer.learning_rate) == 0.25


@pytest.mark.broad
def test_what_is_handed_on_comes_to_the_base(tmp_path):
    model = Late()
    model.compile(3.0, "sgd", "mse", metrics=["mae"])
    model.fit(X, X[:, :1], verbose=0)
    model.save(tmp_path / "whole")
    again = gx.load_model(tmp_path / "whole", custom=[Late])
    assert again.temperature == 3.0
    assert again.evaluate(X, X[:, :1], verbose=0) == model.evaluate(X, X[:, :1], verbose=0)


@pytest.mark.broad
def test_copies_take_it_along(tmp_path):
    model = gan(Wider)
    model.compile(0.25)
    model(X)
    for i, twin in enumerate((copy.deepcopy(model), pickle.loads(pickle.dumps(model)))):
        twin.save(tmp_path / str(i))
        assert float(gx.load_model(tmp_path / str(i), custom=[Wider]).g_optimizer.learning_rate) == 0.25


def test_a_copy_that_could_not_take_it_along_is_named(tmp_path):
    class Opens(gx.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(1)

        def compile(self, source):
            super().compile("sgd", "mse")

        def call(self, x):
            return self.dense(x)

    model = Opens()
    model.compile(number for number in range(3))
    model(X)
    with pytest.raises(ArgumentError, match="model.compile\\(...\\) once more") as caught:
        copy.deepcopy(model).save(tmp_path / "whole")
    assert "Opens.compile(self, source)" in caught.value.received
    assert not (tmp_path / "whole").exists()


class Scaled(layers.Dense):
    def __init__(self, units):
        super().__init__(units)
        self.scale, self.lock = 1.0, [object()]


class Parted(gx.Model):
    def __init__(self):
        super().__init__()
        self.parts = [Scaled(2), Scaled(1)]

    def compile(self, alpha=0.5, **options):
        super().compile(**options)
        self.alpha = alpha

    def call(self, x):
        return self.parts[1](self.parts[0](x))


@pytest.mark.broad
def test_the_report_lists_only_what_a_load_does_not_restore(tmp_path):
    model = Parted()
    model.compile(alpha=0.25, optimizer="sgd", loss="mse")
    model(X)
    model.parts[1].scale, model.later = 2.5, {"a": [1, 2]}
    report = model.save(tmp_path / "whole")
    assert report.plain == ("model/parts/0/lock", "model/parts/1/lock")
    again = gx.load_model(tmp_path / "whole", custom={"Parted": Parted})
    assert (again.alpha, again.parts[1].scale, again.later) == (0.25, 2.5, {"a": [1, 2]})
    weights = gx.Checkpoint(model=model).save(tmp_path / "weights")
    assert {"model/alpha", "model/later", "model/parts/1/scale"} <= set(weights.plain)
