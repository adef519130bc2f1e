"""MultiHeadAttention: each position looks at others, several times at once."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from graftax import ops
from graftax.backend import registry, traced_checks
from graftax.core.errors import ArgumentError, ArgumentTypeError, ShapeError, StateError
from graftax.core.typedefs import Array
from graftax.layers.arguments import check_choice, check_flag, check_positive, check_range, widen
from graftax.layers.attention_cache import AttentionCache
from graftax.layers.dense import Dense
from graftax.layers.layer import Layer
from graftax.layers.masking import as_bool, check_mask, combine_masks, hide, zero_hidden_nan
from graftax.layers.policy import DTypePolicy
from graftax.layers.rotary import RotaryEmbedding
from graftax.layers.shapes import is_shape, shape_of
from graftax.ops.parameter_kinds import KINDS
from graftax.variables import random
from graftax.variables.initializers import InitializerLike
from graftax.variables.keys import checked_seed
from graftax.variables.regularizers import RegularizerLike

_KERNELS = KINDS["AttentionKernel"].words


class MultiHeadAttention(Layer):
    r"""Attention of each position to all positions, in several heads, each with projections of its own.

    .. math:: \mathrm{softmax}\left(\frac{Q K^\top}{\sqrt{\text{key\_dim}}}\right) V

    ``layer(x)`` is self-attention, ``layer(x, context)`` lets ``x`` look at ``context``.
    The parts are called ``query``, ``key``, ``value`` and ``output``: Dense layers with weights of their own.

    Args:
        num_heads: Number of heads.
        key_dim: Size of queries and keys of each head.
        value_dim: Size of values of each head. Defaults to ``key_dim``.
        num_key_value_heads: How many heads keys and values have, each shared by as many query heads. Defaults to all.
        output_dim: Size of the result. Defaults to that of the input.
        dropout: The share of weights dropped in training. Defaults to 0.0.
        use_bias: Whether the projections have biases. Defaults to True.
        rotary_base: The base of a `RotaryEmbedding` of queries and keys. Defaults to None.
        kernel_initializer: What the kernels start as. Defaults to ``"glorot_uniform"``.
        bias_initializer: What the biases start as. Defaults to ``"zeros"``.
        kernel_regularizer: Penalty on the kernels. Defaults to None.
        bias_regularizer: Penalty on the biases. Defaults to None.
        implementation: The kernel that attends: ``"cudnn"``, for half precision on GPUs of NVIDIA, ``"xla"``, or None,
            what the backend runs best everywhere. Defaults to None.
        seed: Fixes the draws of the dropout. Defaults to the global seed and the layer's path.
        name: As for `Layer`. Defaults to None.
        trainable: As for `Layer`. Defaults to True.
        dtype: As for `Layer`; the softmax is taken in float32 at least. Defaults to None.

    A call takes ``query``, ``value`` and ``key`` (by default ``value``), and

    - ``attention_mask``, True where a query may look, which broadcasts to ``(batch, queries, keys)`` or
      ``(batch, heads, queries, keys)``;
    - ``use_causal_mask`` to look at no later position, where query 0 is at key 0, whatever the lengths; False unless
      told without a cache, True with one;
    - ``cache`` to add to what came before: then it returns ``(out, cache)``, and queries stand where the cache says.
      With ``use_causal_mask=False`` those of one call look at each other, as in the prefix of a prefix language model;
    - ``query_mask``, ``value_mask`` and ``key_mask``, of shape ``(batch, length)``, in place of those that the arrays
      carry: nobody looks at what those of ``value`` and ``key`` hide. That of the query is handed on to the output. In
      self-attention it is that of the values, too;
    - ``mask``: the same as ``value_mask`` where there is a ``value``, else as ``query_mask``.

    All masks together say where a query may look; one that sees nothing gets the bias of the output.

    Shape:
        ``(batch, t, in), (batch, s, in') -> (batch, t, output_dim)``

    Raises:
        ArgumentError: a number is not above 0, the heads cannot be shared evenly, weights are to be dropped within a
            kernel, one mask is given under two names, or the cache is full.
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

    _gx_of_constructor = frozenset(
        "num_heads key_dim value_dim num_key_value_heads output_dim use_bias rotary_base "
        "kernel_initializer bias_initializer kernel_regularizer bias_regularizer".split()
    )

    supports_masking = True
    compiles_call = True
    _gx_column_parts = ("query", "key", "value")  # by heads, as `tensor_parallel` splits them
    _gx_row_parts = ("output",)

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
        implementation: str | None = None,
        name: str | None = None,
        trainable: bool = True,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(name, trainable, dtype)
        self.num_heads = check_positive("num_heads", num_heads)
        self.key_dim = check_positive("key_dim", key_dim)
        self.value_dim = self.key_dim if value_dim is None else check_positive("value_dim", value_dim)
        shared = (
            num_heads if num_key_value_heads is None else check_positive("num_key_value_heads", num_key_value_heads, 1)
        )
        if num_heads % shared:
            raise ArgumentError(
                f"num_heads={num_heads}, num_key_value_heads={shared}",
                "each head of the keys serves as many heads of the queries",
                f"num_key_value_heads={next(n for n in range(shared, 0, -1) if num_heads % n == 0)}",
            )
        self.num_key_value_heads = shared
        self.output_dim = None if output_dim is None else check_positive("output_dim", output_dim)
        self.dropout = check_range("dropout", dropout, 0, 1)
        self.implementation = (
            None if implementation is None else check_choice("implementation", implementation, _KERNELS)
        )
        if implementation is not None and dropout:
            raise ArgumentError(
                f"implementation={implementation!r}, dropout={dropout}",
                "kernels show no weights that could be dropped",
                "dropout=0.0, or implementation=None",
            )
        self.seed = None if seed is None else checked_seed(seed)
        self.seed_generator = random.SeedGenerator(self.seed) if dropout else None
        if rotary_base is not None and self.key_dim % 2:
            raise ArgumentError(
                f"key_dim={key_dim}, rotary_base={rotary_base}",
                "features are turned in pairs, and the size of a head is odd",
                f"key_dim={self.key_dim + 1}",
            )
        self.rotary_base = rotary_base
        self.rotary = None if rotary_base is None else RotaryEmbedding(rotary_base, dtype=dtype)

        self.use_bias = check_flag("use_bias", use_bias)
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.query = self._projection(self.num_heads * self.key_dim)
        self.key = self._projection(shared * self.key_dim)
        self.value = self._projection(shared * self.value_dim)
        self.output = None if self.output_dim is None else self._projection(self.output_dim)

    def build(self, input_shape: Any) -> None:
        self._check_axes("query", input_shape)
        if self.output is None:
            self.output = self._projection(input_shape[-1])
        if self.seed_generator is not None:
            self.seed_generator.build()

    def call(
        self,
        query: Array,
        value: Array | None = None,
        key: Array | None = None,
        attention_mask: Array | None = None,
        use_causal_mask: bool | None = None,
        cache: AttentionCache | None = None,
        training: bool | None = None,
        query_mask: Array | None = None,
        value_mask: Array | None = None,
        key_mask: Array | None = None,
    ) -> Any:
        causal = cache is not None if use_causal_mask is None else check_flag("use_causal_mask", use_causal_mask)
        for name, part in (("query", query), ("value", value), ("key", key)):
            if part is not None or name == "query":
                self._check_axes(name, shape_of(part))
        query_mask = self._mask(query_mask, query, "query_mask")
        if value is None:
            value, value_mask = query, query_mask if value_mask is None else value_mask
        if key is None:
            key, key_mask = value, value_mask if key_mask is None else key_mask
        self._check_together(query, value, key)
        value_mask, key_mask = self._mask(value_mask, value, "value_mask"), self._mask(key_mask, key, "key_mask")
        visible = combine_masks(value_mask, key_mask)
        if cache is not None:
            self._check_cache(cache, query, key)
        seen, allowed = visible, None
        if attention_mask is not None:
            keys = key.shape[1] if cache is None else cache.key.shape[1]
            allowed = self._pairs(as_bool(attention_mask, "attention_mask"), key.shape[0], query.shape[1], keys)
            if cache is None:  # what no query sees is hidden, too
                seen = combine_masks(seen, ops.broadcast_to(ops.any(allowed, axis=(1, 2)), key.shape[:2]))
        q = self._heads(self.query(zero_hidden_nan(query, query_mask)), self.num_heads)
        k = self._heads(self.key(hide(key, seen)), self.num_key_value_heads)
        v = self._heads(self.value(hide(value, seen)), self.num_key_value_heads)
        start = 0 if cache is None else cache.position
        if self.rotary is not None:
            q, k = self.rotary(q, start=start), self.rotary(k, start=start)
        if cache is not None:
            cache = self._extend_cache(cache, k, v, visible)
            k, v, visible = cache.key, cache.value, cache.visible
            allowed = combine_masks(allowed, self._cache_mask(q.shape[1], k.shape[1], start, causal))
            causal = False  # that mask says so
        if visible is not None:
            allowed = combine_masks(allowed, visible[:, None, None, :])
        if self.dropout and training:
            out = self._with_dropout(q, k, v, allowed, causal)
        else:
            out = ops.dot_product_attention(q, k, v, mask=allowed, is_causal=causal, implementation=self.implementation)
        out = self._output()(ops.reshape(out, (*out.shape[:2], self.num_heads * self.value_dim)))
        return out if cache is None else (out, cache)

    def _gx_named_masks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        if "mask" not in kwargs:
            return kwargs
        rest = {name: value for name, value in kwargs.items() if name != "mask"}
        if (mask := kwargs["mask"]) is None:
            return rest
        alone = kwargs.get("value") is None and (len(args) < 2 or args[1] is None)
        whose = "query_mask" if alone else "value_mask"
        if rest.get(whose) is not None:
            raise ArgumentError(f"mask= and {whose}=", "here they are two names for one", f"{whose}=... alone")
        return {**rest, whose: mask}

    def make_cache(self, batch_size: int, length: int) -> AttentionCache:
        """Make an empty cache, for as many positions as there will be.

        Args:
            batch_size: Number of sequences.
            length: Positions that it has room for; one more raises, in compiled code with ``checked=True`` only.
        """
        rows, room = check_positive("batch_size", batch_size), check_positive("length", length)
        heads, dtype = self.num_key_value_heads, self._gx_dtypes.compute_dtype
        key, value = (ops.zeros((rows, room, heads, n), dtype) for n in (self.key_dim, self.value_dim))
        return AttentionCache(key, value, ops.asarray(0, "int32"), ops.zeros((rows, room), "bool"))

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
            dtype=self._gx_policy,
        )

    def _check_axes(self, name: str, shape: Any) -> None:
        if shape is None or not is_shape(shape) or len(shape) != 3:
            raise ShapeError(
                f"a {name} of shape {shape}", "it is (batch, length, size)", "x[None] for a missing batch axis"
            )

    def _check_together(self, query: Array, value: Array, key: Array) -> None:
        """Raise if they are of different batches, or steps: one of 1 would be broadcast to the others."""
        if not query.shape[0] == value.shape[0] == key.shape[0] or value.shape[1] != key.shape[1]:
            raise ShapeError(
                f"a query of shape {tuple(query.shape)}, values {tuple(value.shape)}, keys {tuple(key.shape)}",
                "all are of one batch, and each of the values has its key",
                "ops.broadcast_to(value, (batch, steps, size)) for one sequence that is the same for the whole batch",
            )

    def _output(self) -> Dense:
        output: Dense | None = self.output
        if output is None:
            raise StateError("build() was not called", "the size of the result is that of the input", "layer(x)")
        return output

    def _heads(self, x: Array, heads: int) -> Array:
        return ops.reshape(x, (*x.shape[:2], heads, x.shape[2] // heads))

    def _mask(self, mask: Array | None, x: Array, name: str) -> Array | None:
        return None if mask is None else check_mask(mask, tuple(x.shape), axes=2, name=name)

    def _pairs(self, mask: Array, batch: int, queries: int, keys: int) -> Array:
        """Return where queries may look as ``(batch, heads, queries, keys)``, or what broadcasts to it."""
        pairs = mask[:, None] if mask.ndim == 3 else mask
        whole = (batch, self.num_heads, queries, keys)
        sizes = tuple(pairs.shape)
        if len(sizes) not in (2, 4) or any(n not in (1, m) for n, m in zip(sizes[::-1], whole[::-1], strict=False)):
            raise ShapeError(
                f"attention_mask of shape {tuple(mask.shape)}",
                f"it must broadcast to (batch, queries, keys) = {(batch, queries, keys)}, or with heads to {whole}",
                "value_mask= for one of (batch, keys), which says what counts",
            )
        return pairs if len(sizes) == 4 else pairs[None, None]

    def _check_cache(self, cache: AttentionCache, queries: Array, keys: Array) -> None:
        if not isinstance(cache, AttentionCache):
            raise ArgumentTypeError(
                f"cache={cache!r:.60}", "it is what make_cache and calls with a cache give", "layer.make_cache(2, 64)"
            )
        rows, room = cache.key.shape[:2]
        new = queries.shape[1]
        heads = self.num_key_value_heads
        sizes = tuple(cache.key.shape[2:]), tuple(cache.value.shape[2:])
        if sizes != ((heads, self.key_dim), (heads, self.value_dim)):
            raise ShapeError(
                f"a cache of {sizes[0][0]} heads, keys of {sizes[0][1]} and values of {sizes[1][1]} numbers each",
                f"this layer has {heads} heads of keys and values, of {self.key_dim} and {self.value_dim}",
                f"the make_cache of this layer: {self.name}.make_cache({queries.shape[0]}, {room})",
            )
        if keys.shape[1] != new:
            raise ShapeError(
                f"a query of {new} positions and values of {keys.shape[1]}, with a cache",
                "what is added to a cache are the positions of the query",
                "layer(x, cache=cache); without a cache for attention to something else",
            )
        if rows != queries.shape[0] or new > room:
            raise ShapeError(
                f"an input of {queries.shape[0]} sequences of {new} positions and a cache of {rows} of {room}",
                "the cache must have the same sequences, and room for all positions",
                f"layer.make_cache(batch_size={queries.shape[0]}, length={max(room, new)})",
            )
        arrays = registry.current().arrays
        position: Any = ops.asarray(cache.position)
        if arrays.is_concrete(position):
            if (error := _no_room(room, new, arrays.to_numpy(position))) is not None:
                raise error
        elif traced_checks.is_checking():
            traced_checks.emit(partial(_no_room, room, new), position > room - new, position)

    def _extend_cache(self, cache: AttentionCache, key: Array, value: Array, visible: Array | None) -> AttentionCache:
        begin = ops.stack([0, cache.position, 0, 0])
        before = cache.visible
        if before is None and visible is not None:
            before = ops.ones(cache.key.shape[:2], "bool")
        if before is not None:
            before = ops.slice_update(
                before, begin[:2], ops.ones(key.shape[:2], "bool") if visible is None else visible
            )
        return AttentionCache(
            ops.slice_update(cache.key, begin, key),
            ops.slice_update(cache.value, begin, value),
            cache.position + key.shape[1],
            before,
        )

    def _cache_mask(self, queries: int, keys: int, start: object, causal: bool) -> Array:
        """Return a mask in which each query sees the positions up to its own, or up to the last one that is filled."""
        last = ops.arange(queries)[:, None] + start
        last = last if causal else last[-1:]
        return ops.less_equal(ops.arange(keys)[None, :], last)[None, None]

    def _with_dropout(self, q: Array, k: Array, v: Array, allowed: Array | None, causal: bool) -> Array:
        """Attend with weights that are dropped, which the plain op does not show."""
        groups = self.num_heads // self.num_key_value_heads
        k, v = ops.repeat(k, groups, axis=2), ops.repeat(v, groups, axis=2)
        scores = ops.einsum("bthd,bshd->bhts", widen(q) * self.key_dim**-0.5, widen(k))  # beyond short formats, too
        if causal:
            allowed = combine_masks(allowed, ops.tri(q.shape[1], k.shape[1], dtype="bool")[None, None])
        if allowed is not None:
            scores = ops.where(allowed, scores, -math.inf)
        weights = ops.softmax(scores)
        if self.dropout == 1:
            weights = ops.zeros_like(weights)
        else:
            keep = random.bernoulli(weights.shape, 1 - self.dropout, seed=self.seed_generator)
            weights = ops.where(keep, weights / (1 - self.dropout), 0)
        return ops.einsum("bhts,bshd->bthd", ops.cast(weights, v.dtype), v)


def _no_room(room: int, new: int, position: Any) -> ArgumentError | None:
    if position <= room - new:
        return None
    return ArgumentError(
        f"a cache of {room} positions, {position} of them filled, and {new} more",
        "there is no room, and the last ones would be written over",
        f"layer.make_cache(batch_size, length={position + new}) at the start, or stop at the end of the cache",
    )
