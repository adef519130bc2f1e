"""Clipping: gradients brought down to limits."""

from __future__ import annotations

from typing import Any

from graftax import ops
from graftax.core.typedefs import Array
from graftax.optimizers.engine.arithmetic import root
from graftax.optimizers.engine.numbers import cast_to, compute_dtype, number
from graftax.optimizers.engine.total import total
from graftax.optimizers.engine.update import Update
from graftax.variables.variable import Variable

_SCALE = 2.0**-40


def has_limits(updates: list[Update], *limits: float | None) -> bool:
    """Tell whether there is anything to clip, by limits of the optimizer or by rules that set one."""
    return any(limit is not None for limit in limits) or any(u.settings.adaptive_clip is not None for u in updates)


def clip(
    updates: list[Update],
    value: float | None = None,
    norm: float | None = None,
    global_norm: float | None = None,
    adaptive: float | None = None,
) -> list[Update]:
    """Bring gradients down to limits, which act in the order of the arguments; each defaults to None, no limit.

    Args:
        updates: Whose gradients.
        value: On the magnitude of each element. Defaults to None, no limit.
        norm: On the norm of each gradient. Defaults to None, no limit.
        global_norm: On the norm of all gradients together. Defaults to None, no limit.
        adaptive: On the norm of each unit's gradient, relative to that of its weights; settings may replace it.
            Defaults to None, no limit.
    """
    if value is not None:
        updates = [u.with_gradient(_clip(u.gradient, _number(value, u))) for u in updates]
    if norm is not None:
        updates = [u.with_gradient(u.gradient * _factor(_norm(_square(u.gradient)), _number(norm, u))) for u in updates]
    if global_norm is not None and updates:
        # one dtype for all squares: what is added up must not depend on which variable comes first
        wide = "float64" if any(str(u.gradient.dtype) == "float64" for u in updates) else "float32"
        square = total([cast_to(_square(u.gradient), wide) for u in updates])
        factor = _factor(_norm(square), number(global_norm, wide))
        updates = [u.with_gradient(u.gradient * cast_to(factor, compute_dtype(u.variable.dtype))) for u in updates]
    if adaptive is not None or any(u.settings.adaptive_clip is not None for u in updates):
        updates = [u.with_gradient(_clip_units(u.gradient, u.variable, u.settings.limit(adaptive))) for u in updates]
    return updates


def _number(limit: float, update: Update) -> Any:
    return number(limit, compute_dtype(update.variable.dtype))


def _clip(gradient: Array, limit: Any) -> Array:
    return ops.clip(gradient, -limit, limit)


def _clip_units(gradient: Array, variable: Variable, limit: object) -> Array:
    """Return the gradient with each unit, the last axis of a kernel, at most ``limit`` times as long as its weights."""
    if limit is None:
        return gradient
    if 0 in variable.shape:
        return gradient
    dtype = compute_dtype(variable.dtype)
    most = number(limit, dtype) * ops.maximum(_unit_norms(cast_to(variable._gx_stored, dtype)), 1e-3)
    norms = _unit_norms(gradient)
    return ops.where(norms > most, gradient * (most / ops.maximum(norms, 1e-6)), gradient)


def _unit_norms(x: Array) -> Array:
    scaled = x * _SCALE
    axes = tuple(range(x.ndim - 1)) if x.ndim > 1 else None
    return _norm(ops.sum(scaled * scaled, axis=axes, keepdims=True))


def _square(gradient: Array) -> Array:
    """Return the square of the norm, times a power of two that changes no bit, but keeps it finite below 1e31."""
    scaled = gradient * _SCALE
    return ops.sum(scaled * scaled)


def _norm(square: Array) -> Array:
    """Return the norm that belongs to such a square."""
    return root(square) / _SCALE


def _factor(norm: Array, limit: Any) -> Array:
    """Return what brings a norm down to the limit: 1 below it; nan, not 0, for a norm that is not finite."""
    factor = ops.where(norm > limit, limit / ops.maximum(norm, limit), ops.ones_like(norm))
    return ops.where(ops.isfinite(norm), factor, float("nan"))
