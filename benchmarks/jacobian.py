"""A Jacobian of 30×30 numbers with respect to 30×30, all at once and one gradient after the other."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import graftax as gx
from benchmarks.harness import GRAFTAX, TORCH, Run, Work
from benchmarks.nets import torch_array
from graftax import ops


def point(tiny: bool) -> Any:
    size = 3 if tiny else 30
    return jnp.asarray(np.random.default_rng(0).normal(size=(size, size)) * 0.1, "float32")


def f(x: Any) -> Any:
    return ops.exp(ops.matmul(x, x))


def hand_written(tiny: bool) -> Run:
    x, compiled = point(tiny), jax.jit(jax.jacrev(lambda x: jnp.exp(x @ x)))
    return lambda: compiled(x)


def by_function(tiny: bool) -> Run:
    x, compiled = point(tiny), gx.jit(lambda x: gx.jacobian(f, x))
    return lambda: compiled(x)


def by_tape(tiny: bool) -> Run:
    @gx.jit
    def compiled(x: Any) -> Any:
        with gx.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.jacobian(y, x)

    x = point(tiny)
    return lambda: compiled(x)


def by_loop(tiny: bool) -> Run:
    x = point(tiny)
    gradient = gx.jit(lambda x, i, j: gx.grad(lambda x: f(x)[i, j])(x))
    indices = range(len(x))
    return lambda: np.stack([[np.asarray(gradient(x, i, j)) for j in indices] for i in indices])


def torch_jacobian(tiny: bool) -> Run:
    import torch

    x, function = torch_array(point(tiny)), torch.func.jacrev(lambda x: torch.exp(x @ x))
    return lambda: function(x)


def hand_written_batch(tiny: bool) -> Run:
    x, kernel = point(tiny), point(tiny).T
    compiled = jax.jit(jax.vmap(jax.jacrev(lambda row: jnp.exp(jnp.tanh(row) @ kernel))))
    return lambda: compiled(x)


def batch(tiny: bool) -> Run:
    x, kernel = point(tiny), point(tiny).T
    compiled = gx.jit(lambda x: gx.batch_jacobian(lambda x: ops.exp(ops.matmul(ops.tanh(x), kernel)), x))
    return lambda: compiled(x)


WORKS = [
    Work(
        "Jacobian 30×30 by 30×30: `gx.jacobian`",
        "compiled `jacrev`",
        {"reference": hand_written, GRAFTAX: by_function, TORCH: torch_jacobian},
    ),
    Work(
        "Jacobian 30×30 by 30×30: `tape.jacobian`", "compiled `jacrev`", {"reference": hand_written, GRAFTAX: by_tape}
    ),
    Work(
        "Jacobian 30×30 by 30×30: loop of compiled gradients",
        "compiled `jacrev`",
        {"reference": hand_written, GRAFTAX: by_loop},
    ),
    Work(
        "Jacobians of 30 examples of 30 numbers: `gx.batch_jacobian`",
        "compiled `vmap(jacrev)`",
        {"reference": hand_written_batch, GRAFTAX: batch},
    ),
]
