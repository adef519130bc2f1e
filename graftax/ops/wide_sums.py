"""Functions that use an element several times: its gradient is a sum, in float32 where the element has half precision.

In bfloat16 a sum of ones ends at 256. A row of an embedding that a batch looks up a thousand times, and a bias that is
added to every position, would get a small part of their gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from graftax.backend.protocol import Arrays
from graftax.core.dtypes import is_half
from graftax.core.free_sizes import any_free
from graftax.core.typedefs import Array, Shape


def summed_wide(a: Arrays, function: Callable[..., Any], x: Array, *indices: Array) -> Any:
    """Return ``function(x, *indices)``, which moves and repeats elements of x, with a gradient added up in float32.

    Args:
        a: The arrays of the backend.
        function: Closes over no array.
        x: What is differentiated.
        *indices: Other arrays that it takes.
    """
    if not is_half(x.dtype):
        return function(x, *indices)

    def rule(given: tuple[Array, ...], ways: tuple[Array, ...]) -> tuple[Any, Any]:
        x, *others = given
        moved = function(a.asarray(ways[0], "float32"), *others)
        return summed_wide(a, function, x, *others), a.asarray(moved, x.dtype)

    return a.with_jvp(function, rule, x, *indices)


def spread(a: Arrays, x: Array, shape: Shape) -> Any:
    """Return an array repeated along axes up to a shape."""
    return x if x.shape == shape else summed_wide(a, partial(_broadcast, a, shape), x)


def _broadcast(a: Arrays, shape: Shape, x: Array) -> Any:
    return a.numpy.broadcast_to(x, shape)


def spread_alike(a: Arrays, *operands: Array) -> tuple[Any, ...]:
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
