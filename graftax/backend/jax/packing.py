"""Several small arrays in one, and out of it again.

Where the CPU is the only device the host does it, since memory is all that moves: a program for each tuple of shapes
would take a thousand times as long to compile as to run. Elsewhere, and for shapes that come again and again, each way
is one compiled call, which is three times as quick; in a function being traced, plain operations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from functools import partial
from itertools import accumulate
from math import prod
from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jax import lax

from graftax.core.typedefs import Shape


def join(parts: Sequence[Any]) -> Any:
    """Join all elements in a row."""
    if not _are_concrete(parts):
        return _join(parts)
    if _are_on_the_host(parts) and _is_rare("join", tuple(part.shape for part in parts)):
        return jax.device_put(np.concatenate([np.from_dlpack(part).reshape(-1) for part in parts]))
    return _joined(parts)


def split(row: Any, shapes: Sequence[Shape]) -> list[Any]:
    """Split the array into its parts again."""
    shapes = tuple(shapes)
    if _are_concrete([row]) and _are_on_the_host([row]) and _is_rare("split", shapes):
        # such a view, unlike `np.asarray(row)`, leaves nothing that keeps the memory from being given to a step later
        whole, ends = np.from_dlpack(row), list(accumulate(map(prod, shapes)))
        places = zip([0, *ends], ends, shapes, strict=False)
        parts: list[Any] = jax.device_put([whole[start:end].reshape(shape).copy() for start, end, shape in places])
        return parts
    found: list[Any] = (_parts if _are_concrete([row]) else _split)(row, shapes=shapes)
    return found


def _are_on_the_host(values: Sequence[Any]) -> bool:
    """Return True if they lie in memory that NumPy can read, and are to stay there."""
    devices = jax.devices()
    return (
        len(devices) == 1
        and devices[0].platform == "cpu"
        and all(isinstance(value, jax.Array) and _is_of_numpy(value.dtype) for value in values)
        and all(value.devices() == {devices[0]} for value in values)
    )


def _is_of_numpy(dtype: object) -> bool:
    return isinstance(dtype, np.dtype) and dtype.isbuiltin == 1  # not bfloat16 and its like


_OFTEN = 100  # times, after which the time to compile has been spent otherwise
_times: Counter[Hashable] = Counter()


def _is_rare(way: str, shapes: tuple[Shape, ...]) -> bool:
    key = way, shapes
    _times[key] += 1
    return _times[key] <= _OFTEN


def _are_concrete(values: Sequence[Any]) -> bool:
    return not any(isinstance(value, jax.core.Tracer) for value in values)


def _join(parts: Sequence[Any]) -> Any:
    return lax.concatenate([lax.reshape(part, (prod(part.shape),)) for part in parts], 0)


def _split(row: Any, shapes: Sequence[Shape]) -> list[Any]:
    parts = lax.split(row, [prod(shape) for shape in shapes])
    return [lax.reshape(part, shape) for part, shape in zip(parts, shapes, strict=True)]


@jax.jit
def _joined(parts: Sequence[Any]) -> Any:
    return _join([jnp.asarray(part) for part in parts])


@partial(jax.jit, static_argnames="shapes")
def _parts(row: object, shapes: tuple[Shape, ...]) -> list[Any]:
    return _split(row, shapes)
