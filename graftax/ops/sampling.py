"""Images resized, cut, padded and sampled at other places, written once over the arrays of any backend."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from graftax.backend.protocol import Arrays
from graftax.core.errors import ArgumentError, ShapeError
from graftax.core.free_sizes import any_free
from graftax.core.typedefs import Array
from graftax.ops.checks import axis_in_range
from graftax.ops.functions import FUNCTIONS, in_float32
from graftax.ops.neural import pads_of
from graftax.ops.reductions import to_inexact
from graftax.ops.structure import pad

Sizes = int | tuple[int, ...]


def _triangle(x: Array) -> Any:
    return np.maximum(0, 1 - np.abs(x))


def _keys(x: Any) -> Any:
    """Return the cubic kernel with slope -1/2 at 1 (Keys, IEEE Trans. ASSP 29, 1981)."""
    x = np.abs(x)
    near = (1.5 * x - 2.5) * x * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x >= 2, 0, np.where(x >= 1, far, near))


def _lanczos(radius: int, x: Array) -> Any:
    return np.where(np.abs(x) < radius, np.sinc(x) * np.sinc(x / radius), 0)


_KERNELS: dict[str, Callable[[Any], Any]] = {
    "bilinear": _triangle,
    "bicubic": _keys,
    "lanczos3": partial(_lanczos, 3),
    "lanczos5": partial(_lanczos, 5),
}


def _weights(a: Arrays, have: int, want: int, interpolation: str, antialias: bool) -> np.ndarray[Any, Any]:
    """Return how much each of the old pixels of an axis counts for each new one; the sum is 1, also at the edge."""
    scale = have / want
    width = max(scale, 1.0) if antialias else 1.0
    centre = (np.arange(want) + 0.5) * scale - 0.5
    weights = _KERNELS[interpolation]((centre[:, None] - np.arange(have)) / width)
    total = weights.sum(1, keepdims=True)
    shares = np.where(np.abs(total) > 1e-4, weights / np.where(total == 0, 1, total), 0)
    inside = (centre >= -0.5) & (centre <= have - 0.5)
    found: np.ndarray[Any, Any] = np.where(inside[:, None], shares, 0)
    return found


def _image(op: str, x: Array, batch: bool = False) -> None:
    if x.ndim < 3 or (batch and x.ndim != 4):
        shape = "(batch, height, width, channels)" if batch else "(..., height, width, channels)"
        raise ShapeError(f"image.{op}: x {list(x.shape)}", f"images are {shape}", "x[None], or x[..., None]")
    if 0 in x.shape[-3:-1]:
        raise ShapeError(f"image.{op}: x {list(x.shape)}", "the images are empty", "at least one pixel")


def pair(op: str, name: str, value: object) -> tuple[Any, Any]:
    """Return height and width from one number or two."""
    both = value if isinstance(value, tuple) else (value, value)
    if len(both) != 2:
        raise ArgumentError(f"image.{op}: {name} = {value!r}", "it is (height, width), or one number", f"{name}=(8, 8)")
    return both[0], both[1]


@in_float32
def _resize(a: Arrays, x: Array, size: int | tuple[int, ...], interpolation: str, antialias: bool) -> Any:
    _image("resize", x)
    height, width = pair("resize", "size", size)
    if interpolation == "nearest":
        if antialias:
            raise ArgumentError(
                "image.resize: antialias = True, interpolation = 'nearest'",
                "one pixel is taken as it is, and none is averaged",
                'antialias=False, or interpolation="bilinear"',
            )
        for axis, want in ((-3, height), (-2, width)):
            x = a.numpy.take(x, _nearest(a, x.shape[axis], want), axis)
        return x
    x = to_inexact(a, x)
    for have, want, product in (
        (x.shape[-3], height, "ih,...hwc->...iwc"),
        (x.shape[-2], width, "jw,...hwc->...hjc"),
    ):
        if have != want:
            made = _free_weights if any_free((have, want)) else _weights
            x = a.numpy.einsum(product, a.asarray(made(a, have, want, interpolation, antialias), x.dtype), x)
    return x


def _nearest(a: Arrays, have: int, want: int) -> Any:
    """Return which of the old pixels of an axis each new one is."""
    if any_free((have, want)):
        return a.numpy.minimum((2 * a.numpy.arange(want) + 1) * have // (2 * want), have - 1)
    places = ((np.arange(want) + 0.5) * (have / want)).astype("int32")
    return a.asarray(np.minimum(places, have - 1))


def _free_weights(a: Arrays, have: int, want: int, interpolation: str, antialias: bool) -> Any:
    """Return what `_weights` does, where a size is known when the program runs alone."""
    scale = a.asarray(have, "float32") / a.asarray(want, "float32")
    width = a.numpy.maximum(scale, 1.0) if antialias else 1.0
    centre = (a.asarray(a.numpy.arange(want), "float32") + 0.5) * scale - 0.5
    weights = _kernel(a, interpolation, (centre[:, None] - a.asarray(a.numpy.arange(have), "float32")) / width)
    total = a.numpy.sum(weights, axis=1, keepdims=True)
    shares = a.numpy.where(a.numpy.abs(total) > 1e-4, weights / a.numpy.where(total == 0, 1, total), 0)
    return a.numpy.where(((centre >= -0.5) & (centre <= have - 0.5))[:, None], shares, 0)


def _kernel(a: Arrays, interpolation: str, x: Any) -> Any:
    """Return a kernel of places that may be traced."""
    x = a.numpy.abs(x)
    if interpolation in ("bilinear", "linear"):
        return a.numpy.maximum(0, 1 - x)
    if interpolation in ("bicubic", "cubic"):
        near, far = (1.5 * x - 2.5) * x * x + 1, ((-0.5 * x + 2.5) * x - 4) * x + 2
        return a.numpy.where(x >= 2, 0, a.numpy.where(x >= 1, far, near))
    radius = 3 if interpolation == "lanczos3" else 5
    return a.numpy.where(x < radius, _sinc(a, x) * _sinc(a, x / radius), 0)


def _sinc(a: Arrays, x: Any) -> Any:
    angle = math.pi * a.numpy.where(x == 0, 1, x)
    return a.numpy.where(x == 0, 1, a.numpy.sin(angle) / angle)


def _axes_moved(x: Array, shape: Sizes, scale: Array, translation: Array, axes: Sizes) -> tuple[Any, Any]:
    """Return the sizes and the axes, all of which must be of one array."""
    sizes, along = (one if isinstance(one, tuple) else (one,) for one in (shape, axes))
    places = tuple(axis_in_range("image.scale_and_translate", axis, x.ndim) for axis in along)
    given = f"image.scale_and_translate: x {list(x.shape)}, output_shape = {sizes}, spatial_dims = {along}"
    stay = [i for i in range(x.ndim) if i not in places]
    if len(sizes) != x.ndim or any(sizes[i] != x.shape[i] for i in stay):
        raise ShapeError(
            given, "output_shape has all sizes, those of other axes as they are", "the sizes of x, some of them others"
        )
    if len(set(places)) < len(places) or 0 in x.shape:
        raise ShapeError(given, "an axis is there twice, or the images are empty", "each axis once")
    if tuple(scale.shape) != (len(places),) or tuple(translation.shape) != (len(places),):
        raise ShapeError(
            f"{given}, scale {list(scale.shape)}, translation {list(translation.shape)}",
            "they have a number for each axis of spatial_dims",
            f"both of shape [{len(places)}]",
        )
    return sizes, places


@in_float32
def _scale_and_translate(
    a: Arrays,
    x: Array,
    output_shape: Sizes,
    scale: Array,
    translation: Array,
    spatial_dims: Sizes,
    interpolation: str,
    antialias: bool,
) -> Any:
    sizes, axes = _axes_moved(x, output_shape, scale, translation, spatial_dims)
    x = to_inexact(a, x)
    scale, translation = a.asarray(scale, x.dtype), a.asarray(translation, x.dtype)
    tiny = 1000 * float(np.finfo(np.float64 if x.dtype.itemsize > 4 else np.float32).eps)
    for i, axis in enumerate(axes):
        have, back = x.shape[axis], 1 / scale[i]
        centre = (a.numpy.arange(sizes[axis], dtype=x.dtype) + 0.5 - translation[i]) * back - 0.5
        width = a.numpy.maximum(back, 1) if antialias else 1
        olds = a.numpy.arange(have, dtype=x.dtype)
        weights = _kernel(a, interpolation, (centre[:, None] - olds) / width)
        total = weights.sum(1, keepdims=True)
        shares = a.numpy.where(a.numpy.abs(total) > tiny, weights / a.numpy.where(total == 0, 1, total), 0)
        inside = (centre >= -0.5) & (centre <= have - 0.5)
        moved = a.numpy.tensordot(a.numpy.where(inside[:, None], shares, 0), x, axes=((1,), (axis,)))
        x = a.numpy.moveaxis(moved, 0, axis)
    return x


def _crop(a: Arrays, x: Array, top: int, left: int, height: int, width: int) -> Any:
    _image("crop", x)
    if top + height > x.shape[-3] or left + width > x.shape[-2]:
        raise ShapeError(
            f"image.crop: x {list(x.shape)}, top = {top}, left = {left}, height = {height}, width = {width}",
            f"the block ends at {(top + height, left + width)}, outside of {tuple(x.shape[-3:-1])}",
            "a smaller block, or ops.image.pad first",
        )
    return a.numpy.asarray(x[..., top : top + height, left : left + width, :])


def _pad(a: Arrays, x: Array, top: int, bottom: int, left: int, right: int, value: float) -> Any:
    _image("pad", x)
    widths = (*((0, 0),) * (x.ndim - 3), (top, bottom), (left, right), (0, 0))
    return pad(a, x, widths, "constant", value)


def _extract_patches(
    a: Arrays,
    x: Array,
    size: int | tuple[int, ...],
    strides: int | tuple[int, ...] | None,
    padding: str | tuple[Any, ...],
    dilation: int | tuple[int, ...],
) -> Any:
    _image("extract_patches", x, batch=True)
    window, steps = pair("extract_patches", "size", size), pair("extract_patches", "strides", strides or size)
    spread = pair("extract_patches", "dilation", dilation)
    spans = tuple((n - 1) * d + 1 for n, d in zip(window, spread, strict=True))
    x = a.numpy.pad(x, [(0, 0), *pads_of("image.extract_patches", padding, x.shape[1:-1], spans, steps), (0, 0)])
    rows, columns = (
        (np.arange((have - span) // step + 1) * step)[:, None] + np.arange(n) * d
        for have, span, step, n, d in zip(x.shape[1:-1], spans, steps, window, spread, strict=True)
    )
    parts = a.numpy.take(a.numpy.take(x, a.asarray(rows, "int32"), 1), a.asarray(columns, "int32"), 3)
    parts = a.numpy.transpose(parts, (0, 1, 3, 2, 4, 5))
    return parts.reshape((*parts.shape[:3], math.prod(parts.shape[3:])))


def _check_is_used(op: str, fill_mode: str, fill_value: float) -> None:
    """Raise for a value that nothing would be filled with."""
    if fill_value != 0 and fill_mode != "constant":
        raise ArgumentError(
            f"image.{op}: fill_mode = {fill_mode!r}, fill_value = {fill_value}",
            "pixels of the image fill what is outside, and nothing would use the value",
            f'fill_mode="constant", fill_value={fill_value}',
        )


def _fold(a: Arrays, place: Any, size: int, mode: str) -> Any:
    """Return where a whole place lies inside of an axis."""
    if mode == "wrap":
        return place % size
    if mode == "reflect":  # d c b a | a b c d | d c b a
        place = place % (2 * size)
        return a.numpy.where(place >= size, 2 * size - 1 - place, place)
    return a.numpy.clip(place, 0, size - 1)


@in_float32
def _map_coordinates(
    a: Arrays, x: Array, coordinates: Array, interpolation: str, fill_mode: str, fill_value: float
) -> Any:
    _image("map_coordinates", x, batch=True)
    _check_is_used("map_coordinates", fill_mode, fill_value)
    if coordinates.ndim < 2 or coordinates.shape[-1] != 2 or coordinates.shape[0] != x.shape[0]:
        raise ShapeError(
            f"image.map_coordinates: x {list(x.shape)}, coordinates {list(coordinates.shape)}",
            "they are (batch, ..., 2), a row and a column for each sample",
            f"coordinates of shape {[x.shape[0], '...', 2]}",
        )
    x = to_inexact(a, x)
    n, height, width, channels = x.shape
    if n == 0:  # there is nothing to take from
        return a.numpy.zeros((*coordinates.shape[:-1], channels), x.dtype)
    at = a.asarray(coordinates, x.dtype).reshape((n, -1, 2))
    pixels = x.reshape((n * height * width, channels))
    first = a.asarray(a.numpy.arange(n, dtype="int32") * (height * width), "int32")[:, None]

    def pixel(row: Array, column: Array) -> Any:
        whole = a.asarray(row, "int32"), a.asarray(column, "int32")
        rows, columns = (_fold(a, p, s, fill_mode) for p, s in zip(whole, (height, width), strict=True))
        found = a.numpy.take(pixels, first + rows * width + columns, 0)
        if fill_mode != "constant":
            return found
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        return a.numpy.where(inside[..., None], found, fill_value)

    if interpolation == "nearest":
        found = pixel(*(a.numpy.floor(at[..., i] + 0.5) for i in (0, 1)))
        found = a.numpy.where(a.numpy.isnan(at).any(-1)[..., None], math.nan, found)
    else:
        low = a.numpy.floor(at)
        part = at - a.stop_gradient(low)
        (down, right), (row, column) = ((one[..., 0], one[..., 1]) for one in (part, low))
        found = 0
        for i, vertical in ((0, 1 - down), (1, down)):
            for j, horizontal in ((0, 1 - right), (1, right)):
                found = found + pixel(row + i, column + j) * (vertical * horizontal)[..., None]
    return found.reshape((*coordinates.shape[:-1], channels))


@in_float32
def _affine_transform(
    a: Arrays, x: Array, transform: Array, interpolation: str, fill_mode: str, fill_value: float
) -> Any:
    single = x.ndim == 3
    x = x[None] if single else x
    _image("affine_transform", x, batch=True)
    _check_is_used("affine_transform", fill_mode, fill_value)
    if tuple(transform.shape) not in ((8,), (x.shape[0], 8)):
        raise ShapeError(
            f"image.affine_transform: x {list(x.shape)}, transform {list(transform.shape)}",
            "a transform is 8 numbers, for all images or for each",
            "[1, 0, 0, 0, 1, 0, 0, 0] for none",
        )
    x = to_inexact(a, x)
    numbers = a.numpy.broadcast_to(a.asarray(transform, x.dtype), (x.shape[0], 8))
    p = [numbers[:, i, None, None] for i in range(8)]
    rows = a.numpy.arange(x.shape[1], dtype=x.dtype)[None, :, None]
    columns = a.numpy.arange(x.shape[2], dtype=x.dtype)[None, None, :]
    k = p[6] * columns + p[7] * rows + 1
    from_row, from_column = (p[3] * columns + p[4] * rows + p[5]) / k, (p[0] * columns + p[1] * rows + p[2]) / k
    places = a.numpy.stack([from_row + 0 * columns, from_column + 0 * rows], -1)
    found = _map_coordinates(a, x, places, interpolation, fill_mode, fill_value)
    return found[0] if single else found


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "resize": _resize,
    "scale_and_translate": _scale_and_translate,
    "crop": _crop,
    "pad": _pad,
    "extract_patches": _extract_patches,
    "map_coordinates": _map_coordinates,
    "affine_transform": _affine_transform,
}
FUNCTIONS |= {f"image.{name}": function for name, function in _FUNCTIONS.items()}
