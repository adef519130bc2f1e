"""State of many arrays: read after a step that moved them together, and chosen by their paths."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import graftax as gx
from benchmarks.harness import GRAFTAX, Run, Work

READ, CHOSEN, AMONG = 100, 50, 5000


def shapes(tiny: bool) -> list[tuple[int, int]]:
    """Shapes of small weights, some of which are alike."""
    return [(4 + i % 7, 5) for i in range(4 if tiny else READ)]


def read_by_hand(tiny: bool) -> Run:
    weights = [jnp.ones(shape) for shape in shapes(tiny)]
    step = jax.jit(lambda values: [value - 0.1 for value in values], donate_argnums=0)
    weights = jax.block_until_ready(step(weights))
    return lambda: sum(float(np.sum(np.asarray(weight))) for weight in weights)


def read(tiny: bool) -> Run:
    weights = [gx.Variable(np.ones(shape, "float32")) for shape in shapes(tiny)]
    gradients, optimizer = [jnp.ones(shape) for shape in shapes(tiny)], gx.optimizers.SGD(0.1)
    gx.jit(lambda: optimizer.apply(gradients, weights))()
    return lambda: sum(float(np.sum(weight.numpy())) for weight in weights)


def places(tiny: bool) -> tuple[gx.Module, list[str]]:
    """A module of many Variables, and the paths of some of them."""
    module = gx.Module()
    module.parts = [gx.Variable(0.0) for _ in range(8 if tiny else AMONG)]
    return module, [f"parts/{i}" for i in range(2 if tiny else CHOSEN)]


def looked_up(tiny: bool) -> Run:
    """The paths of all, and a set of those that are meant."""
    module, paths = places(tiny)
    return lambda: len([path for path in module.named_variables() if path in set(paths)])


def frozen(tiny: bool) -> Run:
    module, paths = places(tiny)
    return lambda: len(module.freeze(paths))


def work(name: str, reference: str, by_hand: Callable[[bool], Run], ours: Callable[[bool], Run], **kind: Any) -> Work:
    return Work(name, reference, {"reference": by_hand, GRAFTAX: ours}, **kind)


WORKS = [
    work(f"first read of {READ} small weights after a step", "as many arrays", read_by_hand, read, first_call=True),
    work(f"`freeze` of {CHOSEN} of {AMONG:,} Variables by their paths", "a set of paths", looked_up, frozen),
]
