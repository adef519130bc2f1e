"""Convolution and pooling over sliding windows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from graftax.backend.neural import Padding
from graftax.core.typedefs import Array, Shape


def pad(x: Any, padding: Padding, value: Any) -> Any:
    """Add borders on the axes of space; negative ones crop."""
    grow = [(max(low, 0), max(high, 0)) for low, high in padding]
    grown = np.pad(x, [(0, 0), *grow, (0, 0)], constant_values=value)
    crop = [
        slice(max(-low, 0), size - max(-high, 0)) for (low, high), size in zip(padding, grown.shape[1:], strict=False)
    ]
    return grown[(slice(None), *crop)]


def windows(x: Array, window: Shape, strides: Shape, dilation: Shape) -> Any:
    """Return a view ``(batch, *space', channels, *window)``."""
    axes = tuple(range(1, x.ndim - 1))
    spans = tuple((size - 1) * d + 1 for size, d in zip(window, dilation, strict=True))
    view = sliding_window_view(x, spans, axis=axes)
    moved = (slice(None), *(slice(None, None, s) for s in strides), slice(None))
    return view[(*moved, *(slice(None, None, d) for d in dilation))]


def dilate(x: Array, dilation: Shape) -> Any:
    """Put zeros between the values of the axes of space."""
    sizes = [(n - 1) * d + 1 if n else 0 for n, d in zip(x.shape[1:-1], dilation, strict=True)]
    result = np.zeros((x.shape[0], *sizes, x.shape[-1]), x.dtype)
    result[(slice(None), *(slice(None, None, d) for d in dilation))] = x
    return result


def conv(x: object, kernel: Any, strides: Shape, padding: Padding, dilation: Shape, groups: int) -> Any:
    """Convolve, channels last: one product over window and channels for each group."""
    *window, per_group, out = kernel.shape
    space = len(window)
    seen = windows(pad(x, padding, 0), tuple(window), strides, dilation)
    seen = np.moveaxis(seen, space + 1, -1)  # (batch, *space', *window, channels)
    contracted = (tuple(range(space + 1, 2 * space + 2)), tuple(range(space + 1)))
    parts = [
        np.tensordot(
            seen[..., g * per_group : (g + 1) * per_group],
            kernel[..., g * (out // groups) : (g + 1) * (out // groups)],
            axes=contracted,
        )
        for g in range(groups)
    ]
    return np.concatenate(parts, axis=-1)


def pool(x: object, window: Shape, strides: Shape, padding: Padding, reduce: Any, neutral: object) -> Any:
    """Reduce over windows."""
    seen = windows(pad(x, padding, neutral), window, strides, (1,) * len(window))
    return reduce(seen, axis=tuple(range(-len(window), 0)))
