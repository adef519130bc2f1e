"""A training step: forward, backward, Adam; state donated where the contestant can."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import graftax as gx
from benchmarks.harness import COMPILED, GRAFTAX, KERAS, NNX, TORCH, Run, Work
from benchmarks.nets import (
    TINY,
    Net,
    data,
    graftax_net,
    keras_net,
    nnx_net,
    squared_error,
    torch_array,
    torch_net,
    weights,
)
from graftax import ops

NETS = {
    "tiny MLP, 32 × (16, 32, 32, 1)": Net((32, 32, 1), 16, 32),
    "200 small weights, 100 × Dense(16)": Net((16,) * 100, 16, 32),
    "big dense layers, 256 × (1024, 1024, 1024, 10)": Net((1024, 1024, 10), 1024, 256),
}


MANY = 10  # layers, from which on torch.compile takes minutes


def hand_written(net: Net) -> Run:
    """What one would write in bare JAX."""

    def step(state: Any, x: Any, y: Any) -> Any:
        weights, m, v, t = state
        t = t + 1
        value, gradients = jax.value_and_grad(squared_error)(weights, x, y)
        m = [0.9 * a + 0.1 * g for a, g in zip(m, gradients, strict=True)]
        v = [0.999 * a + 0.001 * g * g for a, g in zip(v, gradients, strict=True)]
        rate = 1e-3 * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        weights = [w - rate * a / (jnp.sqrt(b) + 1e-7) for w, a, b in zip(weights, m, v, strict=True)]
        return (weights, m, v, t), value

    (x, y), start = data(net), weights(net)
    compiled = jax.jit(step, donate_argnums=0)
    state = [(start, [jnp.zeros_like(w) for w in start], [jnp.zeros_like(w) for w in start], jnp.float32(0))]

    def run() -> Any:
        state[0], value = compiled(state[0], x, y)
        return value

    return run


def own_loop(net: Net) -> Run:
    """A hand-written loop over graftax's public pieces."""
    (x, y), model, optimizer = data(net), graftax_net(net), gx.optimizers.Adam(1e-3)
    variables = model.trainable_variables

    @gx.jit
    def step(x: Any, y: Any) -> Any:
        loss, gradients = gx.value_and_grad(lambda: ops.mean((model(x) - y) ** 2), wrt=variables)()
        optimizer.apply(gradients, variables)
        return loss

    return lambda: step(x, y)


def step_of_fit(net: Net) -> Run:
    """What fit runs for each batch, metrics included."""
    batch, model = data(net), graftax_net(net)
    model.compile(gx.optimizers.Adam(1e-3), "mse")
    step = model._gx_compiled_step("train_step")
    return lambda: step(batch)["loss"]


def keras_step(net: Net) -> Run:
    model = keras_net(net)
    model.compile("adam", "mse")
    x, y = (np.asarray(a) for a in data(net))
    return lambda: model.train_on_batch(x, y)


def nnx_step(net: Net) -> Run:
    import optax
    from flax import nnx

    (x, y), model = data(net), nnx_net(net)
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)

    @nnx.jit
    def step(model: Any, optimizer: Any, x: Any, y: Any) -> Any:
        loss, gradients = nnx.value_and_grad(lambda model: jnp.mean((model(x) - y) ** 2))(model)
        optimizer.update(model, gradients)
        return loss

    return lambda: step(model, optimizer, x, y)


def compiled_torch_step(net: Net) -> Run:
    return torch_step(net, compiles=True)


def torch_step(net: Net, compiles: bool = False) -> Run:
    import torch

    (x, y), model = (torch_array(a) for a in data(net)), torch_net(net)
    if compiles:
        model = torch.compile(model)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3, fused=True)

    def run() -> Any:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return run


def sized(make: Callable[[Net], Run], net: Net) -> Callable[[bool], Run]:
    """A contestant for that net, or the tiny one."""
    return lambda tiny: make(TINY if tiny else net)


WORKS = [
    Work(
        f"training step, {name}: {way}",
        "compiled",
        {
            "reference": sized(hand_written, net),
            GRAFTAX: sized(graftax, net),
            NNX: sized(nnx_step, net),
            KERAS: sized(keras_step, net),
            TORCH: sized(torch_step, net),
        }
        | ({COMPILED: sized(compiled_torch_step, net)} if graftax is own_loop and len(net.sizes) < MANY else {}),
    )
    for name, net in NETS.items()
    for way, graftax in {"own loop": own_loop, "the step of `fit`": step_of_fit}.items()
]
