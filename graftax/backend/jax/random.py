"""Random numbers of JAX: Threefry-2x32 in its partitionable form, whatever JAX itself is configured to use.

Half precision is drawn in float32 and rounded: of the few numbers that it has between 0 and 1 the first is 0, so that
one draw of 128 would be the end of the distribution, and the mean of all too small.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from graftax.core.dtypes import at_least_single, is_half
from graftax.core.typedefs import Array, Shape
from graftax.core.wrapping import wraps


def _sampler(*static: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile a function of a raw key; the named arguments are static.

    Several axes are drawn as one: the same bits, and XLA compiles that several times faster than four axes.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def sample(key: jax.Array, *args: Any, **options: Any) -> Any:
            shape = options.get("shape")
            if shape and all(jnp.ndim(argument) == 0 for argument in args):
                options["shape"] = (math.prod(shape),)
            with jax.threefry_partitionable(True):
                drawn = function(jax.random.wrap_key_data(key, impl="threefry2x32"), *args, **options)
            return drawn if options.get("shape") == shape else drawn.reshape(shape)

        return partial(jax.jit, static_argnames=static, inline=True)(sample)

    return decorate


@_sampler()
def _fold_in(key: jax.Array, data: int | jax.Array) -> Any:
    return jax.random.key_data(jax.random.fold_in(key, data))


@_sampler("num")
def _split(key: jax.Array, num: int) -> Any:
    return jax.random.key_data(jax.random.split(key, num))


@_sampler("shape")
def _bits(key: jax.Array, shape: Shape) -> Any:
    return jax.random.bits(key, shape, "uint32")


@_sampler("shape", "dtype")
def _uniform(key: jax.Array, minval: float | jax.Array, maxval: float | jax.Array, shape: Shape, dtype: str) -> Any:
    if not is_half(dtype):
        return jax.random.uniform(key, shape, dtype, minval, maxval)
    low, high = (jnp.asarray(bound).astype(dtype) for bound in (minval, maxval))
    drawn = jax.random.uniform(key, shape, "float32", low.astype("float32"), high.astype("float32")).astype(dtype)
    return jnp.where(drawn < high, drawn, jnp.nextafter(high, low))  # what was rounded up to the bound


@_sampler("shape", "dtype")
def _normal(key: jax.Array, shape: Shape, dtype: str) -> Any:
    return jax.random.normal(key, shape, at_least_single(dtype)).astype(dtype)


@_sampler("shape", "dtype")
def _truncated_normal(key: jax.Array, lower: Any, upper: Any, shape: Shape, dtype: str) -> Any:
    drawn = jax.random.truncated_normal(key, lower, upper, shape, at_least_single(dtype))
    if not is_half(dtype):
        return drawn
    low, high = (jnp.asarray(bound).astype(dtype) for bound in (lower, upper))
    return jnp.clip(drawn.astype(dtype), jnp.nextafter(low, high), jnp.nextafter(high, low))


@_sampler("shape", "dtype")
def _randint(key: jax.Array, minval: float | jax.Array, maxval: float | jax.Array, shape: Shape, dtype: str) -> Any:
    return jax.random.randint(key, shape, minval, maxval, dtype)


@_sampler("shape")
def _bernoulli(key: jax.Array, p: float | jax.Array, shape: Shape) -> Any:
    kind = jnp.result_type(float, p).name
    return jax.random.bernoulli(key, jnp.asarray(p, at_least_single(kind)), shape)


@_sampler("size")
def _shuffle_range(key: jax.Array, size: int) -> Any:
    return jax.random.permutation(key, size)


@_sampler()
def _shuffle(key: Any, x: Any) -> Any:
    return jax.random.permutation(key, x)


@_sampler("axis", "shape")
def _categorical(key: jax.Array, logits: jax.Array, axis: int, shape: Shape | None) -> Any:
    return jax.random.categorical(key, logits.astype(at_least_single(logits.dtype.name)), axis, shape, mode="low")


def _bound(value: int) -> Any:
    """Return a bound beyond int32 as uint32, which it may need."""
    return np.uint32(value) if 2**31 <= value < 2**32 else value


class JaxRandom:
    """Keyed random numbers of the JAX backend."""

    def key(self, seed: int) -> Any:
        """Return the key of a seed, uint32 of shape (2,)."""
        return jnp.array(np.array([seed >> 32 & 0xFFFFFFFF, seed & 0xFFFFFFFF], np.uint32))

    def fold_in(self, key: Array, data: int | Array) -> Any:
        """Return a new key from a key and a number, of which 32 bits count."""
        return _fold_in(key, np.uint32(data & 0xFFFFFFFF) if isinstance(data, int) else data)

    def split(self, key: Array, num: int = 2) -> Any:
        """Return ``num`` new keys, shape ``(num, 2)``."""
        return _split(key, num=num)

    def bits(self, key: Array, shape: Shape) -> Any:
        """Draw uniform uint32."""
        return _bits(key, shape=tuple(shape))

    def uniform(self, key: Array, shape: Shape, dtype: str, minval: Any = 0.0, maxval: Any = 1.0) -> Any:
        """Draw uniformly from ``[minval, maxval)``."""
        return _uniform(key, minval, maxval, shape=tuple(shape), dtype=dtype)

    def normal(self, key: Array, shape: Shape, dtype: str) -> Any:
        """Draw from the standard normal distribution."""
        return _normal(key, shape=tuple(shape), dtype=dtype)

    def truncated_normal(self, key: Array, lower: float, upper: float, shape: Shape, dtype: str) -> Any:
        """Draw from the standard normal distribution between two bounds."""
        return _truncated_normal(key, lower, upper, shape=tuple(shape), dtype=dtype)

    def randint(self, key: Array, shape: Shape, minval: int, maxval: int, dtype: str) -> Any:
        """Draw integers from ``[minval, maxval)``."""
        return _randint(key, _bound(minval), _bound(maxval), shape=tuple(shape), dtype=dtype)

    def bernoulli(self, key: Array, p: Any, shape: Shape) -> Any:
        """Draw booleans that are True with probability ``p``."""
        # the same draws where JAX takes a plain number for float64
        return _bernoulli(key, np.float32(p) if isinstance(p, int | float) else p, shape=tuple(shape))

    def permutation(self, key: Array, x: int | Array) -> Any:
        """Return a shuffle of ``arange(x)``, or of the first axis of ``x``."""
        return _shuffle_range(key, size=int(x)) if isinstance(x, (int, np.integer)) else _shuffle(key, x)

    def categorical(self, key: Array, logits: Array, axis: int = -1, shape: Shape | None = None) -> Any:
        """Draw from softmax(logits) along an axis."""
        return _categorical(key, logits, axis=axis, shape=None if shape is None else tuple(shape))
