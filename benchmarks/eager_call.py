"""A forward call from plain Python, without gx.jit around it; and the same call compiled."""

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import graftax as gx
from benchmarks.harness import GRAFTAX, JITTED, KERAS, NNX, TORCH, Run, Work
from benchmarks.nets import (
    Net,
    data,
    forward,
    graftax_net,
    keras_net,
    nnx_net,
    on_device,
    torch_array,
    torch_net,
    weights,
)
from benchmarks.training_step import sized
from graftax import layers

NETS = {
    "Dense(64), 32 × 64": Net((64,), 64, 32),
    "MLP of ten Dense(64), 32 × 64": Net((64,) * 10, 64, 32),
}


def op_by_op(net: Net) -> Run:
    (x, _), values = data(net), weights(net)
    return lambda: forward(values, x)


def jitted(net: Net) -> Run:
    (x, _), values, compiled = data(net), weights(net), jax.jit(forward)
    return lambda: compiled(values, x)


def eager(net: Net) -> Run:
    (x, _), model = data(net), graftax_net(net)
    return lambda: model(x)


def compiled(net: Net) -> Run:
    (x, _), model = data(net), gx.jit(graftax_net(net))
    return lambda: model(x)


def keras_call(net: Net) -> Run:
    (x, _), model = data(net), keras_net(net)
    return lambda: model(x)


def nnx_call(net: Net) -> Run:
    (x, _), model = data(net), nnx_net(net)
    return lambda: model(x)


def torch_call(net: Net) -> Run:
    import torch

    x, model = torch_array(data(net)[0]), torch_net(net)

    def run() -> Any:
        with torch.no_grad():
            return model(x)

    return run


class Recurrence(NamedTuple):
    """Sizes of a recurrent layer."""

    batch: int
    steps: int
    units: int

    def data(self) -> tuple[Any, list[Any]]:
        """Inputs, and what the weights are: of the input, of the state, biases."""
        rng = np.random.default_rng(0)
        shapes = (self.batch, self.steps, self.units), *[(self.units, 4 * self.units)] * 2, (4 * self.units,)
        x, *weights = (jnp.asarray(rng.normal(size=shape) / 5, "float32") for shape in shapes)
        return x, weights


def lstm(weights: list[Any], x: Any) -> Any:
    """What one would write in bare JAX."""
    kernel, recurrent, bias = weights
    h = c = jnp.zeros((x.shape[0], recurrent.shape[0]))
    for step in range(x.shape[1]):
        i, f, g, o = jnp.split(x[:, step] @ kernel + h @ recurrent + bias, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return h


def lstm_op_by_op(sizes: Recurrence) -> Run:
    x, weights = sizes.data()
    return lambda: lstm(weights, x)


def lstm_jitted(sizes: Recurrence) -> Run:
    (x, weights), compiled = sizes.data(), jax.jit(lstm)
    return lambda: compiled(weights, x)


def lstm_layer(sizes: Recurrence) -> Any:
    x, weights = sizes.data()
    layer = layers.LSTM(sizes.units)
    layer.build_for(x)
    for variable, value in zip(layer.trainable_variables, weights, strict=True):
        variable.assign(value)
    return layer


def lstm_eager(sizes: Recurrence) -> Run:
    (x, _), layer = sizes.data(), lstm_layer(sizes)
    return lambda: layer(x)


def lstm_compiled(sizes: Recurrence) -> Run:
    (x, _), layer = sizes.data(), gx.jit(lstm_layer(sizes))
    return lambda: layer(x)


def lstm_keras(sizes: Recurrence) -> Run:
    os.environ["KERAS_BACKEND"] = "jax"
    import keras

    (x, _), layer = sizes.data(), keras.layers.LSTM(sizes.units)
    return lambda: layer(x)


def lstm_torch(sizes: Recurrence) -> Run:
    import torch

    x, layer = torch_array(sizes.data()[0]), on_device(torch.nn.LSTM(sizes.units, sizes.units, batch_first=True))

    def run() -> Any:
        with torch.no_grad():
            return layer(x)[0][:, -1]

    return run


def recurrent(make: Callable[[Recurrence], Run]) -> Callable[[bool], Run]:
    return lambda tiny: make(Recurrence(2, 3, 4) if tiny else Recurrence(32, 20, 32))


WORKS = [
    work
    for name, net in NETS.items()
    for work in (
        Work(
            f"call, {name}",
            "op by op",
            {
                "reference": sized(op_by_op, net),
                GRAFTAX: sized(eager, net),
                JITTED: sized(jitted, net),
                NNX: sized(nnx_call, net),
                KERAS: sized(keras_call, net),
                TORCH: sized(torch_call, net),
            },
        ),
        Work(
            f"call, {name}, in `gx.jit`", "compiled", {"reference": sized(jitted, net), GRAFTAX: sized(compiled, net)}
        ),
    )
] + [
    Work(
        "call, LSTM(32) of 20 steps, 32 × 20 × 32",
        "op by op",
        {
            "reference": recurrent(lstm_op_by_op),
            GRAFTAX: recurrent(lstm_eager),
            JITTED: recurrent(lstm_jitted),
            KERAS: recurrent(lstm_keras),
            TORCH: recurrent(lstm_torch),
        },
    ),
    Work(
        "call, LSTM(32) of 20 steps, 32 × 20 × 32, in `gx.jit`",
        "compiled",
        {"reference": recurrent(lstm_jitted), GRAFTAX: recurrent(lstm_compiled)},
    ),
]
