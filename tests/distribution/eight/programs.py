"""Programs that are run on one device and on eight: models, distributions, ways to train, and what is compared."""

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import numpy as np

import graftax as gx
from graftax import distribution as gd
from graftax import layers

draw = np.random.default_rng(0)
ROWS, BATCH = 44, 16  # two batches that eight devices share, and one of 12, which they do not
TOKENS = draw.integers(0, 32, (ROWS, 9)).astype("int32")
IMAGES = draw.normal(size=(ROWS, 8, 8, 3)).astype("float32")
SERIES = draw.normal(size=(ROWS, 5, 8)).astype("float32")
FEATURES = draw.normal(size=(ROWS, 16)).astype("float32")
CLASSES = draw.integers(0, 8, ROWS)


class Block(gx.Layer):
    """One layer of a small transformer."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = layers.LayerNormalization(), layers.LayerNormalization()
        self.attention = layers.MultiHeadAttention(heads, size // heads, dropout=0.1)
        self.up, self.down = layers.Dense(2 * size, activation="gelu"), layers.Dense(size)

    def call(self, x: Any, training: bool | None = None) -> Any:
        x = x + self.attention(self.norm1(x), use_causal_mask=True)
        return x + self.down(self.up(self.norm2(x)))


class Transformer(gx.Model):
    """A language model."""

    def __init__(self, blocks: int = 1) -> None:
        super().__init__()
        self.embed = layers.Embedding(32, 32)
        self.blocks = [Block(32, 4) for _ in range(blocks)]
        self.norm, self.head = layers.LayerNormalization(), layers.Dense(32)

    def call(self, x: Any, training: bool | None = None) -> Any:
        h = self.embed(x)
        for block in self.blocks:
            h = block(h)
        return self.head(self.norm(h))


def mlp() -> gx.Model:
    """Dense layers, dropout, batch normalisation."""
    up, down = layers.Dense(64, activation="relu", name="up"), layers.Dense(32, name="down")
    return gx.Sequential([up, layers.Dropout(0.1), layers.BatchNormalization(), down, layers.Dense(8)])


def cnn() -> gx.Model:
    """Convolutions and batch normalisation."""
    return gx.Sequential(
        [
            layers.Conv2D(16, 3, padding="same", activation="relu"),
            layers.BatchNormalization(),
            layers.Conv2D(16, 3, strides=2),
            layers.GlobalAveragePooling2D(),
            layers.Dense(64, activation="relu", name="up"),
            layers.Dense(8, name="down"),
        ]
    )


def lstm() -> gx.Model:
    """A recurrent layer."""
    up = layers.Dense(64, activation="relu", name="up")
    return gx.Sequential([layers.LSTM(32), up, layers.Dense(8, name="down")])


class Program(NamedTuple):
    """A model and its data."""

    make: Callable[[], gx.Model]
    x: Any
    y: Any


PROGRAMS = {
    "mlp": Program(mlp, FEATURES, CLASSES),
    "cnn": Program(cnn, IMAGES, CLASSES),
    "lstm": Program(lstm, SERIES, CLASSES),
    "transformer": Program(Transformer, TOKENS[:, :-1], TOKENS[:, 1:]),
}

# Sequential models have names of layers, the transformer has attributes: rules find both
PAIRS = gd.tensor_parallel()

KINDS: dict[str, Callable[[], gd.Distribution]] = {
    "data": lambda: gd.DataParallel(gd.mesh(data=8)),
    "sharded": lambda: gd.FullyShardedDataParallel(gd.mesh(data=8), min_size=64),
    "tensor": lambda: gd.ModelParallel(gd.mesh(data=4, model=2), PAIRS),
    "both": lambda: gd.FullyShardedDataParallel(gd.mesh(data=4, model=2), PAIRS, min_size=64),
}


def one() -> gd.Distribution:
    """All on one device."""
    return gd.DataParallel(gd.mesh(data=1))


class Trained(NamedTuple):
    """What came of a training."""

    model: gx.Model
    losses: list[float]
    accuracies: list[float]
    compilations: int


def adamw() -> gx.Optimizer:
    """An optimizer with much to it."""
    return gx.optimizers.AdamW(1e-3, weight_decay=0.01, global_clipnorm=1.0)


def train(
    program: str,
    distribution: gd.Distribution,
    way: str = "fit",
    optimizer: Callable[[], gx.Optimizer] = adamw,
    epochs: int = 2,
    make: Callable[[], gx.Model] | None = None,
) -> Trained:
    """Train a program under a distribution, from one seed."""
    model_of, x, y = PROGRAMS[program]
    gx.set_random_seed(0)
    with distribution.scope():
        model = (make or model_of)()
    loss = gx.losses.SparseCategoricalCrossentropy(from_logits=True)
    with compilations() as count:
        if way == "own":
            return Trained(model, own_loop(model, optimizer(), loss, distribution, x, y, epochs), [], count())
        steps = 2 if way == "two steps" else 1
        model.compile(optimizer(), loss, metrics=["accuracy"], steps_per_execution=steps)
        history = model.fit(x, y, batch_size=BATCH, epochs=epochs, verbose=0).history
        return Trained(model, history["loss"], history["accuracy"], count())


def own_loop(
    model: gx.Model, optimizer: gx.Optimizer, loss: Any, distribution: gd.Distribution, x: Any, y: Any, epochs: int
) -> list[float]:
    """Train by a loop of one's own."""

    @gx.jit
    def step(x: Any, y: Any) -> Any:
        return optimizer.minimize(lambda: loss(y, model(x, training=True)), model.trainable_variables)

    model.build_for(x[:BATCH], training=True)
    model.__dict__["own_optimizer"] = optimizer
    batches = [(x[i : i + BATCH], y[i : i + BATCH]) for i in range(0, ROWS, BATCH)]
    return [float(step(*distribution.shard(batch))) for _ in range(epochs) for batch in batches]


