"""Models are built before anything asks for their variables, and say that they are built only where they are."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import GraftaxError, NotBuiltError

X = np.sin(np.arange(24, dtype="float32")).reshape(8, 3)
Y = X[:, :1]


class Own(gx.Sequential):
    def train_step(self, batch):
        x, y = batch
        loss = self.optimizer.minimize(lambda: ops.mean((self(x) - y) ** 2), self.trainable_variables)
        return {"loss": loss}


class WithGrad(gx.Sequential):
    def train_step(self, batch):
        x, y = batch
        variables = self.trainable_variables
        loss, gradients = gx.value_and_grad(lambda: ops.mean((self(x) - y) ** 2), wrt=variables)()
        self.optimizer.apply(gradients, variables)
        return {"loss": loss}


class WithScale(Own):
    """Has a Variable from the start: a step before it is built would train that one alone."""

    def __init__(self, parts):
        super().__init__(parts)
        self.scale = gx.Variable(1.0)

    def call(self, x):
        return super().call(x) * self.scale


def parts():
    return [layers.Dense(4, activation="tanh"), layers.Dense(1)]


@pytest.mark.in_turn(5)
@pytest.mark.parametrize("eagerly", [False, True])
@pytest.mark.parametrize("kind", [Own, WithGrad, WithScale])
def test_t3_a_step_of_ones_own_finds_all_variables(kind, eagerly):
    gx.set_random_seed(1)
    first = kind(parts())
    first.build_for(X)
    start = [v.numpy().copy() for v in first.variables]
    gx.set_random_seed(1)
    model = kind(parts())
    for one in (first, model):
        one.compile(gx.optimizers.SGD(0.1), run_eagerly=eagerly)
        one.fit(X, Y, batch_size=4, shuffle=False, verbose=0)
    for before, a, b in zip(start, first.variables, model.variables, strict=True):
        assert not np.array_equal(before, a.numpy())
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-7)


def test_t3_train_on_batch_builds_too():
    model = Own(parts())
    model.compile("sgd")
    assert np.isfinite(model.train_on_batch(X, Y)["loss"])


@pytest.mark.broad
def test_t3_a_model_without_call_says_what_is_not_built():
    class Pair(gx.Model):
        def __init__(self):
            super().__init__()
            self.encoder, self.decoder = layers.Dense(2), layers.Dense(3)

        def train_step(self, batch):
            x = batch[0]
            loss = self.optimizer.minimize(
                lambda: ops.mean((self.decoder(self.encoder(x)) - x) ** 2), self.trainable_variables
            )
            return {"loss": loss}

    model = Pair()
    model.compile("sgd")
    with pytest.raises(GraftaxError, match=r"'encoder', 'decoder'.*no call"):
        model.fit(X, verbose=0)
    model.decoder(model.encoder(X))
    assert np.isfinite(model.fit(X, verbose=0).history["loss"][0])


@pytest.mark.broad
def test_t3_a_step_that_calls_the_model_on_something_else_says_how_it_was_built():
    class Wide(Own):
        def train_step(self, batch):
            return super().train_step((ops.concatenate([batch[0], batch[0]], axis=1), batch[1]))

    model = Wide(parts())
    model.compile("sgd")
    with pytest.raises(GraftaxError, match="fit built the model before train_step"):
        model.fit(X, Y, verbose=0)
    model = Wide(parts())
    model.build((None, 6))
    model.compile("sgd")
    model.fit(X, Y, verbose=0)


@pytest.mark.broad
def test_t3_a_call_of_two_arguments_is_left_to_the_step():
    class Two(gx.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(1)

        def call(self, x, times):
            return self.dense(x) * times

        def train_step(self, batch):
            x, y = batch

            def loss():
                return ops.mean((self(x, 2.0) - y) ** 2)

            loss()
            return {"loss": self.optimizer.minimize(loss, self.trainable_variables)}

    model = Two()
    model.compile(gx.optimizers.SGD(0.1))
    found = model.fit(X, Y, epochs=5, verbose=0).history["loss"]
    assert found[-1] < found[0]


@pytest.mark.broad
def test_t3_compile_without_an_optimizer_is_enough_for_a_step_that_has_its_own():
    class Gan(gx.Model):
        def __init__(self):
            super().__init__()
            self.generator, self.critic = gx.Sequential(parts()), gx.Sequential(parts())
            self.generator.build((None, 3))
            self.critic.build((None, 1))

        def compile(self, first, second):
            super().compile()
            self.first, self.second = first, second

        def train_step(self, batch):
            x = batch[0]
            g = self.first.minimize(lambda: ops.mean(self.critic(self.generator(x))), self.generator)
            c = self.second.minimize(lambda: ops.mean(self.critic(x[:, :1]) ** 2), self.critic)
            return {"g": g, "c": c}

    model = Gan()
    model.compile(gx.optimizers.Adam(), gx.optimizers.SGD(0.1))
    assert list(model.fit(X, epochs=2, verbose=0).history) == ["g", "c"]


# --- build ------------------------------------------------------------------------------------------------------------


def test_t4_build_builds_all():
    model = gx.Sequential([layers.Dense(4), gx.Sequential([layers.BatchNormalization(), layers.Dense(2)])])
    model.build((None, 3))
    assert [v.shape for v in model.variables][:2] == [(3, 4), (4,)]
    assert model.count_params() == 16 + 16 + 10
    assert all(layer.built for layer in (model, *model.layers, *model.layers[1].layers))


class Deep(gx.Model):
    def __init__(self):
        super().__init__()
        self.embedding, self.dense = layers.Embedding(7, 3), layers.Dense(2)

    def call(self, x):
        return self.dense(self.embedding(x))


def test_t4_build_of_models_and_layers_that_hold_others():
    model = Deep()
    model.build((None, 5))
    assert model.count_params() == 21 + 8

    class Block(gx.Layer):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(2)

        def build(self, input_shape):
            self.scale = self.add_weight((1,))

        def call(self, x):
            return self.dense(x) * self.scale

    block = Block()
    block.build((4, 3))
    assert [v.path for v in block.variables] == ["dense/kernel", "dense/bias", "scale"]

    class AsInKeras(Block):
        def build(self, input_shape):
            super().build(input_shape)
            self.dense.build(input_shape)

    block = AsInKeras()
    block.build((None, 3))
    assert block.count_params() if hasattr(block, "count_params") else len(block.variables) == 3


def test_t4_build_raises_where_it_cannot_build_and_warns_of_what_no_call_uses():
    model = gx.Sequential([layers.Dense(4), layers.Conv2D(3, 3)])
    with pytest.raises(GraftaxError, match="axes"):
        model.build((None, 3))
    assert not model.built

    class Spare(gx.Sequential):
        def __init__(self):
            super().__init__([layers.Dense(1)])
            self.spare = layers.Dense(2)

    with pytest.warns(UserWarning, match="spare"):
        Spare().build((None, 3))
    model = Spare()
    model.spare.build((None, 3))
    model.build((None, 3))
    assert model.built

    flat = gx.Sequential([layers.Flatten(), layers.Dense(1)])
    with pytest.raises(GraftaxError, match="None is tried"):
        flat.build((None, None, 3))
    with pytest.raises(NotBuiltError, match="without a shape"):
        gx.Sequential([layers.Dense(1)]).build(None)


@pytest.mark.broad
def test_t4_a_layer_added_to_a_built_model_is_trained():
    model = gx.Sequential([layers.Dense(4)])
    model(X)
    model.add(layers.Dense(1))
    model.compile(gx.optimizers.SGD(0.1), "mse")
    with pytest.warns(UserWarning, match="counts nothing for 'layers/1'"):
        assert model.count_params() == 16
    model.fit(X, Y, verbose=0)
    before = model.layers[1].kernel.numpy().copy()
    model.fit(X, Y, verbose=0)
    assert not np.array_equal(before, model.layers[1].kernel.numpy())


@pytest.mark.broad
def test_t4_a_call_that_failed_half_way_leaves_a_model_that_trains_as_a_whole():
    class Fails(gx.Sequential):
        fail = True

        def call(self, x):
            h = self.layers[0](x)
            if self.fail:
                raise ValueError("on purpose")
            return self.layers[1](h)

    model = Fails(parts())
    with pytest.raises(ValueError, match="on purpose"):
        model(X)
    model.fail = False
    model.compile(gx.optimizers.SGD(0.1), "mse")
    model.fit(X, Y, epochs=1, verbose=0)
    before = model.layers[1].kernel.numpy().copy()
    model.fit(X, Y, epochs=1, verbose=0)
    assert len(model.trainable_variables) == 4
    assert not np.array_equal(before, model.layers[1].kernel.numpy())


@pytest.mark.broad
def test_t4_a_layer_that_is_never_called_costs_one_look():
    class Spare(gx.Sequential):
        def __init__(self):
            super().__init__([layers.Dense(1)])
            self.spare = layers.Dense(2)
            self.looks = 0

        def build_for(self, *args, **kwargs):
            object.__setattr__(self, "looks", self.looks + 1)
            return super().build_for(*args, **kwargs)

    model = Spare()
    model.compile("sgd", "mse", run_eagerly=True)
    model.fit(X, Y, batch_size=2, epochs=2, verbose=0)
    assert model.looks == 1


@pytest.mark.parametrize(
    "step",
    [
        lambda self, real: {"loss": ops.mean(self(real))},
        lambda self, real: {"loss": ops.mean(gx.random.normal((real.shape[0], 3)))},
        lambda self, real: {"loss": ops.mean(real.astype("float32"))},
    ],
    ids=["layer", "shape", "method"],
)
def test_a_batch_of_inputs_alone_is_told_to_be_a_tuple_of_one(step):
    model = type("Gan", (gx.Sequential,), {"train_step": step})([layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.raises((GraftaxError, AttributeError)) as caught:
        model.fit(X, verbose=0)
    told = "".join((str(caught.value), *getattr(caught.value, "__notes__", ())))
    assert "train_step(self, real) gets the batch as (x,), a tuple of one: (real,) = real before" in told
