"""Clipping: gradients brought down to limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from graftax import ops
from graftax.core.typedefs import Array
from graftax.optimizers.engine.gradients import Pair
from graftax.optimizers.engine.numbers import cast_to, compute_dtype, number
from graftax.variables.variable import Variable

_SCALE = 2.0**-40


@dataclass(frozen=True)
class Limits:
    """Limits in the order in which they act; None for no limit.

    Args:
        value: On the magnitude of each element.
        norm: On the norm of each gradient.
        global_norm: On the norm of all gradients together.
        adaptive: For a variable, on the norm of each unit's gradient relative to that of its weights.
    """

    value: Any
    norm: Any
    global_norm: Any
    adaptive: Callable[[Variable], Any] | None


def clip(pairs: list[Pair], limits: Limits) -> list[Pair]:
    """The gradients, no larger than the limits."""
    if limits.value is not None:
        pairs = [(v, _within(g, number(limits.value, compute_dtype(v.dtype)))) for v, g in pairs]
    if limits.norm is not None:
        pairs = [(v, g * _factor(_norm(_square(g)), number(limits.norm, compute_dtype(v.dtype)))) for v, g in pairs]
    if limits.global_norm is not None and pairs:
        wide = "float64" if any(str(g.dtype) == "float64" for _, g in pairs) else "float32"
        square = ops.sum(ops.stack([cast_to(_square(g), wide) for _, g in pairs]))
        factor = _factor(_norm(square), number(limits.global_norm, wide))
        pairs = [(v, g * cast_to(factor, compute_dtype(v.dtype))) for v, g in pairs]
    if limits.adaptive is not None:
        pairs = [(v, _clip_units(g, v, limits.adaptive(v))) for v, g in pairs]
    return pairs


def _within(gradient: Array, limit: Any) -> Array:
    return ops.clip(gradient, -limit, limit)


def _clip_units(gradient: Array, variable: Variable, limit: Any) -> Array:
    """The gradient of each unit, the last axis of a kernel, no longer than ``limit`` times the unit's weights."""
    if limit is None:
        return gradient
    if 0 in variable.shape:
        return gradient
    dtype = compute_dtype(variable.dtype)
    most = number(limit, dtype) * ops.maximum(_unit_norms(cast_to(variable.value, dtype)), 1e-3)
    norms = _unit_norms(gradient)
    return ops.where(norms > most, gradient * (most / ops.maximum(norms, 1e-6)), gradient)


def _unit_norms(x: Array) -> Array:
    scaled = x * _SCALE
    axes = tuple(range(x.ndim - 1)) if x.ndim > 1 else None
    return _norm(ops.sum(scaled * scaled, axis=axes, keepdims=True))


def _square(gradient: Array) -> Array:
    """The square of the norm, times a power of two that changes no bit, but keeps it from overflowing below 1e31."""
    scaled = gradient * _SCALE
    return ops.sum(scaled * scaled)


def _norm(square: Array) -> Array:
    """The norm that belongs to such a square."""
    return _root(square) / _SCALE


def _root(square: Array) -> Array:
    """The root, with a slope of zero at zero, as the norm of a gradient of zeros is a part of no gradient."""
    zero = ops.equal(square, 0)
    return ops.where(zero, square, ops.sqrt(ops.where(zero, ops.ones_like(square), square)))


def _factor(norm: Array, limit: Any) -> Array:
    """What brings a norm down to the limit: 1 below it; nan, not 0, for a norm that is not finite."""
    factor = ops.where(norm > limit, limit / ops.maximum(norm, limit), ops.ones_like(norm))
    return ops.where(ops.isfinite(norm), factor, float("nan"))
