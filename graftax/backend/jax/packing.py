"""Several small arrays in one: each way is one compiled call, or plain operations in a function being traced."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

import jax
import jax.core
import jax.numpy as jnp
from jax import lax

from graftax.core.typedefs import Shape


def join(parts: Sequence[Any]) -> Any:
    """Join all elements in a row."""
    return _joined(parts) if _are_concrete(parts) else _join(parts)


def split(row: object, shapes: Sequence[Shape]) -> list[Any]:
    """Split the array into its parts again."""
    found: list[Any] = (_parts if _are_concrete([row]) else _split)(row, shapes=tuple(shapes))
    return found


def _are_concrete(values: Sequence[Any]) -> bool:
    return not any(isinstance(value, jax.core.Tracer) for value in values)


def _join(parts: Sequence[Any]) -> Any:
    return lax.concatenate([lax.reshape(part, (prod(part.shape),)) for part in parts], 0)


def _split(row: Any, shapes: Sequence[Shape]) -> list[Any]:
    parts, start = [], 0
    for shape in shapes:
        end = start + prod(shape)
        parts.append(lax.reshape(lax.slice(row, (start,), (end,)), shape))
        start = end
    return parts


@jax.jit
def _joined(parts: Sequence[Any]) -> Any:
    return _join([jnp.asarray(part) for part in parts])


@partial(jax.jit, static_argnames="shapes")
def _parts(row: object, shapes: tuple[Shape, ...]) -> list[Any]:
    return _split(row, shapes)