def compare(found: Trained, wanted: Trained, tolerance: float = 2e-6) -> None:
    """Compare numbers, and see that each Variable is at home."""
    np.testing.assert_allclose(found.losses, wanted.losses, rtol=tolerance)
    np.testing.assert_allclose(found.accuracies, wanted.accuracies)
    for path, variable in wanted.model.named_variables().items():
        got = found.model.named_variables()[path].numpy()
        np.testing.assert_allclose(got, variable.numpy(), atol=10 * tolerance, err_msg=path)
    assert strays(found.model) == []


def strays(model: gx.Model) -> list[str]:
    """Return what does not lie where its home says, or has none."""
    optimizer = model.__dict__.get("own_optimizer") or model.optimizer
    found = []
    for path, variable in [*model.named_variables().items(), *optimizer.named_variables().items()]:
        home, buffer = variable._storage.home, variable._storage.buffer
        if home is None or not buffer.sharding.is_equivalent_to(home.stored, buffer.ndim):
            found.append(path)
    return found


@contextmanager
def compilations() -> Iterator[Callable[[], int]]:
    """Count the compilations of whole steps."""
    found: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if match := re.search(r"Finished XLA compilation of (\S+)", record.getMessage()):
                found.append(match.group(1))

    loggers = [logging.getLogger(n) for n in ("jax._src.dispatch", "jax._src.interpreters.pxla", "jax._src.compiler")]
    listener, before = Listener(), jax.config.jax_log_compiles
    states = [(one.level, one.propagate) for one in loggers]
    jax.config.update("jax_log_compiles", True)
    for logger in loggers:
        logger.setLevel(logging.WARNING)
        logger.propagate = False
        logger.addHandler(listener)
    try:
        yield lambda: sum(name.strip("'") == "jit(call)" or name == "jit(_call)" for name in found)
    finally:
        jax.config.update("jax_log_compiles", before)
        for logger, (level, propagate) in zip(loggers, states, strict=True):
            logger.removeHandler(listener)
            logger.setLevel(level)
            logger.propagate = propagate
