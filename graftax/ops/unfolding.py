"""Windows of images as columns of a matrix, and back, written once over the NumPy namespace of any backend."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax.backend.protocol import Arrays
from graftax.core.errors import ArgumentError, ShapeError
from graftax.core.typedefs import Array
from graftax.ops.functions import accumulate_wide, row

Sizes = int | tuple[int, ...]


def _pair(op: str, name: str, value: Sizes) -> tuple[int, int]:
    both = value if isinstance(value, tuple) else (value, value)
    if len(both) != 2:
        raise ArgumentError(f"{op}: {name} = {value!r}", "it is (height, width), or one number", f"{name}=(3, 3)")
    return both[0], both[1]


def _places(
    op: str, shape: tuple[int, int], kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes
) -> tuple[Any, tuple[int, int], tuple[int, int]]:
    """Return where each window reads in the padded image, flattened: (kh, kw, h', w'); its size, and the padding."""
    window, spread = _pair(op, "kernel_size", kernel_size), _pair(op, "dilation", dilation)
    pads, steps = _pair(op, "padding", padding), _pair(op, "stride", stride)
    height, width = (n + 2 * pad for n, pad in zip(shape, pads, strict=True))
    along = []
    for have, n, gap, step in zip((height, width), window, spread, steps, strict=True):
        span = (n - 1) * gap + 1
        if span > have:
            raise ShapeError(
                f"{op}: a window of {span} over {have} values, padding included",
                "the window is larger than what it moves over",
                "a smaller kernel_size or dilation, or more padding",
            )
        along.append(np.arange(n)[:, None] * gap + np.arange((have - span) // step + 1) * step)
    places = along[0][:, None, :, None] * width + along[1][None, :, None, :]
    return places.astype("int32"), (height, width), pads


@row
def unfold(a: Arrays, x: Array, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Any:
    if x.ndim != 4:
        raise ShapeError(
            f"unfold: x {list(x.shape)}",
            "images are (batch, channels, height, width) here, channels first",
            "ops.transpose(x, (0, 3, 1, 2)) first; ops.image.extract_patches takes channels last",
        )
    places, _, (top, left) = _places("unfold", (x.shape[2], x.shape[3]), kernel_size, dilation, padding, stride)
    padded = a.numpy.pad(x, ((0, 0), (0, 0), (top, top), (left, left)))
    flat = padded.reshape((*x.shape[:2], padded.shape[2] * padded.shape[3]))
    columns = places.shape[2] * places.shape[3]
    found = a.numpy.take(flat, a.asarray(places.reshape(-1), "int32"), 2)
    return found.reshape((x.shape[0], x.shape[1] * places.shape[0] * places.shape[1], columns))


@row
@accumulate_wide
def fold(
    a: Arrays, x: Array, output_size: Sizes, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes
) -> Any:
    size = _pair("fold", "output_size", output_size)
    places, (height, width), (top, left) = _places("fold", size, kernel_size, dilation, padding, stride)
    window, columns = places.shape[0] * places.shape[1], places.shape[2] * places.shape[3]
    if x.ndim != 3 or x.shape[1] % window or x.shape[2] != columns:
        raise ShapeError(
            f"fold: x {list(x.shape)}, output_size = {size}",
            f"it is (batch, channels times {window}, {columns}): {window} values of a window, {columns} windows",
            "the arguments of the unfold that it comes from",
        )
    batch, channels = x.shape[0], x.shape[1] // window
    moved = a.numpy.moveaxis(x.reshape((batch, channels, window * columns)), -1, 0)
    start = a.numpy.zeros((height * width, batch, channels), x.dtype)
    total = a.numpy.moveaxis(a.scatter_add(start, a.asarray(places.reshape(-1), "int32"), moved), 0, -1)
    whole = total.reshape((batch, channels, height, width))
    return whole[:, :, top : top + size[0], left : left + size[1]]
