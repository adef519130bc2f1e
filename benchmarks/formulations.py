"""The same maths as one would write it down, and as the backend of graftax has it: forward and backward, compiled."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import graftax as gx
from benchmarks.harness import GRAFTAX, TORCH, Run, Work
from benchmarks.nets import torch_array
from graftax import ops
from graftax.layers.dense import linear


def array(seed: int, *shape: int) -> Any:
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), "float32")


def work(
    name: str,
    plain: Callable[..., Any],
    ours: Callable[..., Any],
    shapes: Any,
    tiny: Any,
    torch: Callable[..., Any] | None = None,
    forward: bool = False,
) -> Work:
    """A row: the gradient of the sum of cubes with respect to the last argument, or the function itself."""

    def inputs(small: bool) -> list[Any]:
        return [array(i, *shape) for i, shape in enumerate(tiny if small else shapes)]

    def hand_written(small: bool) -> Run:
        arrays = inputs(small)
        last = len(arrays) - 1
        slope = jax.grad(lambda *args: jnp.sum(plain(*args) ** 3), argnums=last)
        function = jax.jit(plain if forward else slope)
        return lambda: function(*arrays)

    def graftax(small: bool) -> Run:
        arrays = inputs(small)
        slope = lambda *args: gx.grad(lambda x: ops.sum(ours(*args[:-1], x) ** 3))(args[-1])  # noqa: E731
        function = gx.jit(lambda *args: ours(*args) if forward else slope(*args))
        return lambda: function(*arrays)

    def by_torch(small: bool) -> Run:
        import torch as library

        arrays = [torch_array(one) for one in inputs(small)]
        if forward:
            return library.no_grad()(lambda: torch(*arrays))
        last = arrays[-1].requires_grad_()
        return lambda: library.autograd.grad((torch(*arrays) ** 3).sum(), last)[0]

    peers = {} if torch is None else {TORCH: by_torch}
    return Work(name, "compiled, as one writes it down", {"reference": hand_written, GRAFTAX: graftax, **peers})


def max_pool(x: Any) -> Any:
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def convolution(x: Any, kernel: Any) -> Any:
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def depthwise(strides: int) -> Callable[[Any, Any], Any]:
    def convolve(x: Any, kernel: Any) -> Any:
        kernel = kernel.reshape(*kernel.shape[:2], 1, -1)
        steps, names = (strides, strides), ("NHWC", "HWIO", "NHWC")
        return jax.lax.conv_general_dilated(
            x, kernel, steps, "VALID", dimension_numbers=names, feature_group_count=x.shape[-1]
        )

    return convolve


def torch_depthwise(strides: int) -> Callable[[Any, Any], Any]:
    def convolve(x: Any, kernel: Any) -> Any:
        import torch

        x, kernel = x.permute(0, 3, 1, 2), kernel.permute(2, 3, 0, 1)  # channels last in memory, as it likes best
        return torch.nn.functional.conv2d(x, kernel, stride=strides, groups=x.shape[1])

    return convolve


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
    *(
        work(
            f"{'' if forward else 'gradient of '}a depthwise convolution 3×3, (16, 32, 32, 64){note}",
            depthwise(strides),
            lambda x, kernel, strides=strides: ops.depthwise_conv(x, kernel, strides),
            [(16, 32, 32, 64), (3, 3, 64, 1)],
            [(2, 5, 5, 3), (3, 3, 3, 1)],
            torch_depthwise(strides),
            forward,
        )
        for strides, note in ((1, ""), (2, ", strides of 2"))
        for forward in (True, False)
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
