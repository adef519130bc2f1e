"""What compiling your own formulas gains: a silly activation and a home-made optimizer, against op by op."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import graftax as gx
from benchmarks.harness import COMPILED, GRAFTAX, JITTED, TORCH, Run, Work
from benchmarks.nets import torch_array
from graftax import ops


def silly(xp: Any, x: Any) -> Any:
    """The activation of examples/silly_activation.py, in any library whose functions have these names."""
    ramp = xp.maximum(x, 0.1 * x) + 0.5 * xp.abs(x - 1)
    bump = 1 / (1 + xp.square(x) + 0.1 * xp.square(xp.square(x)))
    kink = xp.where(x > 0, ramp * bump, ramp - bump)
    soft = kink / (1 + xp.abs(kink)) + 0.01 * xp.square(kink - x)
    return xp.clip(soft - 0.25 * bump * ramp, -2.0, 2.0) + 0.1 * xp.tanh(x)


def point(tiny: bool) -> Any:
    return jnp.asarray(np.random.default_rng(0).normal(size=(2, 3) if tiny else (256, 1024)), "float32")


def of_point(function: Callable[[Any], Any]) -> Callable[[bool], Run]:
    def setup(tiny: bool) -> Run:
        x = point(tiny)
        return lambda: function(x)

    return setup


def torch_silly(tiny: bool) -> Run:
    import torch

    x = torch_array(point(tiny))
    return lambda: silly(torch, x)


def compiled_silly(tiny: bool) -> Run:
    import torch

    x, function = torch_array(point(tiny)), torch.compile(lambda x: silly(torch, x))
    return lambda: function(x)


def torch_slope(compiles: bool) -> Callable[[bool], Run]:
    def setup(tiny: bool) -> Run:
        import torch

        x = torch_array(point(tiny)).requires_grad_()

        def total(x: Any) -> Any:
            return silly(torch, x).sum()

        function = torch.compile(total) if compiles else total
        return lambda: torch.autograd.grad(function(x), x)[0]

    return setup


def jax_silly(x: Any) -> Any:
    return silly(jnp, x)


def graftax_silly(x: Any) -> Any:
    return silly(ops, x)


def graftax_slope(x: Any) -> Any:
    return gx.grad(lambda x: ops.sum(silly(ops, x)))(x)


jax_slope = jax.grad(lambda x: jnp.sum(silly(jnp, x)))


class SignMomentum(gx.Optimizer):
    """The optimizer of the README."""

    def __init__(self) -> None:
        super().__init__(1e-3)

    def create_slots(self, variable: Any) -> dict[str, gx.Slot]:
        return {"momentum": gx.Slot()}

    def update(self, gradient: Any, value: Any, slots: Any, step: Any) -> Any:
        momentum = 0.9 * slots.momentum + 0.1 * gradient
        return value - step.learning_rate * ops.sign(momentum), {"momentum": momentum}


def many(tiny: bool) -> list[Any]:
    rng = np.random.default_rng(0)
    return [jnp.asarray(rng.normal(size=(2, 2) if tiny else (64, 64)), "float32") for _ in range(2 if tiny else 50)]


def jax_update(compile: bool) -> Callable[[bool], Run]:
    def setup(tiny: bool) -> Run:
        def update(values: Any, momenta: Any, gradients: Any) -> Any:
            momenta = [0.9 * m + 0.1 * g for m, g in zip(momenta, gradients, strict=True)]
            values = [w - 1e-3 * jnp.sign(m) for w, m in zip(values, momenta, strict=True)]
            return values, momenta, jnp.sum(values[-1])

        function = jax.jit(update, donate_argnums=(0, 1)) if compile else update
        gradients, state = many(tiny), [many(tiny), [jnp.zeros_like(w) for w in many(tiny)]]

        def run() -> Any:
            *state[:], total = function(*state, gradients)
            return total

        return run

    return setup


def graftax_update(compile: bool) -> Callable[[bool], Run]:
    def setup(tiny: bool) -> Run:
        variables, gradients, optimizer = [gx.Variable(w) for w in many(tiny)], many(tiny), SignMomentum()

        def update(gradients: Any) -> Any:
            optimizer.apply(gradients, variables)
            return ops.sum(variables[-1])

        function = gx.jit(update) if compile else update
        return lambda: function(gradients)

    return setup


VALUE = {"reference": of_point(jax_silly), JITTED: of_point(jax.jit(jax_silly)), TORCH: torch_silly}
SLOPE = {"reference": of_point(jax_slope), JITTED: of_point(jax.jit(jax_slope)), TORCH: torch_slope(False)}
INDUCTED, SLOPE_INDUCTED = {COMPILED: compiled_silly}, {COMPILED: torch_slope(True)}
UPDATE = {"reference": jax_update(False), JITTED: jax_update(True)}

WORKS = [
    Work("silly activation, 256 × 1024, op by op", "op by op", VALUE | {GRAFTAX: of_point(graftax_silly)}),
    Work(
        "silly activation, 256 × 1024, in `gx.jit`",
        "op by op",
        VALUE | INDUCTED | {GRAFTAX: of_point(gx.jit(graftax_silly))},
    ),
    Work(
        "its derivative, in `gx.jit`", "op by op", SLOPE | SLOPE_INDUCTED | {GRAFTAX: of_point(gx.jit(graftax_slope))}
    ),
    Work("own optimizer, 50 × (64, 64), called eagerly", "op by op", UPDATE | {GRAFTAX: graftax_update(False)}),
    Work("own optimizer, 50 × (64, 64), in `gx.jit`", "op by op", UPDATE | {GRAFTAX: graftax_update(True)}),
]
