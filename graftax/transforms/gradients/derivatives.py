"""Derivatives of functions from lists of arrays to lists of arrays, as the tape takes them of its replays.

Backwards, there is None for each array that no result depends on, or through ``stop_gradient`` and rounding only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from graftax.backend import registry
from graftax.core.typedefs import Array, Shape

Function = Callable[[Sequence[Any]], list[Any]]


def pull(function: Function, values: list[Any], weights: list[Any]) -> list[Any]:
    """Compute the gradient of the weighted sum of all results."""
    return registry.current().gradients.reached_vjp(function, values)[1](weights)


def push(function: Function, values: list[Any], tangents: list[Any]) -> Any:
    """Compute the tangent of the one result."""
    return registry.current().gradients.jvp(function, (values,), (tangents,))[1][0]


def jacobian(
    function: Function, values: list[Any], _: list[Any], shape: Shape, dtype: str, chunk_size: int | None
) -> list[Any]:
    """Return the derivatives of each element of the one result: arrays of shape ``(*result, *value)``."""
    rows = _rows(function, values, shape, shape, dtype, chunk_size)
    return [
        None if row is None else row.reshape((*shape, *value.shape)) for row, value in zip(rows, values, strict=True)
    ]


def batch_jacobian(
    function: Function, values: list[Any], _: list[Any], shape: Shape, dtype: str, chunk_size: int | None
) -> list[Any]:
    """Return the same for each example, all at once: arrays of shape ``(batch, *result, *value)``."""
    numpy = registry.current().arrays.numpy
    rows = _rows(function, values, shape[1:], shape, dtype, chunk_size)
    return [
        None if row is None else numpy.moveaxis(row, 0, 1).reshape((*shape, *value.shape[1:]))
        for row, value in zip(rows, values, strict=True)
    ]


def _rows(
    function: Function, values: list[Any], unit: Shape, shape: Shape, dtype: str, chunk_size: int | None
) -> list[Any]:
    numpy, transforms = registry.current().arrays.numpy, registry.current().gradients
    back = transforms.reached_vjp(function, values)[1]
    count = numpy.arange(math.prod(unit))

    def row(index: Array) -> Any:
        weights = numpy.broadcast_to((count == index).astype(dtype).reshape(unit), shape)
        return back([weights])

    return list(registry.current().vectorizing.map_rows(row, count, chunk_size))


def rows_differ(function: Function, values: list[Any], _: list[Any], shape: Shape, dtype: str) -> list[Any]:
    """Return for each value whether the first or the last example of the result depends on another example of it."""
    numpy = registry.current().arrays.numpy
    back = registry.current().gradients.vjp(function, values)[1]
    weights = numpy.arange(1, math.prod(shape[1:]) + 1).astype(dtype).reshape(shape[1:])
    found: list[Any] = [False] * len(values)
    for example in {0, shape[0] - 1}:
        mine = (numpy.arange(shape[0]) == example).reshape((-1,) + (1,) * (len(shape) - 1))
        (gradients,) = back([mine * weights])
        for i, gradient in enumerate(gradients):
            others = numpy.arange(shape[0]) != example
            found[i] = found[i] | numpy.any(gradient[others] != 0)
    return found
