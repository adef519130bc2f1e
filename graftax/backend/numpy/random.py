"""Random numbers of the reference backend: the same bits as JAX's, written out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graftax.backend.host import host_dtype
from graftax.backend.numpy import threefry
from graftax.backend.numpy.namespace import is_wide, to_canonical
from graftax.backend.numpy.special import erf, erfinv, erfinv_wide
from graftax.core.dtypes import at_least_single, is_half
from graftax.core.typedefs import Shape

_MANTISSA = {"float32": 23, "float64": 52}
_ROOT_2 = math.sqrt(2)


class NumpyRandom:
    """Keyed random numbers of the NumPy backend."""

    def key(self, seed: int) -> Any:
        """Return the key of a seed, uint32 of shape (2,)."""
        return np.array([seed >> 32 & 0xFFFFFFFF, seed & 0xFFFFFFFF], np.uint32)

    def fold_in(self, key: Any, data: Any) -> Any:
        """Return a new key from a key and a number, of which 32 bits count."""
        low = np.uint32(int(data) & 0xFFFFFFFF)
        return np.stack(threefry.threefry(key, np.uint32(0), low))

    def split(self, key: object, num: int = 2) -> Any:
        """Return ``num`` new keys, shape ``(num, 2)``."""
        return np.stack(threefry.words(key, (num,)), axis=-1)

    def bits(self, key: object, shape: Shape) -> Any:
        """Draw uniform uint32."""
        return threefry.bits(key, tuple(shape))

    def uniform(self, key: Any, shape: Shape, dtype: str, minval: Any = 0.0, maxval: Any = 1.0) -> Any:
        """Draw uniformly from ``[minval, maxval)``."""
        if not is_half(dtype):
            return _uniform(key, tuple(shape), dtype, minval, maxval, lambda drawn: drawn)
        kind = host_dtype(dtype)
        low, high = np.asarray(minval).astype(kind), np.asarray(maxval).astype(kind)
        drawn = self.uniform(key, shape, "float32", low.astype("float32"), high.astype("float32")).astype(kind)
        return np.where(drawn < high, drawn, np.nextafter(high, low))  # what was rounded up to the bound

    def normal(self, key: Any, shape: Shape, dtype: str) -> Any:
        """Draw from the standard normal distribution."""
        wide = at_least_single(dtype)
        low = np.nextafter(host_dtype(wide).type(-1), host_dtype(wide).type(0))
        drawn = _uniform(key, tuple(shape), wide, low, 1.0, lambda drawn: _gaussian(drawn, wide))
        return drawn.astype(host_dtype(dtype))

    def truncated_normal(self, key: object, lower: float, upper: float, shape: Shape, dtype: str) -> Any:
        """Draw from the standard normal distribution between two bounds."""
        if is_half(dtype):
            half = host_dtype(dtype)
            low, high = half.type(lower), half.type(upper)
            drawn = self.truncated_normal(key, lower, upper, shape, "float32").astype(half)
            return np.clip(drawn, np.nextafter(low, high), np.nextafter(high, low)).astype(half)
        kind = host_dtype(dtype)
        low, high = kind.type(lower), kind.type(upper)
        root = kind.type(_ROOT_2)
        least, most = np.nextafter(low, kind.type(np.inf)), np.nextafter(high, kind.type(-np.inf))

        def clipped(drawn: object) -> Any:
            return np.clip(_gaussian(drawn, dtype), least, most).astype(kind)

        return _uniform(key, tuple(shape), dtype, erf(low / root), erf(high / root), clipped)

    def randint(self, key: object, shape: Shape, minval: int, maxval: int, dtype: str) -> Any:
        """Draw integers from ``[minval, maxval)``."""
        kind = np.dtype(dtype)
        wide = kind if kind.itemsize >= 4 else np.dtype("int32")
        if kind.itemsize < 4:
            limits = np.iinfo(kind)
            minval, maxval = (min(max(v, limits.min), limits.max + extra) for v, extra in ((minval, 0), (maxval, 1)))
        top = int(np.iinfo(wide).max)
        over = maxval > top
        minval, maxval = (min(max(int(v), int(np.iinfo(wide).min)), top) for v in (minval, maxval))
        size = 8 * wide.itemsize
        word = np.dtype(f"uint{size}")
        span = 1 if maxval <= minval else (maxval - minval + over) % 2**size
        first, second = (_wide_bits(k, tuple(shape), size) for k in self.split(key))
        with np.errstate(all="ignore"):
            if span:
                factor = word.type((2 ** (size // 2) % span) ** 2 % 2**size % span)
                modulus = word.type(span)
                second = (first % modulus * factor + second % modulus) % modulus
            else:
                second = first * word.type(0) + second
            offset = second.astype(wide) + wide.type(minval)
        return np.asarray(offset).astype(kind).reshape(shape)

    def bernoulli(self, key: Any, p: Any, shape: Shape) -> Any:
        """Draw booleans that are True with probability ``p``."""
        p = np.asarray(p)
        if p.dtype.kind in "iub" or (p.dtype == np.float64 and not is_wide()):
            p = p.astype(np.float32)
        p = p.astype(at_least_single(p.dtype.name))
        return np.asarray(self.uniform(key, shape, p.dtype.name) < p)

    def permutation(self, key: Any, x: Any) -> Any:
        """Return a shuffle of ``arange(x)``, or of the first axis of ``x``."""
        if np.ndim(x) == 0:
            return to_canonical(self._shuffled(key, np.arange(int(x), dtype=np.int32)))
        if x.ndim == 1:
            return self._shuffled(key, x)
        return x[self._shuffled(key, np.arange(x.shape[0]))]

    def _shuffled(self, key: object, x: Any) -> Any:
        """Sort by random words, often enough that equal words do not matter."""
        rounds = int(np.ceil(3 * np.log(max(1, x.size)) / np.log(0xFFFFFFFF)))
        for _ in range(rounds):
            key, used = self.split(key)
            x = x[np.argsort(threefry.bits(used, x.shape), stable=True)]
        return x

    def categorical(self, key: Any, logits: Any, axis: int = -1, shape: Shape | None = None) -> Any:
        """Draw from softmax(logits) along an axis."""
        axis %= logits.ndim
        logits = logits.astype(at_least_single(logits.dtype.name))
        batch = tuple(np.delete(logits.shape, axis))
        shape = batch if shape is None else tuple(shape)
        extra = shape[: len(shape) - len(batch)]
        kept = list(shape[len(shape) - len(batch) :])
        kept.insert(axis, logits.shape[axis])
        tiny = np.finfo(logits.dtype).tiny
        with np.errstate(all="ignore"):
            noise = -np.log(-np.log(self.uniform(key, (*extra, *kept), logits.dtype.name, tiny, 1.0)))
            return to_canonical(np.argmax(noise + logits, axis=axis - logits.ndim))


_BLOCK = 2**15
"""Numbers that are drawn at once: what is computed on the way takes ten times their memory, and stays in the cache."""


def _uniform(key: object, shape: Shape, dtype: str, minval: object, maxval: object, then: Callable[[Any], Any]) -> Any:
    """Draw uniformly from ``[minval, maxval)``, and return what ``then`` makes of the numbers, block by block."""
    kind = host_dtype(dtype)
    low, high = np.asarray(minval).astype(kind), np.asarray(maxval).astype(kind)

    def draw(some: Shape, start: int) -> Any:
        scaled = _unit(key, some, dtype, start) * (high - low) + low
        return then(np.asarray(np.maximum(low, scaled)).astype(kind))

    count = math.prod(shape)
    if count <= _BLOCK or low.ndim or high.ndim:
        return draw(shape, 0).reshape(shape)
    made = np.empty(count, kind)
    for start in range(0, count, _BLOCK):
        part = made[start : start + _BLOCK]
        part[:] = draw(part.shape, start)
    return made.reshape(shape)


def _wide_bits(key: object, shape: Shape, size: int, start: int = 0) -> Any:
    if size == 32:
        return threefry.bits(key, shape, start)
    high, low = threefry.words(key, shape, start)
    return high.astype(np.uint64) << np.uint64(32) | low


def _unit(key: object, shape: Shape, dtype: str, start: int) -> Any:
    """Draw uniformly from [0, 1): random bits in the mantissa of a number in [1, 2), less 1."""
    kind = host_dtype(dtype)
    size, mantissa = 8 * kind.itemsize, _MANTISSA[dtype]
    word = np.dtype(f"uint{size}")
    shifted = _wide_bits(key, shape, size, start) >> word.type(size - mantissa)
    return (shifted | np.ones((), kind).view(word)).view(kind) - kind.type(1)


def _gaussian(u: object, dtype: str) -> Any:
    kind = host_dtype(dtype)
    if dtype == "float64":
        return _ROOT_2 * erfinv_wide(u)
    return (kind.type(_ROOT_2) * erfinv(u).astype(kind)).astype(kind)
