"""Fourier transforms, and the spectra of parts of signals, written once over the NumPy namespace of any backend."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from graftax.backend.protocol import Arrays
from graftax.core.errors import ArgumentError, DTypeError, ShapeError
from graftax.core.typedefs import Array
from graftax.ops.checks import axis_in_range
from graftax.ops.functions import FUNCTIONS, accumulate_wide, in_float32, row
from graftax.ops.reductions import to_inexact


def _transform(name: str, a: Arrays, x: Array, n: int | None, axis: int) -> Any:
    """Call a function of ``numpy.fft``; half precision is transformed in float32, the least that it takes."""
    if x.dtype.kind == "c" and name == "rfft":
        raise DTypeError(f"rfft: x {x.dtype.name}", "it takes real numbers", "ops.fft(x)")
    place = axis_in_range(name, axis, x.ndim)
    if x.shape[place] == 0:
        raise ShapeError(f"{name}: axis = {axis} of x {list(x.shape)}", "it is empty", "at least one value")
    wide = a.asarray(x, "float32") if x.dtype.kind not in "iubc" and x.dtype.itemsize < 4 else x
    result = getattr(a.numpy.fft, name)(wide, n=n, axis=axis)
    return a.asarray(result, x.dtype) if wide is not x and result.dtype.kind == "f" else result


for _name in ("fft", "ifft", "rfft", "irfft"):
    FUNCTIONS[_name] = partial(_transform, _name)


def _transform_two(name: str, a: Arrays, x: Array, axes: int | tuple[int, ...] | None) -> Any:
    pair = axes if isinstance(axes, tuple) else (axes,)
    if len(pair) != 2 or len({axis_in_range(name, axis, x.ndim) for axis in pair}) != 2:
        raise ArgumentError(f"{name}: axes = {axes} of x {list(x.shape)}", "they are two", "axes=(-2, -1)")
    for axis in pair:
        x = _transform(name[:-1], a, x, None, axis)
    return x


for _name in ("fft2", "ifft2"):
    FUNCTIONS[_name] = partial(_transform_two, _name)


def _shift(a: Arrays, x: Array, axes: int | tuple[int, ...] | None, sign: int) -> Any:
    every = range(x.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
    if len({axis % max(x.ndim, 1) for axis in every}) < len(every):
        raise ArgumentError(f"fftshift: axes = {axes}", "an axis is there twice", "each axis once")
    for axis in every:
        size = x.shape[axis_in_range("fftshift", axis, x.ndim)]
        x = a.numpy.roll(x, size // 2 if sign > 0 else -(size // 2), axis)
    return x


@row
def fftshift(a: Arrays, x: Array, axes: int | tuple[int, ...] | None) -> Any:
    return _shift(a, x, axes, 1)


@row
def ifftshift(a: Arrays, x: Array, axes: int | tuple[int, ...] | None) -> Any:
    return _shift(a, x, axes, -1)


def _frequencies(name: str, a: Arrays, n: int, d: float) -> Any:
    if d == 0:
        raise ArgumentError(f"{name}: d = 0.0", "samples lie apart", "d=1.0")
    return a.asarray(getattr(np.fft, name)(n, d), "float32")


for _name in ("fftfreq", "rfftfreq"):
    FUNCTIONS[_name] = partial(_frequencies, _name)


def _window(name: str, a: Arrays, n: int) -> Any:
    return a.asarray(getattr(np, name)(n), "float32")


for _name in ("hanning", "hamming", "blackman"):
    FUNCTIONS[_name] = partial(_window, _name)


@row
def frame(a: Arrays, x: Array, length: int, step: int) -> Any:
    if not x.ndim or x.shape[-1] < length:
        raise ShapeError(
            f"frame: x {list(x.shape)}, length = {length}", "its last axis is shorter than one part", "ops.pad(x, ...)"
        )
    starts = np.arange(0, x.shape[-1] - length + 1, step)
    return a.numpy.take(x, a.asarray(starts[:, None] + np.arange(length), "int32"), -1)


@row
def extract_sequences(a: Arrays, x: Array, sequence_length: int, sequence_stride: int) -> Any:
    return frame(a, x, sequence_length, sequence_stride)


@row
@accumulate_wide
def overlap_add(a: Arrays, x: Array, step: int) -> Any:
    if x.ndim < 2:
        raise ShapeError(f"overlap_add: x {list(x.shape)}", "it is (..., parts, length)", "x[None] for one part")
    parts, length = x.shape[-2:]
    size = (parts - 1) * step + length if parts else 0
    places = (np.arange(parts) * step)[:, None] + np.arange(length)
    moved = a.numpy.moveaxis(x.reshape((*x.shape[:-2], parts * length)), -1, 0)
    start = a.numpy.zeros((size, *x.shape[:-2]), x.dtype)
    return a.numpy.moveaxis(a.scatter_add(start, a.asarray(places.reshape(-1), "int32"), moved), 0, -1)


_WINDOWS = {"hann": np.hanning, "hamming": np.hamming, "blackman": np.blackman}


def _weights(op: str, length: int, fft_length: int | None, window: str | None) -> tuple[Any, int]:
    """Return the periodic window of a length, in the middle of what is transformed."""
    size = length if fft_length is None else fft_length
    if size < length:
        raise ArgumentError(
            f"{op}: fft_length = {size}, length = {length}", "a part has to fit in", f"fft_length={length}, or more"
        )
    values = np.ones(length) if window is None else _WINDOWS[window](length + 1)[:-1]
    left = (size - length) // 2
    return np.pad(values, (left, size - length - left)), size


@row
def stft(a: Arrays, x: Array, length: int, step: int, fft_length: int | None, window: str | None, center: bool) -> Any:
    x = to_inexact(a, x)
    x = a.asarray(x, "float32") if x.dtype.itemsize < 4 else x
    weights, size = _weights("stft", length, fft_length, window)
    if center:
        if not x.ndim or x.shape[-1] <= size // 2:
            raise ShapeError(
                f"stft: x {list(x.shape)}, fft_length = {size}",
                "it is too short to be reflected at its ends",
                "center=False, or shorter parts",
            )
        x = a.numpy.pad(x, [(0, 0)] * (x.ndim - 1) + [(size // 2, size // 2)], mode="reflect")
    return a.numpy.fft.rfft(frame(a, x, size, step) * a.asarray(weights, x.dtype), axis=-1)


@row
@in_float32
def istft(
    a: Arrays,
    x: Array,
    length: int,
    step: int,
    fft_length: int | None,
    window: str | None,
    center: bool,
    n: int | None,
) -> Any:
    weights, size = _weights("istft", length, fft_length, window)
    if x.ndim < 2 or x.shape[-1] != size // 2 + 1:
        raise ShapeError(
            f"istft: x {list(x.shape)}, fft_length = {size}",
            f"it is (..., parts, {size // 2 + 1})",
            "the arguments of the stft that it comes from",
        )
    parts = a.numpy.fft.irfft(x, n=size, axis=-1)
    weights = a.asarray(weights, parts.dtype)
    total = overlap_add(a, parts * weights, step)
    power = overlap_add(a, a.numpy.broadcast_to(weights * weights, parts.shape[-2:]), step)
    found = total / a.numpy.where(power > _TINY, power, 1)
    edge = size // 2 if center else 0
    have = found.shape[-1] - 2 * edge
    if n is not None and n > have:
        raise ShapeError(f"istft: n = {n} of x {list(x.shape)}", f"its parts make {have} values", f"n={have}, or less")
    return found[..., edge : edge + (have if n is None else n)]


_TINY = 1e-11
"""Where the squares of the windows add up to less, nothing of the signal is left."""
