"""Nets of dense layers with the same starting weights, in graftax and in the peers."""

import itertools
import os
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import graftax as gx
from graftax import layers


class Net(NamedTuple):
    """Layers of these sizes with tanh between them, for so many inputs in a batch."""

    sizes: tuple[int, ...]
    width: int
    batch: int


TINY = Net((4, 1), 3, 2)


def data(net: Net) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(net.batch, net.width)), rng.normal(size=(net.batch, net.sizes[-1]))
    return jnp.asarray(x, "float32"), jnp.asarray(y, "float32")


def weights(net: Net) -> list[Any]:
    """Kernels and biases in turn."""
    rng, width, found = np.random.default_rng(0), net.width, []
    for size in net.sizes:
        found += [rng.normal(size=(width, size)) / np.sqrt(width), np.zeros(size)]
        width = size
    return [jnp.asarray(w, "float32") for w in found]


def forward(weights: list[Any], x: Any) -> Any:
    """What one would write in bare JAX."""
    for i in range(0, len(weights), 2):
        x = x @ weights[i] + weights[i + 1]
        if i < len(weights) - 2:
            x = jnp.tanh(x)
    return x


def squared_error(weights: list[Any], x: Any, y: Any) -> Any:
    return jnp.mean((forward(weights, x) - y) ** 2)


def graftax_net(net: Net) -> Any:
    hidden = [layers.Dense(size, activation="tanh") for size in net.sizes[:-1]]
    model = gx.Sequential([*hidden, layers.Dense(net.sizes[-1])])
    model.build_for(data(net)[0])
    for variable, value in zip(model.trainable_variables, weights(net), strict=True):
        variable.assign(value)
    return model


def keras_net(net: Net) -> Any:
    os.environ["KERAS_BACKEND"] = "jax"
    import keras

    hidden = [keras.layers.Dense(size, activation="tanh") for size in net.sizes[:-1]]
    return keras.Sequential([keras.Input((net.width,)), *hidden, keras.layers.Dense(net.sizes[-1])])


def torch_net(net: Net) -> Any:
    import torch

    parts: list[Any] = []
    width = net.width
    for size in net.sizes:
        parts += [torch.nn.Linear(width, size), torch.nn.Tanh()]
        width = size
    return on_device(torch.nn.Sequential(*parts[:-1]))


def torch_array(x: Any) -> Any:
    import torch

    return on_device(torch.from_numpy(np.array(jax.device_get(x))))


def on_device(thing: Any) -> Any:
    """A tensor or module of PyTorch on the kind of device that JAX uses."""
    return thing.to("cpu" if jax.default_backend() == "cpu" else "cuda")


def nnx_net(net: Net) -> Any:
    from flax import nnx

    class Stacked(nnx.Module):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            rngs, widths = nnx.Rngs(0), (net.width, *net.sizes)
            pairs = itertools.pairwise(widths)
            self.parts = nnx.List([nnx.Linear(a, b, rngs=rngs) for a, b in pairs])

        def __call__(self, x: Any) -> Any:
            for part in self.parts[:-1]:
                x = jnp.tanh(part(x))
            return self.parts[-1](x)

    return Stacked()
