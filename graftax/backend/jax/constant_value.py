"""Values of tracers that are known while a program is traced, since they follow from constants alone."""

from __future__ import annotations

from typing import Any

import jax
import jax.core

from graftax.backend.jax import tracing


def constant_value(value: object) -> Any:
    """Return the value of a tracer that follows from constants alone, as positions in a shape do; else None.

    Inside of a branch or loop it is None, too, since nobody knows whether that will run.
    """
    level = tracing.current_level()
    for one in tracing.levels_above(level):
        written = getattr(
            getattr(getattr(one, "frame", None), "debug_info", None), "traced_for", "jit"
        )  # of grad: none
        if written not in _RUN_ONCE:
            return None
    try:
        with tracing.eagerly():
            return _compute(value, [_MOST_STEPS], {})
    except _NotForeseenError:
        return None


class _NotForeseenError(Exception):
    """A value depends on what the program gets."""


_RUN_ONCE = frozenset(
    {*("jit", "pjit", "make_jaxpr", "remat", "linearize", "vmap", "scan"), "custom_jvp fun", "custom_vjp fun"}
)
_MOST_STEPS = 100


def _compute(value: object, remaining: list[int], computed: dict[int, list[Any]]) -> Any:
    if not isinstance(value, jax.core.Tracer):
        return value
    primal = getattr(value, "primal", None)
    if primal is not None:  # differentiated
        return _compute(primal, remaining, computed)
    constant = value.full_lower()
    if not isinstance(constant, jax.core.Tracer):
        return constant
    atom: Any = getattr(value, "val", None)
    equation: Any = getattr(value, "parent", None)
    if isinstance(atom, tracing.Literal):
        return atom.val
    remaining[0] -= 1  # a long chain is not computed: each call would compute it on the host again
    if equation is None or remaining[0] < 0 or equation.effects or _is_late(equation.primitive):
        raise _NotForeseenError
    if id(equation) not in computed:
        inputs = [_compute(one, remaining, computed) for one in equation.in_tracers]
        computed[id(equation)] = tracing.bind(equation, inputs)
    return computed[id(equation)][next(i for i, out in enumerate(equation.outvars) if out is atom)]


def _is_late(primitive: Any) -> bool:
    """Tell whether it gives what is known when the program runs alone."""
    return primitive is tracing.late_input or primitive.name == "dim_as_value"
