"""What Python does around a compiled call that changes many small Variables, beside a flat list in jax.jit."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import graftax as gx
from benchmarks.harness import GRAFTAX, TORCH, Run, Work
from benchmarks.nets import torch_array
from graftax import ops


def flat_list(count: int) -> Run:
    def shrink(arrays: list[Any]) -> Any:
        arrays = [a * 0.999 for a in arrays]
        return arrays, jnp.sum(arrays[-1])

    state = [[jnp.full(4, 1.0 + i) for i in range(count)]]
    compiled = jax.jit(shrink, donate_argnums=0)

    def run() -> Any:
        state[0], total = compiled(state[0])
        return total

    return run


def variables(count: int) -> Run:
    found = [gx.Variable(np.full(4, 1.0 + i, "float32")) for i in range(count)]

    @gx.jit
    def shrink() -> Any:
        for variable in found:
            variable.assign(variable * 0.999)
        return ops.sum(found[-1])

    return shrink


def counted(make: Callable[[int], Run], count: int) -> Callable[[bool], Run]:
    return lambda tiny: make(3 if tiny else count)


def empty(compiled: Callable[[Any], Any]) -> Callable[[bool], Run]:
    """An almost empty function."""

    def setup(tiny: bool) -> Run:
        x, function = jnp.ones(4), compiled(lambda x: x + 1)
        return lambda: function(x)

    return setup


OPERATIONS = 100


def slope_op_by_op(tiny: bool) -> Run:
    """Operations recorded one by one, as torch and a tape do."""
    x, count = jnp.ones(16), 3 if tiny else OPERATIONS

    def chain(x: Any) -> Any:
        for _ in range(count):
            x = jnp.tanh(x)
        return jnp.sum(x)

    gradient = jax.grad(chain)
    return lambda: gradient(x)


def slope_by_tape(tiny: bool) -> Run:
    x, count = gx.Variable(jnp.ones(16)), 3 if tiny else OPERATIONS

    def run() -> Any:
        with gx.GradientTape() as tape:
            y = x.value
            for _ in range(count):
                y = ops.tanh(y)
            y = ops.sum(y)
        return tape.gradient(y, x)

    return run


def slope_by_torch(tiny: bool) -> Run:
    import torch

    x, count = torch_array(jnp.ones(16)).requires_grad_(), 3 if tiny else OPERATIONS

    def run() -> Any:
        y = x
        for _ in range(count):
            y = torch.tanh(y)
        return torch.autograd.grad(y.sum(), x)[0]

    return run


WORKS = [
    Work(
        "call of an almost empty function in `gx.jit`",
        "compiled",
        {"reference": empty(jax.jit), GRAFTAX: empty(gx.jit)},
    ),
    Work(
        f"gradient of {OPERATIONS} eager operations, by a tape",
        "op by op",
        {"reference": slope_op_by_op, GRAFTAX: slope_by_tape, TORCH: slope_by_torch},
    ),
    *(
        Work(
            f"overhead of a call in `gx.jit` that changes {count} Variables",
            "compiled, a flat list",
            {"reference": counted(flat_list, count), GRAFTAX: counted(variables, count)},
        )
        for count in (10, 100, 600)
    ),
]
