"""Functions that use an element several times: its gradient is a sum, in float32 where the element has half precision.

In bfloat16 a sum of ones ends at 256. A row of an embedding that a batch looks up a thousand times, and a bias that is
added to every position, would get a small part of their gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import numpy as np

from graftax.backend.protocol import Arrays
from graftax.core.dtypes import is_half
from graftax.core.free_sizes import any_free
from graftax.core.typedefs import Array, Shape

Used = Callable[..., Any]
"""``(arrays, options, x, *indices)`` to an array of elements of x, moved and repeated."""
_fused: dict[Arrays, Callable[..., Any]] = {}


def sum_wide(a: Arrays, function: Used, options: Hashable, x: Array, *indices: Array) -> Any:
    """Return ``function(a, options, x, *indices)``, with a gradient added up in float32.

    Args:
        a: The arrays of the backend.
        function: Of a module: a program with it equals another one with it.
        options: What else it takes, known at trace time.
        x: What is differentiated.
        *indices: Other arrays that it takes.
    """
    if not is_half(x.dtype):
        return function(a, options, x, *indices)
    if a not in _fused:
        _fused[a] = a.fuse(partial(_sum_wide, a), ("function", "options"))
    return _fused[a](x, *indices, function=function, options=options)


def _sum_wide(a: Arrays, x: Array, *indices: Array, function: Used, options: Hashable) -> Any:
    def rule(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Any, Any]:
        moved = function(a, options, a.asarray(tangents[0], "float32"), *primals[1:])
        return sum_wide(a, function, options, *primals), a.asarray(moved, primals[0].dtype)

    return a.with_jvp(partial(function, a, options), rule, x, *indices)


def spread(a: Arrays, x: Array, shape: Shape) -> Any:
    """Return an array repeated along axes up to a shape."""
    return x if x.shape == shape else sum_wide(a, _broadcast, shape, x)


def _broadcast(a: Arrays, shape: Shape, x: Array) -> Any:
    return a.numpy.broadcast_to(x, shape)


def spread_half(a: Arrays, *operands: Array) -> tuple[Any, ...]:
    """Return arrays of half precision that an elementwise function would spread, spread; others as they are.

    Numbers, and arrays whose shapes do not fit, stay as they are, too.
    """
    shapes = [getattr(one, "shape", ()) for one in operands]
    if shapes.count(shapes[0]) == len(shapes) or not any(is_half(getattr(one, "dtype", bool)) for one in operands):
        return operands
    if any(any_free(shape) for shape in shapes):  # of an exported program, which has no gradients
        return operands
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        return operands  # the function itself says what is wrong
    return tuple(spread(a, one, shape) if is_half(getattr(one, "dtype", bool)) else one for one in operands)
