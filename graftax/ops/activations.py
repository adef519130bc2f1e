"""Activations, written once over the NumPy namespace of any backend: no overflow in branches that are not taken."""

from __future__ import annotations

import math
from typing import Any

from graftax.backend.protocol import Arrays
from graftax.core.errors import ArgumentError, ShapeError
from graftax.core.typedefs import Array
from graftax.ops.checks import axis_in_range
from graftax.ops.functions import in_float32, row
from graftax.ops.neural import sigmoid, softplus
from graftax.ops.reductions import to_inexact

_SELU_ALPHA = 1.6732632423543772
_SELU_SCALE = 1.0507009873554805
_FLAT = 10
"""Beyond it tanh is 1 in every dtype."""


@row
def relu(a: Arrays, x: Array) -> Any:
    return a.numpy.where(x <= 0, 0, x)  # nan stays nan


@row
def relu6(a: Arrays, x: Array) -> Any:
    return a.numpy.where(x >= 6, 6, a.numpy.where(x <= 0, 0, x))


@row
def leaky_relu(a: Arrays, x: Array, negative_slope: float) -> Any:
    x = to_inexact(a, x)
    return a.numpy.where(x >= 0, x, x * negative_slope)


@row
def elu(a: Arrays, x: Array, alpha: float) -> Any:
    x = to_inexact(a, x)
    positive = x > 0
    return a.numpy.where(positive, x, alpha * a.numpy.expm1(a.numpy.where(positive, 0, x)))


@row
def celu(a: Arrays, x: Array, alpha: float) -> Any:
    if alpha == 0:
        raise ArgumentError("celu: alpha = 0.0", "x is divided by it", "alpha=1.0, or ops.relu(x)")
    x = to_inexact(a, x)
    positive = x > 0
    return a.numpy.where(positive, x, alpha * a.numpy.expm1(a.numpy.where(positive, 0, x) / alpha))


@row
def selu(a: Arrays, x: Array) -> Any:
    return _SELU_SCALE * elu(a, x, _SELU_ALPHA)


@row
def gelu(a: Arrays, x: Array, approximate: bool) -> Any:
    x = to_inexact(a, x)
    if approximate:
        near = a.numpy.clip(x, -_FLAT, _FLAT)  # the cube would overflow
        return 0.5 * x * (1 + a.numpy.tanh(math.sqrt(2 / math.pi) * (near + 0.044715 * near * near * near)))
    return 0.5 * x * (1 + a.erf(x * math.sqrt(0.5)))


@row
def silu(a: Arrays, x: Array) -> Any:
    x = to_inexact(a, x)
    return x * a.sigmoid(x)


@row
def mish(a: Arrays, x: Array) -> Any:
    x = to_inexact(a, x)
    return x * a.numpy.tanh(softplus(a, x))


@row
def glu(a: Arrays, x: Array, axis: int) -> Any:
    x, axis = to_inexact(a, x), axis_in_range("glu", axis, x.ndim)
    if x.shape[axis] % 2:
        raise ShapeError(
            f"glu: axis {axis} of x {list(x.shape)}",
            f"its first half is multiplied by the sigmoid of its second, and {x.shape[axis]} is odd",
            "a layer before it with an even number of units",
        )
    value, gate = a.numpy.split(x, 2, axis)
    return value * sigmoid(a, gate)


@row
def softsign(a: Arrays, x: Array) -> Any:
    x = to_inexact(a, x)
    return x / (1 + a.numpy.abs(x))


@row
def hard_sigmoid(a: Arrays, x: Array) -> Any:
    return relu6(a, to_inexact(a, x) + 3) / 6


@row
def hard_silu(a: Arrays, x: Array) -> Any:
    x = to_inexact(a, x)
    return x * hard_sigmoid(a, x)


@row
def hard_tanh(a: Arrays, x: Array) -> Any:
    x = to_inexact(a, x)
    return a.numpy.where(x > 1, 1, a.numpy.where(x < -1, -1, x))


@row
def hard_shrink(a: Arrays, x: Array, threshold: float) -> Any:
    x = to_inexact(a, x)
    return a.numpy.where(a.numpy.abs(x) <= threshold, 0, x)


@row
def soft_shrink(a: Arrays, x: Array, threshold: float) -> Any:
    x = to_inexact(a, x)
    shrunk = a.numpy.where(x > threshold, x - threshold, a.numpy.where(x < -threshold, x + threshold, 0))
    return a.numpy.where(a.numpy.isnan(x), x, shrunk)


@row
def tanh_shrink(a: Arrays, x: Array) -> Any:
    x = to_inexact(a, x)
    return x - a.numpy.tanh(x)


@row
def threshold(a: Arrays, x: Array, threshold: float, default_value: float) -> Any:
    x = to_inexact(a, x)
    return a.numpy.where(x <= threshold, default_value, x)


@row
def squareplus(a: Arrays, x: Array, b: float) -> Any:
    x = to_inexact(a, x)
    square: Any = x * x + b
    zero = square == 0
    root = a.numpy.where(zero, 0, a.numpy.sqrt(a.numpy.where(zero, 1, square)))  # no infinite slope for b = 0
    # Half by half: the sum may lie beyond float16.
    return x / 2 + a.numpy.where(a.numpy.isinf(square), a.numpy.abs(x), root) / 2


@row
def sparse_plus(a: Arrays, x: Array) -> Any:
    x = to_inexact(a, x)
    return a.numpy.where(x >= 1, x, a.numpy.where(x <= -1, 0, a.numpy.square(a.numpy.clip(x, -1, 1) + 1) / 4))


@row
def sparse_sigmoid(a: Arrays, x: Array) -> Any:
    x = to_inexact(a, x)
    return (a.numpy.clip(x, -1, 1) + 1) / 2


@row
@in_float32
def sparsemax(a: Arrays, x: Array, axis: int) -> Any:
    x, axis = to_inexact(a, x), axis_in_range("sparsemax", axis, x.ndim)
    if not x.shape[axis]:
        raise ShapeError(f"sparsemax: axis {axis} of x {list(x.shape)}", "it is empty", "at least one value")
    x = x - a.stop_gradient(a.numpy.max(x, axis=axis, keepdims=True))
    ordered = a.numpy.flip(a.numpy.sort(x, axis=axis), axis)
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    count = a.numpy.arange(1, x.shape[axis] + 1, dtype=x.dtype).reshape(shape)
    total = a.numpy.cumsum(ordered, axis)
    support = a.numpy.sum(1 + count * ordered > total, axis=axis, keepdims=True)
    last = a.numpy.take_along_axis(total, a.numpy.maximum(support - 1, 0), axis)
    return a.numpy.maximum(x - (last - 1) / a.asarray(support, x.dtype), 0)
