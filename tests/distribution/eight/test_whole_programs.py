"""Programs of many kinds, each as it stands on one device and over eight: the same numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import distribution as gd
from graftax import layers, ops
from tests.distribution.eight.programs import one

draw = np.random.default_rng(0)
X, Y = draw.normal(size=(28, 16)).astype("float32"), draw.normal(size=(28, 4)).astype("float32")  # 8, 8, 8 and 4 rows
SERIES = draw.normal(size=(28, 5, 16)).astype("float32")
SERIES[::3, 2:] = 0.0
TOKENS = draw.integers(0, 32, (24, 5)).astype("int32")


def both() -> gd.Distribution:
    rules = [gd.OptionalRule("layers/0/kernel", (None, "model"))]
    return gd.FullyShardedDataParallel(gd.mesh(data=4, model=2), rules, min_size=16, tolerance=1.0)


class OwnStep(gx.Model):
    """A model that says itself what a step is."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = layers.Dense(16, activation="tanh"), layers.Dense(4)

    def call(self, x: Any) -> Any:
        return self.down(self.up(x))

    def train_step(self, batch: Any) -> Any:
        x, y = batch[:2]

        def loss() -> Any:
            return ops.mean(ops.square(self(x, training=True) - y)) + 0.1 * ops.mean(ops.square(self(x + 0.1)))

        return {"loss": self.optimizer.minimize(loss, self.trainable_variables)}


class Tied(gx.Model):
    """The embeddings are the weights of the output, too."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.hidden = layers.Embedding(32, 16), layers.Dense(16)

    def call(self, tokens: Any) -> Any:
        return ops.matmul(self.hidden(self.embed(tokens)), ops.transpose(self.embed.embeddings))


def mlp() -> gx.Model:
    return gx.Sequential([layers.Dense(16, activation="relu"), layers.Dense(4)])


def made(d: gd.Distribution, make: Callable[[], gx.Model], **compile_: Any) -> gx.Model:
    gx.set_random_seed(0)
    with d.scope():
        model = make()
        model.compile(**{"optimizer": gx.optimizers.Adam(1e-2), "loss": "mse", **compile_})
    return model


def masked_series(d: gd.Distribution) -> list[Any]:
    model = made(d, lambda: gx.Sequential([layers.Masking(0.0), layers.GRU(8), layers.Dense(4)]), metrics=["mae"])
    history = model.fit(SERIES, Y, batch_size=8, verbose=0).history
    return [*history["loss"], *history["mae"], *model.predict(SERIES[:13], batch_size=8, verbose=0).sum(0)]


def own_step(d: gd.Distribution) -> list[Any]:
    return made(d, OwnStep).fit(X, Y, batch_size=8, verbose=0).history["loss"]


def tied_weights(d: gd.Distribution) -> list[Any]:
    loss = gx.losses.SparseCategoricalCrossentropy(from_logits=True)
    model = made(d, Tied, loss=loss, metrics=["accuracy"])
    history = model.fit(TOKENS[:, :-1], TOKENS[:, 1:], batch_size=8, verbose=0).history
    return [*history["loss"], *history["accuracy"]]


def sample_weights(d: gd.Distribution) -> list[Any]:
    weights = np.linspace(0, 1, 28).astype("float32")
    model = made(d, mlp, weighted_metrics=["mae"])
    losses = model.fit(X, Y, batch_size=8, verbose=0, sample_weight=weights).history["loss"]
    return [*losses, *model.evaluate(X[:21], Y[:21], batch_size=8, verbose=0, sample_weight=weights[:21]).values()]


def callbacks(d: gd.Distribution) -> list[Any]:
    model = made(d, mlp, optimizer=gx.optimizers.SGD(0.5))
    stop = gx.callbacks.EarlyStopping(monitor="val_loss", patience=1, restore_best_weights=True)
    slower = gx.callbacks.ReduceLROnPlateau(monitor="loss", patience=0, min_delta=10.0)
    history = model.fit(X, Y, batch_size=8, epochs=4, verbose=0, validation_split=0.2, callbacks=[stop, slower])
    return [*history.history["val_loss"], *model.predict(X[:3], verbose=0).ravel()]


def other_meshes(d: gd.Distribution) -> list[Any]:
    model = made(d, mlp)
    losses = model.fit(X, Y, batch_size=8, verbose=0).history["loss"]
    gd.FullyShardedDataParallel(gd.mesh(data=2, model=2), min_size=16, tolerance=1.0).place(model)
    losses += model.fit(X, Y, batch_size=8, verbose=0).history["loss"]
    one().place(model)
    return [*losses, *model.fit(X, Y, batch_size=8, verbose=0).history["loss"]]


@pytest.mark.parametrize(
    "program",
    [masked_series, own_step, tied_weights, sample_weights, callbacks, other_meshes],
    ids=lambda program: program.__name__,
)
def test_the_numbers_of_one_device(program: Callable[[gd.Distribution], list[Any]]) -> None:
    found, wanted = program(both()), program(one())
    assert len(found) == len(wanted) > 0
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-6)
