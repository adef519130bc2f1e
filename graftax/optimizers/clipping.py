"""Clipping: gradients brought down to limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from graftax import ops
from graftax.optimizers.gradients import Pair, cast_to
from graftax.optimizers.rate import number
from graftax.optimizers.slot import compute_dtype
from graftax.transforms.control_flow import cond
from graftax.typedefs import Array
from graftax.variables.variable import Variable


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
    if limits.norm is not None and pairs:
        norms = _norms([g for _, g in pairs])
        pairs = [
            (v, g * _factor(norm, number(limits.norm, compute_dtype(v.dtype))))
            for (v, g), norm in zip(pairs, norms, strict=True)
        ]
    if limits.global_norm is not None and pairs:
        wide = "float64" if any(str(g.dtype) == "float64" for _, g in pairs) else "float32"
        factor = _factor(_norm_of_all([g for _, g in pairs], wide), number(limits.global_norm, wide))
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
    return _large_norm(x, tuple(range(x.ndim - 1)) if x.ndim > 1 else tuple(range(x.ndim)))


def _norms(gradients: Sequence[Array]) -> list[Array]:
    """The norm of each gradient."""
    squares = [ops.sum(g * g) for g in gradients]
    finite = ops.all(ops.stack([ops.isfinite(square) for square in squares]))
    return list(cond(finite, lambda: [_root(s) for s in squares], lambda: [_large_norm(g) for g in gradients]))


def _norm_of_all(gradients: Sequence[Array], dtype: str) -> Array:
    """The norm of all of them together, in a dtype."""
    square = ops.sum(ops.stack([cast_to(ops.sum(g * g), dtype) for g in gradients]))

    def large() -> Array:
        return _large_norm(ops.stack([cast_to(_large_norm(g), dtype) for g in gradients]))

    return cast(Array, cond(ops.isfinite(square), lambda: _root(square), large))


def _root(square: Array) -> Array:
    """The root, with a slope of zero at zero, as the norm of a gradient of zeros is a part of no gradient."""
    zero = ops.equal(square, 0)
    return ops.where(zero, square, ops.sqrt(ops.where(zero, ops.ones_like(square), square)))


def _large_norm(x: Array, axes: tuple[int, ...] | None = None) -> Array:
    """The norm of what is finite itself, but has squares that are not; nan or inf where it is neither."""
    if 0 in x.shape:
        return ops.sum(x)
    largest = ops.maximum(ops.max(ops.abs(x), axis=axes, keepdims=axes is not None), 1.0)
    return largest * _root(ops.sum((x / largest) ** 2, axis=axes, keepdims=axes is not None))


def _factor(norm: Array, limit: Any) -> Array:
    """What brings a norm down to the limit: 1 below it; nan, not 0, for a norm that is not finite."""
    factor = ops.where(norm > limit, limit / ops.maximum(norm, limit), ops.ones_like(norm))
    return ops.where(ops.isfinite(norm), factor, float("nan"))
