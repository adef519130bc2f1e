"""Python called from inside a program of JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.experimental import io_callback


def call_python(
    function: Callable[..., Sequence[Any]],
    pull: Callable[..., Sequence[Any]],
    shapes: Sequence[Any],
    args: Sequence[Any],
) -> list[Any]:
    """``function(*args)`` with concrete arrays, differentiated by ``pull``."""
    results = [_abstract(shape) for shape in shapes]
    floating = [jax.numpy.issubdtype(arg.dtype, jax.numpy.inexact) for arg in args]

    def run(*values: Any) -> list[Any]:
        return _at_the_host(function, results, values)

    def forwards(*values: Any) -> tuple[list[Any], Any]:
        return run(*values), values

    def backwards(values: Any, cotangents: Any) -> tuple[Any, ...]:
        wanted = [_abstract(value) for value, ok in zip(values, floating, strict=True) if ok]
        given = [c if c.dtype != jax.dtypes.float0 else np.zeros(c.shape, "float32") for c in cotangents]
        pulled = iter(_at_the_host(lambda *a: pull(a[: len(given)], *a[len(given) :]), wanted, [*given, *values]))
        return tuple(
            next(pulled) if ok else np.zeros(value.shape, jax.dtypes.float0)
            for value, ok in zip(values, floating, strict=True)
        )

    if not results:
        io_callback(lambda *values: tuple(function(*map(jax.numpy.asarray, values))), (), *args)
        return []
    differentiable = jax.custom_vjp(run)
    differentiable.defvjp(forwards, backwards)
    return list(differentiable(*args))


def _at_the_host(function: Callable[..., Sequence[Any]], results: list[Any], values: Sequence[Any]) -> list[Any]:
    if not any(isinstance(value, jax.core.Tracer) for value in values):
        return list(function(*values))  # nothing is being traced: an exception stays what it is

    def called(*given: Any) -> list[np.ndarray[Any, Any]]:
        return [np.asarray(result) for result in function(*(jax.numpy.asarray(value) for value in given))]

    return list(jax.pure_callback(called, results, *values, vmap_method="sequential"))


def _abstract(shape: Any) -> Any:
    return jax.ShapeDtypeStruct(shape.shape, shape.dtype)
