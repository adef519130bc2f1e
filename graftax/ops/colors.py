"""Colours of images, and how alike two images are, written once over the arrays of any backend.

Source of ssim: Wang et al., Image Quality Assessment (IEEE Trans. Image Processing 13, 2004).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graftax.backend.protocol import Arrays
from graftax.core.errors import ArgumentError, ShapeError
from graftax.core.typedefs import Array
from graftax.ops.functions import FUNCTIONS, in_float32
from graftax.ops.reductions import to_inexact
from graftax.ops.sampling import pair
from graftax.ops.slopes_in_range import quotient

_LUMA = (0.2989, 0.587, 0.114)


def _channels(op: str, x: Array) -> None:
    if not x.ndim or x.shape[-1] != 3:
        raise ShapeError(f"image.{op}: x {list(x.shape)}", "the last axis holds three channels", "x[..., :3]")


@in_float32
def _rgb_to_grayscale(a: Arrays, x: Array) -> Any:
    _channels("rgb_to_grayscale", x)
    x = to_inexact(a, x)
    return a.numpy.sum(x * a.asarray(_LUMA, x.dtype), axis=-1, keepdims=True)


@in_float32
def _rgb_to_hsv(a: Arrays, x: Array) -> Any:
    _channels("rgb_to_hsv", x)
    x = to_inexact(a, x)
    red, green, blue = (x[..., i] for i in range(3))
    value, least = a.numpy.max(x, axis=-1), a.numpy.min(x, axis=-1)
    spread = value - least
    safe = a.numpy.where(spread == 0, 1, spread)
    hue = a.numpy.where(
        value == red,
        quotient(a, green - blue, safe) % 6,
        a.numpy.where(value == green, quotient(a, blue - red, safe) + 2, quotient(a, red - green, safe) + 4),
    )
    hue = a.numpy.where(spread == 0, 0, hue / 6)
    saturation = a.numpy.where(value == 0, 0, quotient(a, spread, a.numpy.where(value == 0, 1, value)))
    return a.numpy.stack([hue, saturation, value], -1)


@in_float32
def _hsv_to_rgb(a: Arrays, x: Array) -> Any:
    _channels("hsv_to_rgb", x)
    x = to_inexact(a, x)
    hue, saturation, value = (x[..., i] for i in range(3))
    away = [a.numpy.abs(((hue * 6 - place) + 3) % 6 - 3) for place in (0, 2, 4)]  # from red, green and blue
    shares = [a.numpy.clip(2 - one, 0, 1) for one in away]
    return a.numpy.stack([value * (1 - saturation * (1 - share)) for share in shares], -1)


def _bell(size: int, sigma: float) -> Any:
    if not sigma > 0:
        raise ArgumentError(f"image: sigma = {sigma}", "a width is above 0", "sigma=1.0")
    weights = np.exp(-(((np.arange(size) - (size - 1) / 2) / sigma) ** 2) / 2)
    return weights / weights.sum()


def _weighted_sums(a: Arrays, x: Array, weights: Array, axis: int) -> Any:
    """Return the weighted sums over neighbours along an axis, as many as there is room for."""
    count = x.shape[axis] - len(weights) + 1
    lead = (slice(None),) * (axis % x.ndim)
    parts = [x[(*lead, slice(i, i + count))] * float(weight) for i, weight in enumerate(weights)]
    return sum(parts[1:], parts[0])


@in_float32
def _gaussian_blur(a: Arrays, x: Array, size: int | tuple[int, ...], sigma: object) -> Any:
    if x.ndim < 3:
        raise ShapeError(
            f"image.gaussian_blur: x {list(x.shape)}", "images are (..., height, width, channels)", "x[None]"
        )
    x = to_inexact(a, x)
    sizes, sigmas = pair("gaussian_blur", "size", size), pair("gaussian_blur", "sigma", sigma)
    for axis, n, width in ((-3, sizes[0], sigmas[0]), (-2, sizes[1], sigmas[1])):
        if n % 2 == 0 or n // 2 >= x.shape[axis]:
            raise ArgumentError(
                f"image.gaussian_blur: size = {size} for x {list(x.shape)}",
                "it is odd, and its half is less than the image",
                "size=3",
            )
        borders = [(0, 0)] * x.ndim
        borders[axis] = (n // 2, n // 2)
        x = _weighted_sums(a, a.numpy.pad(x, borders, mode="reflect"), _bell(n, width), axis)
    return x


def _check_pair(op: str, a: Arrays, x: Array, y: Array, max_val: float) -> tuple[Any, Any]:
    if x.shape != y.shape or x.ndim < 3:
        raise ShapeError(
            f"image.{op}: x {list(x.shape)}, y {list(y.shape)}",
            "two batches of images of one shape are compared, (..., height, width, channels)",
            "ops.image.resize",
        )
    if not max_val > 0:
        raise ArgumentError(f"image.{op}: max_val = {max_val}", "it is the largest possible value", "max_val=1.0")
    return to_inexact(a, x), to_inexact(a, y)


@in_float32
def _psnr(a: Arrays, x: Array, y: Array, max_val: float) -> Any:
    x, y = _check_pair("psnr", a, x, y, max_val)
    error = a.numpy.mean(a.numpy.square(x - a.asarray(y, x.dtype)), axis=(-3, -2, -1))
    return 20 * math.log10(max_val) - 10 * a.numpy.log10(error)


@in_float32
def _ssim(a: Arrays, x: Array, y: Array, max_val: float, size: int, sigma: float, k1: float, k2: float) -> Any:
    x, y = _check_pair("ssim", a, x, y, max_val)
    if min(x.shape[-3:-1]) < size:
        raise ShapeError(
            f"image.ssim: x {list(x.shape)}, size = {size}", "the window is larger than the images", "a smaller size"
        )
    y, bell = a.asarray(y, x.dtype), _bell(size, sigma)

    def local_mean(values: Array) -> Any:
        return _weighted_sums(a, _weighted_sums(a, values, bell, -3), bell, -2)

    c1, c2 = (k1 * max_val) ** 2, (k2 * max_val) ** 2
    mean_x, mean_y = local_mean(x), local_mean(y)
    product = mean_x * mean_y
    squares = a.numpy.square(mean_x) + a.numpy.square(mean_y)
    both = local_mean(x * y) - product
    spread = local_mean(a.numpy.square(x) + a.numpy.square(y)) - squares
    alike = ((2 * product + c1) * (2 * both + c2)) / ((squares + c1) * (spread + c2))
    return a.numpy.mean(alike, axis=(-3, -2, -1))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "rgb_to_grayscale": _rgb_to_grayscale,
    "rgb_to_hsv": _rgb_to_hsv,
    "hsv_to_rgb": _hsv_to_rgb,
    "gaussian_blur": _gaussian_blur,
    "psnr": _psnr,
    "ssim": _ssim,
}
FUNCTIONS |= {f"image.{name}": function for name, function in _FUNCTIONS.items()}
