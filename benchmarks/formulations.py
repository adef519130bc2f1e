"""The same maths as one would write it down, and as the backend of graftax has it: forward and backward, compiled."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import graftax as gx
from benchmarks.harness import GRAFTAX, Run, Work
from graftax import ops
from graftax.layers.dense import linear


def array(seed: int, *shape: int) -> Any:
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), "float32")


def work(name: str, plain: Callable[..., Any], ours: Callable[..., Any], shapes: Any, tiny: Any) -> Work:
    """A row: the gradient of the sum of cubes with respect to the last argument."""

    def inputs(small: bool) -> list[Any]:
        return [array(i, *shape) for i, shape in enumerate(tiny if small else shapes)]

    def hand_written(small: bool) -> Run:
        arrays = inputs(small)
        last = len(arrays) - 1
        gradient = jax.jit(jax.grad(lambda *args: jnp.sum(plain(*args) ** 3), argnums=last))
        return lambda: gradient(*arrays)

    def graftax(small: bool) -> Run:
        *others, last = inputs(small)
        gradient = gx.jit(lambda last, *others: gx.grad(lambda x: ops.sum(ours(*others, x) ** 3))(last))
        return lambda: gradient(last, *others)

    return Work(name, "compiled, as one writes it down", {"reference": hand_written, GRAFTAX: graftax})


def max_pool(x: Any) -> Any:
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def convolution(x: Any, kernel: Any) -> Any:
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def norm(x: Any) -> Any:
    centred = x - jnp.mean(x, -1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.mean(centred**2, -1, keepdims=True) + 1e-3)


def attention(key: Any, value: Any, query: Any) -> Any:
    scores = jnp.einsum("bthd,bshd->bhts", query, key) / np.sqrt(query.shape[-1])
    return jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(scores), value)


IMAGES, HEADS = [(64, 32, 32, 32)], [(4, 256, 8, 32)] * 3
WORKS = [
    work("gradient of max-pool 2×2, (64, 32, 32, 32)", max_pool, lambda x: ops.max_pool(x, 2), IMAGES, [(2, 4, 4, 3)]),
    work(
        "gradient of a convolution 3×3 of 3 channels, (64, 32, 32, 3) to 32",
        convolution,
        ops.conv,
        [(64, 32, 32, 3), (3, 3, 3, 32)],
        [(2, 5, 5, 3), (3, 3, 3, 2)],
    ),
    work(
        "gradient of Dense over (32, 64, 128) to 512",
        jnp.matmul,
        linear,
        [(32, 64, 128), (128, 512)],
        [(2, 3, 4), (4, 5)],
    ),
    work("gradient of a layer norm, (2048, 128)", norm, ops.standardize, [(2048, 128)], [(3, 5)]),
    work(
        "gradient of attention, (4, 256, 8, 32)",
        attention,
        lambda key, value, query: ops.dot_product_attention(query, key, value),
        HEADS,
        [(2, 3, 2, 4)] * 3,
    ),
]
