"""Functions of neural networks, written once over the NumPy namespace of any backend, safe where maths is not."""

from __future__ import annotations

import math
from typing import Any

from graftax.backend.protocol import Arrays
from graftax.core.errors import ArgumentError, ShapeError
from graftax.core.typedefs import Array
from graftax.ops.functions import accumulate_wide, in_float32, require_real, row
from graftax.ops.reductions import to_inexact

# --- elementwise ----------------------------------------------------------------------------------------------------


@row
@require_real
def erf(a: Arrays, x: Array) -> Any:
    return a.erf(to_inexact(a, x))


@row
@require_real
def sigmoid(a: Arrays, x: Array) -> Any:
    return a.sigmoid(to_inexact(a, x))


@row
def rsqrt(a: Arrays, x: Array) -> Any:
    return a.rsqrt(to_inexact(a, x))


@row
@require_real
def softplus(a: Arrays, x: Array) -> Any:
    return a.numpy.logaddexp(x, a.numpy.zeros_like(x))


@row
@require_real
def log_sigmoid(a: Arrays, x: Array) -> Any:
    return -softplus(a, -to_inexact(a, x))  # unsigned integers have no negative ones, and the least of others none


@row
def xlogy(a: Arrays, x: Any, y: Array) -> Any:
    zero = x == 0
    return a.numpy.where(zero, 0, x * a.numpy.log(a.numpy.where(zero, 1, y)))


@row
def squared_difference(a: Arrays, x: Array, y: Array) -> Any:
    return a.numpy.square(x - y)


# --- windows --------------------------------------------------------------------------------------------------------


@row
def conv(
    a: Arrays,
    x: Array,
    kernel: Array,
    strides: int | tuple[int, ...],
    padding: str | tuple[Any, ...],
    dilation: int | tuple[int, ...],
    groups: int,
) -> Any:
    space = _space("conv", x, kernel)
    if kernel.shape[-1] % groups:
        raise ShapeError(
            f"conv: kernel {list(kernel.shape)}, groups={groups}",
            f"{kernel.shape[-1]} channels come out, the same number of each group",
            f"a kernel of shape {[*kernel.shape[:-1], -(-kernel.shape[-1] // groups) * groups]}",
        )
    if x.shape[-1] != kernel.shape[-2] * groups:
        raise ShapeError(
            f"conv: x {list(x.shape)} has {x.shape[-1]} channels, "
            f"kernel {list(kernel.shape)} takes {kernel.shape[-2] * groups} with groups={groups}",
            "the last axis of x must have the size of axis -2 of the kernel, times groups",
            f"a kernel of shape {[*kernel.shape[:-2], x.shape[-1] // groups, kernel.shape[-1]]}",
        )
    strides, dilation = _for_each_axis("strides", strides, space), _for_each_axis("dilation", dilation, space)
    window = tuple((size - 1) * d + 1 for size, d in zip(kernel.shape, dilation, strict=False))
    pads = pads_of("conv", padding, x.shape[1:-1], window, strides)
    return a.conv(x, kernel, strides, pads, dilation, groups)


