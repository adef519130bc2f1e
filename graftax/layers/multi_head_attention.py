"""MultiHeadAttention: each position looks at others, several times at once."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from graftax import ops
from graftax.errors import ArgumentError, ShapeError, StateError
from graftax.layers.arguments import positive, within
from graftax.layers.dense import Dense
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy
from graftax.layers.rotary import RotaryEmbedding
from graftax.layers.shapes import is_shape
from graftax.typedefs import Array
from graftax.variables import random
from graftax.variables.initializers import InitializerLike
from graftax.variables.regularizers import RegularizerLike


class Cache(NamedTuple):
    """Keys and values of the positions so far; what `MultiHeadAttention.make_cache` gives."""

    key: Array
    """``(batch, length, key_value_heads, key_dim)``."""
    value: Array
    """``(batch, length, key_value_heads, value_dim)``."""
    position: Array
    """How many positions are filled: an integer."""


class MultiHeadAttention(Layer):
    r"""Each position asks, all positions answer; several heads, each with projections of its own.

    .. math:: \mathrm{softmax}\left(\frac{Q K^\top}{\sqrt{\text{key\_dim}}}\right) V

    ``layer(x)`` is self-attention, ``layer(x, context)`` lets ``x`` look at ``context``.
    The parts are called ``query``, ``key``, ``value`` and ``output``: Dense layers with weights of their own.

    Args:
        num_heads: Number of heads.
        key_dim: Size of queries and keys of each head.
        value_dim: Size of values of each head; ``key_dim`` unless told.
        num_key_value_heads: How many heads keys and values have, each shared by as many query heads; all unless told.
        output_dim: Size of the result; that of the input unless told.
        dropout: The share of weights dropped in training.
        use_bias: Whether the projections have biases.
        rotary_base: The base of a `RotaryEmbedding` of queries and keys; none unless told.
        kernel_initializer: What the kernels start as.
        bias_initializer: What the biases start as.
        kernel_regularizer: Penalty on the kernels.
        bias_regularizer: Penalty on the biases.
        seed: Fixes the draws of the dropout; the global seed and the layer's path unless told.
        name: As for `Layer`.
        trainable: As for `Layer`.
        dtype: As for `Layer`; the softmax is taken in float32 at least.

    A call takes ``value`` and ``key`` (``value`` unless told), ``attention_mask``, True where a query may look, which
    broadcasts to ``(batch, queries, keys)`` or ``(batch, heads, queries, keys)``, ``use_causal_mask`` to look at
    earlier positions only, and ``cache`` to add to what came before: then it returns ``(out, cache)``.

    Shape:
        ``(batch, t, in), (batch, s, in') -> (batch, t, output_dim)``

    Raises:
        ArgumentError: a number is not above 0, or the heads cannot be shared evenly.
        ShapeError: inputs or masks do not fit.

    Example:
        >>> import numpy as np
        >>> x = np.ones((2, 5, 8), "float32")
        >>> layer = MultiHeadAttention(num_heads=2, key_dim=4)
        >>> layer(x, use_causal_mask=True).shape
        (2, 5, 8)
        >>> cache = layer.make_cache(batch_size=2, length=5)
        >>> out, cache = layer(x[:, :1], cache=cache)
        >>> out.shape, int(cache.position)
        ((2, 1, 8), 1)

    Source: Vaswani et al., arXiv 1706.03762; shared heads: Ainslie et al., arXiv 2305.13245.
    """

    supports_masking = True
    compiles_call = True

    def __init__(
        self,
        num_heads: int,
        key_dim: int,
        value_dim: int | None = None,
        num_key_value_heads: int | None = None,
        output_dim: int | None = None,
        dropout: float = 0.0,
        use_bias: bool = True,
        rotary_base: float | None = None,
        kernel_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        seed: int | None = None,
        name: str | None = None,
        trainable: bool = True,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(name, trainable, dtype)
        self.num_heads = positive("num_heads", num_heads)
        self.key_dim = positive("key_dim", key_dim)
        self.value_dim = self.key_dim if value_dim is None else positive("value_dim", value_dim)
        shared = num_heads if num_key_value_heads is None else positive("num_key_value_heads", num_key_value_heads, 1)
        if num_heads % shared:
            raise ArgumentError(
                f"num_heads={num_heads}, num_key_value_heads={shared}",
                "each head of the keys serves as many heads of the queries",
                f"num_key_value_heads={next(n for n in range(shared, 0, -1) if num_heads % n == 0)}",
            )
        self.num_key_value_heads = shared
        self.output_dim = None if output_dim is None else positive("output_dim", output_dim)
        self.dropout = within("dropout", dropout, 0, 1)
        self.seed_generator = random.SeedGenerator(seed) if dropout else None
        self.rotary = None if rotary_base is None else RotaryEmbedding(rotary_base, dtype=dtype)

        self.use_bias = use_bias
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.query = self._projection(self.num_heads * self.key_dim)
        self.key = self._projection(shared * self.key_dim)
        self.value = self._projection(shared * self.value_dim)
        self.output = None if self.output_dim is None else self._projection(self.output_dim)

    def build(self, input_shape: Any) -> None:
        if not is_shape(input_shape) or len(input_shape) != 3:
            raise ShapeError(
                f"a query of shape {input_shape}", "it is (batch, length, size)", "x[None] for a missing batch axis"
            )
        if self.output is None:
            self.output = self._projection(input_shape[-1])
        if self.seed_generator is not None:
            self.seed_generator.build()

    def call(
        self,
        x: Array,
        value: Array | None = None,
        key: Array | None = None,
        attention_mask: Array | None = None,
        use_causal_mask: bool = False,
        cache: Cache | None = None,
        training: bool | None = None,
        mask: Array | None = None,
    ) -> Any:
        value = x if value is None else value
        key = value if key is None else key
        allowed = self._allowed(attention_mask, mask if value is x else None)
        q = self._heads(self.query(x), self.num_heads)
        k, v = (self._heads(part, self.num_key_value_heads) for part in (self.key(key), self.value(value)))
        start = 0 if cache is None else cache.position
        if self.rotary is not None:
            q, k = self.rotary(q, start=start), self.rotary(k, start=start)
        if cache is not None:
            self._check_cache(cache, x)
            cache = self._extended(cache, k, v)
            k, v = cache.key, cache.value
            seen = self._filled(x.shape[1], k.shape[1], start)
            allowed = seen if allowed is None else ops.logical_and(allowed, seen)
            use_causal_mask = False  # what is filled is what came before
        if self.dropout and training:
            out = self._with_dropout(q, k, v, allowed, use_causal_mask)
        else:
            out = ops.dot_product_attention(q, k, v, mask=allowed, is_causal=use_causal_mask)
        out = self._output()(ops.reshape(out, (*out.shape[:2], self.num_heads * self.value_dim)))
        return out if cache is None else (out, cache)

    def make_cache(self, batch_size: int, length: int) -> Cache:
        """An empty cache, for as many positions as there will be.

        Args:
            batch_size: Number of sequences.
            length: Positions that it has room for.
        """
        heads, dtype = self.num_key_value_heads, self.compute_dtype
        key, value = (ops.zeros((batch_size, length, heads, n), dtype) for n in (self.key_dim, self.value_dim))
        return Cache(key, value, ops.asarray(0, "int32"))

    # --- inside -----------------------------------------------------------------------------------------------------

    def _projection(self, units: int) -> Dense:
        return Dense(
            units,
            use_bias=self.use_bias,
            kernel_initializer=self.kernel_initializer,
            bias_initializer=self.bias_initializer,
            kernel_regularizer=self.kernel_regularizer,
            bias_regularizer=self.bias_regularizer,
            trainable=self.trainable,
            dtype=self._policy,
        )

    def _output(self) -> Dense:
        if self.output is None:
            raise StateError("build() was not called", "the size of the result is that of the input", "layer(x)")
        return self.output

    def _heads(self, x: Array, heads: int) -> Array:
        return ops.reshape(x, (*x.shape[:2], heads, x.shape[2] // heads))

    def _allowed(self, given: Array | None, mask: Array | None) -> Array | None:
        """Where queries may look: ``(batch, heads, queries, keys)``, or what broadcasts to it."""
        if given is not None and given.ndim == 3:
            given = given[:, None]
        if mask is None:
            return given
        keys = mask[:, None, None, :]
        return keys if given is None else ops.logical_and(given, keys)

    def _check_cache(self, cache: Cache, x: Array) -> None:
        rows, room = cache.key.shape[:2]
        if rows != x.shape[0] or x.shape[1] > room:
            raise ShapeError(
                f"an input of shape {tuple(x.shape)} and a cache of {rows} sequences of {room} positions",
                "the cache must have the same sequences, and room for all positions",
                f"layer.make_cache(batch_size={x.shape[0]}, length={max(room, x.shape[1])})",
            )

    def _extended(self, cache: Cache, key: Array, value: Array) -> Cache:
        begin = ops.stack([0, cache.position, 0, 0])
        return Cache(
            ops.slice_update(cache.key, begin, key),
            ops.slice_update(cache.value, begin, value),
            cache.position + key.shape[1],
        )

    def _filled(self, queries: int, keys: int, start: Any) -> Array:
        """Each query sees the positions up to its own."""
        last = ops.arange(queries)[:, None] + start
        return ops.less_equal(ops.arange(keys)[None, :], last)[None, None]

    def _with_dropout(self, q: Array, k: Array, v: Array, allowed: Array | None, causal: bool) -> Array:
        """The same, with weights that are dropped, which the plain op does not show."""
        groups = self.num_heads // self.num_key_value_heads
        k, v = ops.repeat(k, groups, axis=2), ops.repeat(v, groups, axis=2)
        wide = "float32" if str(q.dtype) in ("float16", "bfloat16") else q.dtype
        scores = ops.cast(ops.einsum("bthd,bshd->bhts", q * self.key_dim**-0.5, k), wide)
        if causal:
            past = ops.tri(q.shape[1], k.shape[1], k.shape[1] - q.shape[1], dtype="bool")
            allowed = past if allowed is None else ops.logical_and(allowed, past)
        if allowed is not None:
            scores = ops.where(allowed, scores, -math.inf)
        weights = ops.softmax(scores)
        if self.dropout == 1:
            weights = ops.zeros_like(weights)
        else:
            keep = random.bernoulli(weights.shape, 1 - self.dropout, seed=self.seed_generator)
            weights = ops.where(keep, weights / (1 - self.dropout), 0)
        return ops.einsum("bhts,bshd->bthd", ops.cast(weights, v.dtype), v)
