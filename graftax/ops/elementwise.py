"""Functions of several arrays that spread over each other; in half precision, gradients of what is spread are exact."""

from __future__ import annotations

from typing import Any

from graftax.backend.protocol import Arrays
from graftax.core.typedefs import Array
from graftax.ops.functions import row
from graftax.ops.wide_sums import spread_half


@row
def add(a: Arrays, x: Array, y: Array) -> Any:
    return a.numpy.add(*spread_half(a, x, y))


@row
def subtract(a: Arrays, x: Array, y: Array) -> Any:
    return a.numpy.subtract(*spread_half(a, x, y))


@row
def multiply(a: Arrays, x: Array, y: Array) -> Any:
    return a.numpy.multiply(*spread_half(a, x, y))


@row
def maximum(a: Arrays, x: Array, y: Array) -> Any:
    return a.numpy.maximum(*spread_half(a, x, y))


@row
def minimum(a: Arrays, x: Array, y: Array) -> Any:
    return a.numpy.minimum(*spread_half(a, x, y))


@row
def where(a: Arrays, condition: Array, x: Array, y: Array) -> Any:
    return a.numpy.where(*spread_half(a, condition, x, y))
