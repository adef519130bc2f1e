"""Several small arrays in one, and out of it again.

Where the CPU is the only device the host does it, since memory is all that moves: a program for each tuple of shapes
would take a thousand times as long to compile as to run. Elsewhere, and for shapes that come again and again, each way
is one compiled call, which is three times as quick. Under a tape and in a function being traced: plain operations, as
whoever records them must see them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from itertools import accumulate
from math import prod
from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jax import lax

from graftax.backend.jax import tracing
from graftax.core.typedefs import Shape


def join(parts: Sequence[Any]) -> Any:
    """Join all elements in a row."""
    if not _are_concrete(parts) or not tracing.runs_at_once():
        return _join(parts)
    if _are_on_the_host(parts) and _is_rare("join", tuple(part.shape for part in parts)):
        return jax.device_put(np.concatenate([np.from_dlpack(part).reshape(-1) for part in parts]))
    return _join_parts(parts)


def split(row: Any, shapes: Sequence[Shape]) -> list[Any]:
    """Split the array into its parts again."""
    shapes = tuple(shapes)
    if not _are_concrete([row]) or not tracing.runs_at_once():
        return _split(row, shapes)
    if _are_on_the_host([row]) and _is_rare("split", shapes):
        # such a view, unlike `np.asarray(row)`, leaves nothing that keeps the memory from being given to a step later
        whole, ends = np.from_dlpack(row), list(accumulate(map(prod, shapes)))
        places = zip([0, *ends], ends, shapes, strict=False)
        parts: list[Any] = jax.device_put([whole[start:end].reshape(shape).copy() for start, end, shape in places])
        return parts
    found: list[Any] = _parts(row, shapes=shapes)
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
    shape = _common_shape(part.shape for part in parts)
    if shape:  # in as few operations as there can be: hundreds are traced where there are many layers
        return lax.reshape(lax.concatenate(parts, 0), (len(parts) * prod(shape),))
    return lax.concatenate([lax.reshape(part, (prod(part.shape),)) for part in parts], 0)


def _split(row: Any, shapes: Sequence[Shape]) -> list[Any]:
    shape = _common_shape(shapes)
    if shape:
        rows = lax.reshape(row, (len(shapes) * shape[0], *shape[1:]))
        return list(lax.split(rows, [shape[0]] * len(shapes)))
    parts = lax.split(row, [prod(shape) for shape in shapes])
    return [lax.reshape(part, shape) for part, shape in zip(parts, shapes, strict=True)]


def _common_shape(shapes: Iterable[Shape]) -> Shape:
    """Return the shape that all have; an empty one where they differ."""
    found = {tuple(shape) for shape in shapes}
    return found.pop() if len(found) == 1 else ()


@jax.jit
def _join_parts(parts: Sequence[Any]) -> Any:
    return _join([jnp.asarray(part) for part in parts])


@partial(jax.jit, static_argnames="shapes")
def _parts(row: object, shapes: tuple[Shape, ...]) -> list[Any]:
    return _split(row, shapes)
