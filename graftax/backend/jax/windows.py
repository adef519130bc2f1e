"""Convolution and pooling in the form that XLA runs best; the choices are measured, see benchmarks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from graftax.backend.neural import Padding
from graftax.core.typedefs import Shape

_FEW_CHANNELS = 4
_SMALL_KERNEL = 9
_SMALL_WINDOW = 16
_DEPTHWISE_WINDOW = 49


def prefers_matmul(kernel: Shape) -> bool:
    """Tell whether patches and one matrix product beat XLA's convolution: 2-D, few input channels, on CPU.

    3 x 3 over 3 channels, forward and backward: 11.4 ms against 16.7 ms; over 32 channels it would be 99 against 42.
    """
    small = len(kernel) == 4 and kernel[2] <= _FEW_CHANNELS and kernel[0] * kernel[1] <= _SMALL_KERNEL
    return small and jax.default_backend() == "cpu"


def conv_by_matmul(x: jax.Array, kernel: jax.Array, strides: Shape, padding: Padding, dilation: Shape) -> Any:
    """Convolve, as patches times a matrix."""
    *window, _, out = kernel.shape
    padded = jnp.pad(x, [(0, 0), *padding, (0, 0)])
    patches = jnp.concatenate(_slices(padded, tuple(window), strides, dilation), axis=-1)
    return jnp.matmul(patches, kernel.reshape(-1, out))


def prefers_slices(channels: int, kernel: Shape, groups: int) -> bool:
    """Tell whether a sum of products with shifted arrays beats XLA's convolution: each channel by itself, on CPU.

    3 x 3 over (16, 32, 32, 64): forward 2.1 ms against 25, with both gradients 29 against 84; 7 x 7 likewise. A GPU has
    kernels for it.
    """
    alone = groups == channels > 1 and kernel[-2] == 1
    return alone and math.prod(kernel[:-2]) <= _DEPTHWISE_WINDOW and jax.default_backend() == "cpu"


def conv_by_slices(x: jax.Array, kernel: jax.Array, strides: Shape, padding: Padding, dilation: Shape) -> Any:
    """Convolve each channel with kernels of its own, as a sum over the places in the window."""
    *window, _, out = kernel.shape
    dtype = jnp.promote_types(x.dtype, kernel.dtype)
    wide = jnp.promote_types(dtype, jnp.float32) if jnp.issubdtype(dtype, jnp.floating) else dtype  # to add up in
    padded = jnp.pad(x, [(0, 0), *padding, (0, 0)]).astype(wide)
    if (copies := out // x.shape[-1]) > 1:
        padded = jnp.repeat(padded, copies, axis=-1)
    factors = kernel.astype(wide).reshape(-1, out)
    slices = _slices(padded, tuple(window), strides, dilation)
    total = slices[0] * factors[0]
    for one, factor in zip(slices[1:], factors[1:], strict=True):
        total = total + one * factor
    return total.astype(dtype)


def pool(
    x: jax.Array,
    window: Shape,
    strides: Shape,
    padding: Padding,
    pairwise: Callable[[Any, Any], Any],
    monoid: Callable[[Any, Any], Any],
    neutral: Any,
) -> Any:
    """Reduce over windows: small ones slice by slice, since the gradient of reduce_window is 68 times slower."""
    if math.prod(window) > _SMALL_WINDOW:
        pads = ((0, 0), *((int(low), int(high)) for low, high in padding), (0, 0))
        return lax.reduce_window(x, neutral, monoid, (1, *window, 1), (1, *strides, 1), pads)
    if any(low or high for low, high in padding):
        x = jnp.pad(x, [(0, 0), *padding, (0, 0)], constant_values=neutral)
    slices = _slices(x, window, strides, (1,) * len(window))
    while len(slices) > 1:  # as a balanced tree
        slices = [pairwise(*pair) if len(pair) == 2 else pair[0] for pair in _pairs(slices)]
    return slices[0]


def _pairs(items: list[Any]) -> list[list[Any]]:
    return [items[i : i + 2] for i in range(0, len(items), 2)]


def _slices(x: jax.Array, window: Shape, strides: Shape, dilation: Shape) -> list[Any]:
    """Return for each place in the window what the window sees there as it moves."""
    spans = [(size - 1) * d + 1 for size, d in zip(window, dilation, strict=True)]
    ends = [(have - span) // s * s + 1 for have, span, s in zip(x.shape[1:-1], spans, strides, strict=True)]
    return [
        lax.slice(
            x,
            (0, *(o * d for o, d in zip(offset, dilation, strict=True)), 0),
            (
                x.shape[0],
                *(o * d + end for o, d, end in zip(offset, dilation, ends, strict=True)),
                x.shape[-1],
            ),
            (1, *strides, 1),
        )
        for offset in itertools.product(*map(range, window))
    ]
