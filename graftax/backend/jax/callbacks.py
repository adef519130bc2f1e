"""Python called from inside a program of JAX."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback

from graftax.backend.jax import tracing

Function = Callable[..., Sequence[Any]]


def call_python(
    function: Function,
    differentiate: Callable[[Function, int], Function],
    shapes: Callable[[], Sequence[Any]],
    args: Sequence[Any],
) -> list[Any]:
    """Call ``function(*args)`` with concrete arrays; its derivatives, of any order, are such calls, too."""
    differentiable = jax.custom_vjp(lambda *values: _at_the_host(function, shapes, values))

    def forwards(*values: Any) -> tuple[list[Any], Any]:
        return differentiable(*values), values  # itself, for a gradient around this one

    def backwards(values: Sequence[Any], cotangents: Sequence[Any]) -> tuple[Any, ...]:
        floats = [i for i, value in enumerate(values) if _is_floating(value)]
        given = [c for c in cotangents if c.dtype != jax.dtypes.float0]

        pull = differentiate(function, len(given))
        pulled = iter(call_python(pull, differentiate, lambda: [values[i] for i in floats], [*given, *values]))
        return tuple(
            next(pulled) if i in floats else np.zeros(value.shape, jax.dtypes.float0) for i, value in enumerate(values)
        )

    differentiable.defvjp(forwards, backwards)
    with original_exceptions():
        return list(differentiable(*args))


@contextmanager
def original_exceptions() -> Iterator[None]:
    """Raise in the block what Python raised that a program called, and that ended the program."""
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        for raised in reversed([*_raised]):  # those of other threads may be among them
            if f"{type(raised).__name__}: {raised}" in str(error):
                _raised.clear()
                raise raised from None
        raise


_raised: deque[BaseException] = deque(maxlen=8)


def call_for_effect(function: Function, args: Sequence[Any]) -> None:
    """Call ``function(*args)`` with concrete arrays when the program runs."""
    if _is_staged(args):
        io_callback(lambda *values: tuple(function(*map(jnp.asarray, values))), (), *args)
    else:
        function(*args)


def settle() -> None:
    """Wait until the effects of all programs that were started have happened."""
    jax.effects_barrier()


def _at_the_host(function: Function, shapes: Callable[[], Sequence[Any]], values: Sequence[Any]) -> list[Any]:
    if not _is_staged(values):
        return list(function(*values))  # an exception stays what it is

    def called(*args: Any) -> list[np.ndarray[Any, Any]]:
        try:
            return [np.asarray(result) for result in function(*map(jnp.asarray, args))]
        except BaseException as error:
            _raised.append(error)
            raise

    results = [jax.ShapeDtypeStruct(shape.shape, shape.dtype) for shape in shapes()]
    return list(jax.pure_callback(called, results, *values, vmap_method="sequential"))


def _is_staged(values: Sequence[Any]) -> bool:
    return tracing.is_staged_within(None) or any(isinstance(value, jax.core.Tracer) for value in values)


def _is_floating(value: object) -> bool:
    return bool(jnp.issubdtype(jnp.result_type(value), jnp.inexact))
