"""Gradients that are told rather than derived."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from graftax.backend.jax import tracing
from graftax.core.errors import GradientError
from graftax.core.typedefs import Array


def tap(value: object, token: object, hear: Callable[[Any], None], level: object) -> Any:
    """Return the value at a level, where ``token`` is differentiated; ``hear`` gets the cotangent of the value."""

    @jax.custom_vjp
    def same(value: object, token: object) -> Any:
        return value

    def forward(value: object, token: object) -> tuple[Any, None]:
        return value, None

    def backward(_: None, cotangent: object) -> tuple[None, None]:
        hear(cotangent)
        return None, None

    same.defvjp(forward, backward)
    with tracing.at(level):
        return same(value, token)


def call(
    function: Callable[[list[Any]], list[Any]],
    forward: Callable[[list[Any]], tuple[list[Any], list[Any], Any]],
    backward: Callable[[list[Any], Any, list[Any]], list[Any]],
    inputs: list[Any],
    refused: Sequence[Callable[[], Exception] | None],
) -> list[Any]:
    """Call ``function(inputs)``, with a rule for its cotangents."""

    def forwards(leaves: list[Any]) -> tuple[list[Any], Any]:
        for one, explain in zip(leaves, refused, strict=True):
            if explain is not None and one.perturbed:
                raise explain()
        results, arrays, kept = forward([one.value for one in leaves])
        return results, (arrays, _Static(kept))

    def backwards(residual: Any, cotangents: list[Any]) -> tuple[list[Any]]:
        arrays, kept = residual
        return (backward(arrays, kept.value, [_instantiate(one) for one in cotangents]),)

    differentiable = jax.custom_vjp(function)
    differentiable.defvjp(forwards, backwards, symbolic_zeros=True)
    try:
        return list(differentiable(inputs))
    except jax.errors.UnexpectedTracerError as error:
        raise closure_error() from error


def _instantiate(cotangent: Array) -> Any:
    """Return the cotangent as an array; None for that of an integer."""
    if cotangent.dtype == jax.dtypes.float0:
        return None
    if isinstance(cotangent, jax.custom_derivatives.SymbolicZero):
        zero: Any = cotangent
        return jnp.zeros(zero.shape, zero.dtype)
    return cotangent


@jax.tree_util.register_static
class _Static:
    """An object among residuals, told apart by identity."""

    def __init__(self, value: object) -> None:
        self.value = value


def closure_error() -> GradientError:
    """Return the error for a value that is differentiated and that a function with its own gradient closes over."""
    return GradientError(
        "a function with a gradient of its own closes over an array that is differentiated outside",
        "its rule says nothing about that array",
        "pass the array as a positional argument, or ops.stop_gradient of it as a keyword argument",
    )
