"""Layers that leave a choice of formulation: the one written down first, and the one that graftax has."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

import graftax as gx
from benchmarks.formulations import array, work
from benchmarks.harness import GRAFTAX, Run, Work
from graftax import ops
from graftax.generation import sampling_filters
from graftax.layers.up_sampling import repeat_values


def forward(
    name: str, plain: Callable[[Any], Any], ours: Callable[[Any], Any], shape: tuple[int, ...], tiny: tuple[int, ...]
) -> Work:
    """A row without a gradient."""

    def hand_written(small: bool) -> Run:
        x, function = array(0, *(tiny if small else shape)), jax.jit(plain)
        return lambda: function(x)

    def graftax(small: bool) -> Run:
        x, function = array(0, *(tiny if small else shape)), gx.jit(ours)
        return lambda: function(x)

    return Work(name, "compiled, as one writes it down", {"reference": hand_written, GRAFTAX: graftax})


def up_sampling(x: Any) -> Any:
    return jnp.repeat(jnp.repeat(x, 2, 1), 2, 2)


def depthwise(x: Any, kernel: Any) -> Any:
    height, width, channels, multiplier = kernel.shape
    return jax.lax.conv_general_dilated(
        x,
        kernel.reshape(height, width, 1, channels * multiplier),
        (1, 1),
        "VALID",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=channels,
    )


def transposed(x: Any, kernel: Any) -> Any:
    turned = kernel[::-1, ::-1]  # the gradient of a convolution, as Keras and PyTorch have it
    return jax.lax.conv_transpose(x, turned, (2, 2), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def group_norm(x: Any) -> Any:
    apart = x.reshape(*x.shape[:-1], 4, -1)
    axes = (1, 2, 4)
    centred = apart - apart.mean(axes, keepdims=True)
    return (centred * jax.lax.rsqrt((centred**2).mean(axes, keepdims=True) + 1e-3)).reshape(x.shape)


def rms_norm(x: Any) -> Any:
    return x * jax.lax.rsqrt(jnp.mean(x**2, -1, keepdims=True) + 1e-6)


def top_k(logits: Any) -> Any:
    return jnp.where(logits >= jnp.sort(logits)[:, -5:][:, :1], logits, -jnp.inf)


def top_p(logits: Any) -> Any:
    shares = jnp.sort(jax.nn.softmax(logits))[:, ::-1]
    before = jnp.cumsum(shares, -1) - shares
    last = jnp.min(jnp.where(before < 0.9, shares, 1), -1, keepdims=True)
    return jnp.where(jax.nn.softmax(logits) >= last, logits, -jnp.inf)


WORKS = [
    work(
        "gradient of up-sampling 2×2, (32, 32, 32, 16)",
        up_sampling,
        lambda x: repeat_values(x, (2, 2)),
        [(32, 32, 32, 16)],
        [(2, 3, 4, 2)],
    ),
    forward(
        "up-sampling 2×2, (32, 32, 32, 16)",
        up_sampling,
        lambda x: repeat_values(x, (2, 2)),
        (32, 32, 32, 16),
        (2, 3, 4, 2),
    ),
    work(
        "gradient of a depthwise convolution 3×3, (16, 32, 32, 32)",
        depthwise,
        ops.depthwise_conv,
        [(16, 32, 32, 32), (3, 3, 32, 1)],
        [(2, 5, 5, 3), (3, 3, 3, 2)],
    ),
    work(
        "gradient of a transposed convolution 3×3 by 2, (16, 16, 16, 32) to 16",
        transposed,
        lambda x, kernel: ops.conv_transpose(x, kernel, 2),
        [(16, 16, 16, 32), (3, 3, 32, 16)],
        [(2, 4, 4, 3), (3, 3, 3, 2)],
    ),
    work(
        "gradient of a group norm of 4, (32, 16, 16, 32)",
        group_norm,
        gx.layers.GroupNormalization(4, center=False, scale=False),
        [(32, 16, 16, 32)],
        [(2, 3, 3, 8)],
    ),
    work("gradient of an RMS norm, (2048, 128)", rms_norm, ops.rms_normalization, [(2048, 128)], [(3, 5)]),
    forward("top-k of 5 of logits (8, 20000)", top_k, lambda x: sampling_filters.top_k(x, 5), (8, 20000), (2, 9)),
    forward("top-p of 0.9 of logits (8, 20000)", top_p, lambda x: sampling_filters.top_p(x, 0.9), (8, 20000), (2, 9)),
]
