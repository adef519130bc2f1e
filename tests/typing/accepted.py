"""A user's program with types: it runs, and checkers in their strictest setting find nothing to object to."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Unpack

import numpy as np
import numpy.typing as npt

import graftax as gx
from graftax import layers, ops
from graftax.core.typedefs import Array, Shape, VariableLike
from graftax.optimizers.engine.options import Options
from graftax.optimizers.engine.slot import SlotValues
from graftax.optimizers.engine.step import Step

Matrix = npt.NDArray[np.float32]

rng = np.random.default_rng(0)
FEATURES: Matrix = rng.normal(size=(64, 5)).astype("float32")
TARGETS: Matrix = FEATURES @ rng.normal(size=(5, 1)).astype("float32")


# --- parts of one's own -----------------------------------------------------------------------------------------------


class Scaled(gx.Layer):
    """A dense layer, and a factor for each of its outputs."""

    factor: gx.Variable

    def __init__(self, units: int, name: str | None = None) -> None:
        super().__init__(name=name)
        self.dense = layers.Dense(units, activation="relu", kernel_regularizer=gx.regularizers.L2(1e-4))

    def build(self, input_shape: Shape) -> None:
        self.factor = self.add_weight((self.dense.units,), initializer="ones", name="factor")

    def call(self, x: Array, training: bool = False) -> Array:
        hidden: Array = self.dense(x)
        return hidden * self.factor if training else ops.multiply(hidden, self.factor)


class Regression(gx.Model):
    """A network for one number."""

    def __init__(self, units: int = 8) -> None:
        super().__init__()
        self.first = Scaled(units, name="first")
        self.blocks = [layers.Dense(units, activation=ops.tanh) for _ in range(2)]
        self.last = layers.Dense(1, kernel_initializer=gx.initializers.Zeros(), dtype="float32")

    def call(self, x: Array, training: bool = False) -> Array:
        x = self.first(x, training=training)
        for block in self.blocks:
            x = x + block(x)
        return self.last(x)


class SignMomentum(gx.Optimizer):
    """The sign of a moving average."""

    elementwise = True

    def __init__(self, learning_rate: float = 1e-3, beta: float = 0.9, **options: Unpack[Options]) -> None:
        super().__init__(learning_rate, **options)
        self.beta = beta

    def create_slots(self, variable: gx.Variable) -> Mapping[str, gx.Slot]:
        return {"momentum": gx.Slot()}

    def update(self, gradient: Array, value: Array, slots: SlotValues, step: Step) -> tuple[Array, Mapping[str, Array]]:
        momentum = self.beta * slots.momentum + (1 - self.beta) * gradient
        return value - step.learning_rate * ops.sign(momentum), {"momentum": momentum}


class NonNegative(gx.Reparam):
    """The square of a free weight."""

    def __init__(self, next_creator: Callable[[gx.VariableSpec], VariableLike], spec: gx.VariableSpec) -> None:
        super().__init__(spec)
        self.root = next_creator(spec.replace(name="root"))

    def forward(self) -> Array:
        return ops.square(self.root)


class Largest(gx.metrics.Metric):
    """The largest error so far."""

    def __init__(self) -> None:
        super().__init__()
        self.largest = self.add_variable((), initializer=0.0)

    def update(self, y_true: Array, y_pred: Array) -> None:
        self.largest.assign(ops.maximum(self.largest, ops.max(ops.abs(y_true - y_pred))))

    def result(self) -> Array:
        return self.largest.value


class Losses(gx.Callback):
    """Keeps the loss of every epoch."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    def on_epoch_end(self, epoch: int, logs: gx.callbacks.Logs | None = None) -> None:
        if logs is not None:
            self.seen.append(logs["loss"])


# --- training ---------------------------------------------------------------------------------------------------------


def fitted() -> tuple[Regression, list[float]]:
    """With fit."""
    model = Regression()
    losses = Losses()
    schedule = gx.optimizers.schedules.CosineDecay(0.01, 20)
    model.compile(gx.optimizers.AdamW(schedule, weight_decay=1e-4, clipnorm=1.0), gx.losses.Huber(), metrics=["mae"])
    history = model.fit(FEATURES, TARGETS, batch_size=16, epochs=3, verbose=0, callbacks=[losses])
    assert len(history.history["loss"]) == 3
    predicted = model.predict(FEATURES, verbose=0)
    assert predicted.shape == (64, 1)
    scores = model.evaluate(FEATURES, TARGETS, verbose=0)
    assert set(scores) == {"loss", "mae"}
    return model, losses.seen


def looped(model: Regression, steps: int) -> float:
    """With a loop of one's own."""
    optimizer = SignMomentum(0.01, beta=0.8, global_clipnorm=1.0)
    error = Largest()

    @gx.jit
    def step(x: Array, y: Array) -> Array:
        def loss() -> Array:
            predicted = model(x, training=True)
            error.update(y, predicted)
            return ops.mean(ops.square(predicted - y))

        value, gradients = gx.value_and_grad(loss, wrt=model.trainable_variables)()
        optimizer.apply(gradients, model.trainable_variables)
        return value

    x, y = ops.asarray(FEATURES), ops.asarray(TARGETS)
    last = step(x, y)
    for _ in range(steps - 1):
        last = step(x, y)
    assert step.trace_count == 1
    assert int(optimizer.iterations) == steps
    assert float(error.result()) > 0
    return float(last)


def taped(model: Regression) -> list[Array]:
    """With a tape."""
    with gx.GradientTape() as tape:
        loss = ops.mean(ops.square(model(FEATURES) - TARGETS))
    gradients: list[Array] = tape.gradient(loss, model.trainable_variables)
    return gradients


# --- weights that are expressions, and files -----------------------------------------------------------------------


def expressed() -> list[str]:
    """Behind the kernel of a layer of somebody else."""
    with gx.variable_creator_scope(NonNegative, where="**/kernel"):
        layer = layers.Dense(3)
        layer(FEATURES)
    return [variable.path for variable in layer.trainable_variables]


def saved(model: Regression, folder: Path) -> Regression:
    """Out to disk, and into another model."""
    gx.Checkpoint(model=model).save(folder / "run", step=3, meta={"note": "for a test"})
    other = Regression()
    other(FEATURES[:1])
    report = gx.Checkpoint(model=other).restore(folder / "run", mode="cover")
    report.assert_consumed()
    return other


def main() -> None:
    """All of it."""
    gx.set_random_seed(0)
    model, losses = fitted()
    assert len(losses) == 3
    assert looped(model, steps=4) >= 0
    assert len(taped(model)) == len(model.trainable_variables)
    assert expressed() == ["kernel/root", "bias"]
    with tempfile.TemporaryDirectory() as folder:
        other = saved(model, Path(folder))
    same: bool = np.array_equal(np.asarray(other(FEATURES)), np.asarray(model(FEATURES)))
    assert same


if __name__ == "__main__":
    main()
