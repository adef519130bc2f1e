"""What Python does around a compiled call that changes many small Variables, beside a flat list in jax.jit."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import graftax as gx
from benchmarks.harness import GRAFTAX, Run, Work
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


WORKS = [
    Work(
        f"overhead of a call in `gx.jit` that changes {count} Variables",
        "compiled, a flat list",
        {"reference": counted(flat_list, count), GRAFTAX: counted(variables, count)},
    )
    for count in (10, 100, 600)
]
