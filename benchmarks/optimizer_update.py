"""One update by Adam of weights that are there, its gradients given: many small ones, and a few large ones."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import graftax as gx
from benchmarks.harness import GRAFTAX, KERAS, TORCH, Run, Work
from benchmarks.nets import torch_array


class Size(NamedTuple):
    """So many square matrices of so many rows."""

    count: int
    rows: int


TINY = Size(2, 3)


def matrices(size: Size, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    shape = (size.rows, size.rows)
    return [jnp.asarray(rng.normal(size=shape), "float32") for _ in range(size.count)]


def hand_written(size: Size) -> Run:
    def update(state: Any, gradients: Any) -> Any:
        weights, m, v, t = state
        t = t + 1
        m = [0.9 * a + 0.1 * g for a, g in zip(m, gradients, strict=True)]
        v = [0.999 * a + 0.001 * g * g for a, g in zip(v, gradients, strict=True)]
        rate = 1e-3 * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        weights = [w - rate * a / (jnp.sqrt(b) + 1e-7) for w, a, b in zip(weights, m, v, strict=True)]
        return (weights, m, v, t), weights[-1][0, 0]

    start, gradients = matrices(size, 0), matrices(size, 1)
    compiled = jax.jit(update, donate_argnums=0)
    zeros = [[jnp.zeros_like(w) for w in start] for _ in range(2)]
    state = [(start, *zeros, jnp.float32(0))]

    def run() -> Any:
        state[0], corner = compiled(state[0], gradients)
        return corner

    return run


def graftax(size: Size) -> Run:
    variables = [gx.Variable(w) for w in matrices(size, 0)]
    gradients = matrices(size, 1)
    optimizer = gx.optimizers.Adam(1e-3)

    @gx.jit
    def update(gradients: Any) -> Any:
        optimizer.apply(gradients, variables)
        return variables[-1][0, 0]

    return lambda: update(gradients)


def keras(size: Size) -> Run:
    import keras

    variables = [keras.Variable(np.asarray(w)) for w in matrices(size, 0)]
    gradients = matrices(size, 1)
    optimizer = keras.optimizers.Adam(1e-3)
    optimizer.build(variables)

    @jax.jit
    def update(values: Any, state: Any, gradients: Any) -> Any:
        return optimizer.stateless_apply(state, gradients, values)

    state = [([v.value for v in variables], [v.value for v in optimizer.variables])]

    def run() -> Any:
        state[0] = update(*state[0], gradients)
        return state[0][0][-1]

    return run


def torch(size: Size) -> Run:
    import torch

    weights = [torch.nn.Parameter(torch_array(w)) for w in matrices(size, 0)]
    for weight, gradient in zip(weights, matrices(size, 1), strict=True):
        weight.grad = torch_array(gradient)
    optimizer = torch.optim.Adam(weights, 1e-3, fused=True)

    def run() -> Any:
        optimizer.step()
        return weights[-1]

    return run


def sized(make: Callable[[Size], Run], size: Size) -> Callable[[bool], Run]:
    return lambda tiny: make(TINY if tiny else size)


WORKS = [
    Work(
        f"update by Adam of {size.count} × ({size.rows}, {size.rows})",
        "compiled",
        {
            "reference": sized(hand_written, size),
            GRAFTAX: sized(graftax, size),
            KERAS: sized(keras, size),
            TORCH: sized(torch, size),
        },
    )
    for size in (Size(500, 64), Size(4, 2048))
]
