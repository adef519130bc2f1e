"""A training step: forward, backward, Adam; state donated where the contestant can."""

import importlib.util
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import graftax as gx
from benchmarks.harness import measure, table
from graftax import layers, ops

SIZES = {
    "tiny MLP, 32 × (16, 32, 32, 1)": ([32, 32, 1], 16, 32, 200),
    "200 small weights, 100 × Dense(16)": ([16] * 100, 16, 32, 30),
    "big dense layers, 256 × (1024, 1024, 1024, 10)": ([1024, 1024, 10], 1024, 256, 3),
}


def hand_written(sizes: list[int], width: int, x: Any, y: Any) -> Callable[[], Any]:
    """What one would write in bare JAX."""
    rng = np.random.default_rng(0)
    weights = []
    for size in sizes:
        weights += [jnp.asarray(rng.normal(size=(width, size)).astype("float32") / np.sqrt(width)), jnp.zeros(size)]
        width = size

    def loss(weights: Any, x: Any, y: Any) -> Any:
        for i in range(0, len(weights), 2):
            x = x @ weights[i] + weights[i + 1]
            if i < len(weights) - 2:
                x = jnp.tanh(x)
        return jnp.mean((x - y) ** 2)

    def step(state: Any, x: Any, y: Any) -> Any:
        weights, m, v, t = state
        t = t + 1
        value, gradients = jax.value_and_grad(loss)(weights, x, y)
        m = [0.9 * a + 0.1 * g for a, g in zip(m, gradients, strict=True)]
        v = [0.999 * a + 0.001 * g * g for a, g in zip(v, gradients, strict=True)]
        rate = 1e-3 * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        weights = [w - rate * a / (jnp.sqrt(b) + 1e-7) for w, a, b in zip(weights, m, v, strict=True)]
        return (weights, m, v, t), value

    compiled = jax.jit(step, donate_argnums=0)
    zeros = [jnp.zeros_like(w) for w in weights]
    state = [(weights, zeros, [jnp.zeros_like(w) for w in weights], jnp.float32(0))]

    def run() -> Any:
        state[0], value = compiled(state[0], x, y)
        return value

    return run


def network(sizes: list[int]) -> Any:
    """The same net in graftax."""
    return gx.Sequential([*(layers.Dense(size, activation="tanh") for size in sizes[:-1]), layers.Dense(sizes[-1])])


def own_loop(sizes: list[int], x: Any, y: Any) -> Callable[[], Any]:
    """A hand-written loop over graftax's public pieces."""
    model, optimizer = network(sizes), gx.optimizers.Adam(1e-3)
    model(x)
    variables = model.trainable_variables

    @gx.jit
    def step(x: Any, y: Any) -> Any:
        loss, gradients = gx.value_and_grad(lambda: ops.mean((model(x) - y) ** 2), wrt=variables)()
        optimizer.apply(gradients, variables)
        return loss

    return lambda: step(x, y)


def train_on_batch(sizes: list[int], x: Any, y: Any) -> Callable[[], Any]:
    """What fit runs for each batch, metrics included."""
    model = network(sizes)
    model.compile(gx.optimizers.Adam(1e-3), "mse")
    step = model.compiled("train_step")
    return lambda: step((x, y))["loss"]


def keras_step(sizes: list[int], x: Any, y: Any) -> Callable[[], Any]:
    """Keras 3 on JAX."""
    import os

    os.environ["KERAS_BACKEND"] = "jax"
    import keras

    hidden = [keras.layers.Dense(size, activation="tanh") for size in sizes[:-1]]
    model = keras.Sequential([*hidden, keras.layers.Dense(sizes[-1])])
    model.compile(keras.optimizers.Adam(1e-3), "mse")
    return lambda: model.train_on_batch(x, y)


def main() -> None:
    for title, (sizes, width, batch, calls) in SIZES.items():
        rng = np.random.default_rng(1)
        x = jnp.asarray(rng.normal(size=(batch, width)).astype("float32"))
        y = jnp.asarray(rng.normal(size=(batch, sizes[-1])).astype("float32"))
        contestants = {
            "hand-written JAX": hand_written(sizes, width, x, y),
            "graftax, own loop": own_loop(sizes, x, y),
            "graftax, the step of fit": train_on_batch(sizes, x, y),
        }
        if importlib.util.find_spec("keras") is not None:
            contestants["keras 3, train_on_batch"] = keras_step(sizes, np.asarray(x), np.asarray(y))
        print(table(f"Training step: {title}", measure(contestants, jax.block_until_ready, calls)), flush=True)
        print()


if __name__ == "__main__":
    main()