@row
def conv_transpose(
    a: Arrays,
    x: Array,
    kernel: Array,
    strides: int | tuple[int, ...],
    padding: str | tuple[Any, ...],
    dilation: int | tuple[int, ...],
) -> Any:
    space = _space("conv_transpose", x, kernel)
    if x.shape[-1] != kernel.shape[-2]:
        raise ShapeError(
            f"conv_transpose: x {list(x.shape)} has {x.shape[-1]} channels, "
            f"kernel {list(kernel.shape)} takes {kernel.shape[-2]}",
            "the last axis of x must have the size of axis -2 of the kernel",
            f"a kernel of shape {[*kernel.shape[:-2], x.shape[-1], kernel.shape[-1]]}",
        )
    strides, dilation = _for_each_axis("strides", strides, space), _for_each_axis("dilation", dilation, space)
    window = tuple((size - 1) * d + 1 for size, d in zip(kernel.shape, dilation, strict=False))
    if padding == "same":  # the output is x times strides
        totals = [max(w - s, 0) for w, s in zip(window, strides, strict=True)]
        cropped = [(total // 2, total - total // 2) for total in totals]
        grown = [max(s - w, 0) for w, s in zip(window, strides, strict=True)]
    else:
        cropped = pads_of("conv_transpose", padding, x.shape[1:-1], window, (1,) * space)
        grown = [max(s - w, 0) for w, s in zip(window, strides, strict=True)]
    pads = [(w - 1 - low, w - 1 - high + g) for w, (low, high), g in zip(window, cropped, grown, strict=True)]
    flipped = a.numpy.flip(kernel, tuple(range(space)))
    return a.conv(x, flipped, (1,) * space, pads, dilation, 1, strides)


@row
@require_real
def max_pool(
    a: Arrays,
    x: Array,
    window: int | tuple[int, ...],
    strides: int | tuple[int, ...] | None,
    padding: str | tuple[Any, ...],
) -> Any:
    return a.max_pool(x, *_pool("max_pool", x, window, strides, padding))


@row
@accumulate_wide
def sum_pool(
    a: Arrays,
    x: Array,
    window: int | tuple[int, ...],
    strides: int | tuple[int, ...] | None,
    padding: str | tuple[Any, ...],
) -> Any:
    return a.sum_pool(x, *_pool("sum_pool", x, window, strides, padding))


def _pool(
    op: str,
    x: Array,
    window: int | tuple[int, ...],
    strides: int | tuple[int, ...] | None,
    padding: str | tuple[Any, ...],
) -> tuple[Any, Any, Any]:
    if x.ndim < 3:
        raise ShapeError(
            f"{op}: x {list(x.shape)}", "x needs a batch axis, axes of space and channels last", "x[None, ..., None]"
        )
    window = _for_each_axis("window", window, x.ndim - 2)
    strides = window if strides is None else _for_each_axis("strides", strides, x.ndim - 2)
    pads = pads_of(op, padding, x.shape[1:-1], window, strides)
    for size, around in zip(window, pads, strict=True):
        if not isinstance(padding, str) and max(around) >= size:  # what a name stands for is less, for all free sizes
            raise ShapeError(
                f"{op}: padding = {padding!r} with a window of {size}",
                "some windows would lie in the padding alone, and have no value",
                f"padding of {size - 1} at most; ops.pad(x, ...) before for other values there",
            )
    return window, strides, pads


def _space(op: str, x: Array, kernel: Array) -> int:
    space = x.ndim - 2
    if 0 in kernel.shape[:-2]:
        raise ShapeError(f"{op}: kernel {list(kernel.shape)}", "its window is empty", "a window of 1 at least")
    if not 1 <= space <= 3 or kernel.ndim != x.ndim:
        raise ShapeError(
            f"{op}: x {list(x.shape)}, kernel {list(kernel.shape)}",
            "x is (batch, *space, channels) with 1 to 3 axes of space, the kernel (*window, in, out)",
            "ops.expand_dims for a missing batch or channel axis",
        )
    return int(space)


def _for_each_axis(name: str, value: int | tuple[int, ...], space: int) -> tuple[int, ...]:
    values = (value,) * space if isinstance(value, int) else tuple(value)
    if len(values) != space or not all(isinstance(v, int) and v > 0 for v in values):
        raise ArgumentError(
            f"{name} = {value!r}", f"an int above 0 is needed for each of {space} axes of space", f"{name}=1"
        )
    return values


def pads_of(
    op: str, padding: Any, sizes: tuple[int, ...], window: tuple[int, ...], strides: tuple[int, ...]
) -> list[tuple[int, int]]:
    """Return how many zeros come before and after each axis; ``"same"`` puts the odd one after."""
    if padding == "causal" and op == "conv_transpose":
        raise ArgumentError(
            "conv_transpose: padding = 'causal'",
            "it says what a convolution sees, and its transpose writes to",
            '"valid" or "same", and then a slice of the result',
        )
    if padding == "valid":
        pads = [(0, 0)] * len(window)
    elif padding == "same":
        outs = [-(-n // s) for n, s in zip(sizes, strides, strict=True)]
        needs = [max((o - 1) * s + w - n, 0) for n, w, s, o in zip(sizes, window, strides, outs, strict=True)]
        pads = [(total // 2, total - total // 2) for total in needs]
    elif padding == "causal":
        pads = [(w - 1, 0) for w in window]
    elif _are_pairs(padding, len(window)):
        pads = [(int(low), int(high)) for low, high in padding]
    else:
        raise ArgumentError(
            f"{op}: padding = {padding!r}",
            "there is no such padding",
            f'"valid", "same", "causal", or {len(window)} pairs such as {[(1, 1)] * len(window)}',
        )
    if op != "conv_transpose":
        for n, w, (low, high) in zip(sizes, window, pads, strict=True):
            if n + low + high < w:
                raise ShapeError(
                    f"{op}: a window of {w} over {n} values with padding {(low, high)}",
                    "the window is larger than what it moves over",
                    'padding="same", or a smaller window',
                )
    return pads


def _are_pairs(padding: str | tuple[Any, ...], space: int) -> bool:
    """Tell whether it is so many pairs of integers that are not negative."""
    if not isinstance(padding, tuple) or len(padding) != space:
        return False
    pairs = [pair for pair in padding if isinstance(pair, tuple) and len(pair) == 2]
    return len(pairs) == space and all(type(n) is int and n >= 0 for pair in pairs for n in pair)


@row
@in_float32
def average_pool(
    a: Arrays,
    x: Array,
    window: int | tuple[int, ...],
    strides: int | tuple[int, ...] | None,
    padding: str | tuple[Any, ...],
) -> Any:
    x = to_inexact(a, x)
    settings = _pool("average_pool", x, window, strides, padding)
    count = a.sum_pool(a.numpy.ones((1, *x.shape[1:-1], 1), x.dtype), *settings)
    return a.sum_pool(x, *settings) / count


def _adaptive(op: str, a: Arrays, x: Array, size: int | tuple[int, ...], reduce: Any) -> Any:
    """Reduce windows: the i-th of an axis of n values reaches from floor(i n / size) to ceil((i + 1) n / size)."""
    if x.ndim < 3:
        raise ShapeError(
            f"{op}: x {list(x.shape)}", "x needs a batch axis, axes of space and channels last", "x[None, ..., None]"
        )
    for axis, out in enumerate(_for_each_axis("size", size, x.ndim - 2), 1):
        have, lead = x.shape[axis], (slice(None),) * axis
        if not have:
            raise ShapeError(f"{op}: x {list(x.shape)}", f"axis {axis} is empty", "at least one value")
        parts = [x[(*lead, slice(i * have // out, -(-(i + 1) * have // out)))] for i in range(out)]
        x = a.numpy.stack([reduce(part, axis=axis) for part in parts], axis)
    return x


@row
@in_float32
def adaptive_average_pool(a: Arrays, x: Array, size: int | tuple[int, ...]) -> Any:
    return _adaptive("adaptive_average_pool", a, to_inexact(a, x), size, a.numpy.mean)


@row
@require_real
def adaptive_max_pool(a: Arrays, x: Array, size: int | tuple[int, ...]) -> Any:
    return _adaptive("adaptive_max_pool", a, x, size, a.numpy.max)


@row
def depthwise_conv(
    a: Arrays,
    x: Array,
    kernel: Array,
    strides: int | tuple[int, ...],
    padding: str | tuple[Any, ...],
    dilation: int | tuple[int, ...],
) -> Any:
    _space("depthwise_conv", x, kernel)
    channels = x.shape[-1]
    if kernel.shape[-2] != channels:
        raise ShapeError(
            f"depthwise_conv: x {list(x.shape)} has {channels} channels, kernel {list(kernel.shape)}",
            "the kernel is (*window, channels, filters of each channel)",
            f"a kernel of shape {[*kernel.shape[:-2], channels, kernel.shape[-1]]}",
        )
    grouped = kernel.reshape((*kernel.shape[:-2], 1, channels * kernel.shape[-1]))
    return conv(a, x, grouped, strides, padding, dilation, channels)


@row
def separable_conv(
    a: Arrays,
    x: Array,
    depthwise_kernel: Array,
    pointwise_kernel: Array,
    strides: int | tuple[int, ...],
    padding: str | tuple[Any, ...],
    dilation: int | tuple[int, ...],
) -> Any:
    if _space("separable_conv", x, pointwise_kernel) and math.prod(pointwise_kernel.shape[:-2]) != 1:
        raise ShapeError(
            f"separable_conv: pointwise_kernel {list(pointwise_kernel.shape)}",
            "it mixes the channels of each position, and its window is 1",
            f"a kernel of shape {[*(1,) * (x.ndim - 2), *pointwise_kernel.shape[-2:]]}",
        )
    between = depthwise_conv(a, x, depthwise_kernel, strides, padding, dilation)
    return conv(a, between, pointwise_kernel, 1, "valid", 1, 1)


@row
def space_to_depth(a: Arrays, x: Array, block: int) -> Any:
    if x.ndim != 4 or x.shape[1] % block or x.shape[2] % block:
        raise ShapeError(
            f"space_to_depth: x {list(x.shape)}, block = {block}",
            "x is (batch, height, width, channels), and the block divides height and width",
            "ops.pad(x, ...), or another block",
        )
    n, h, w, c = x.shape
    parts = x.reshape((n, h // block, block, w // block, block, c))
    return a.numpy.transpose(parts, (0, 1, 3, 2, 4, 5)).reshape((n, h // block, w // block, block * block * c))


@row
def depth_to_space(a: Arrays, x: Array, block: int) -> Any:
    if x.ndim != 4 or x.shape[3] % (block * block):
        raise ShapeError(
            f"depth_to_space: x {list(x.shape)}, block = {block}",
            "x is (batch, height, width, channels), and the square of the block divides the channels",
            f"{block * block} channels, or a multiple",
        )
    n, h, w, c = x.shape
    c //= block * block
    parts = a.numpy.transpose(x.reshape((n, h, w, block, block, c)), (0, 1, 3, 2, 4, 5))
    return parts.reshape((n, h * block, w * block, c))
