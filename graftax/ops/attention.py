"""Dot-product attention: shapes checked, heads brought in front, whatever the backend runs best after that."""

from __future__ import annotations

from typing import Any

from graftax.backend.protocol import Arrays
from graftax.core.errors import DTypeError, ShapeError
from graftax.core.typedefs import Array
from graftax.ops.functions import row


@row
def dot_product_attention(
    a: Arrays,
    query: Array,
    key: Array,
    value: Array,
    mask: Array | None,
    bias: Array | None,
    scale: float | None,
    is_causal: bool,
    implementation: str | None,
) -> Any:
    """Compute ``(batch, t, heads, d), (batch, s, kv_heads, d), (batch, s, kv_heads, e) -> (batch, t, heads, e)``."""
    _check(query, key, value)
    _check_dtypes(query, mask, bias)
    if implementation is not None:
        return _by_kernel(a, query, key, value, mask, bias, scale, is_causal, implementation)
    queries, keys, heads, shared = query.shape[1], key.shape[1], query.shape[2], key.shape[2]
    whole = (query.shape[0], heads, queries, keys)
    mask = _spread(a, "mask", mask, whole, shared)
    bias = _spread(a, "bias", bias, whole, shared)
    if is_causal:
        past = a.numpy.tri(queries, keys, dtype=bool)  # the first query is at the first key
        mask = past if mask is None else a.numpy.logical_and(mask, past)
    q, k, v = (
        a.numpy.swapaxes(x, 1, 2) for x in (query * (query.shape[3] ** -0.5 if scale is None else scale), key, value)
    )
    if shared != heads:  # each head of the keys serves a group of heads of the queries
        q = q.reshape(q.shape[0], shared, heads // shared, *q.shape[2:])
        k, v = k[:, :, None], v[:, :, None]
    out = a.attention(q, k, v, mask, bias)
    return a.numpy.swapaxes(out.reshape(out.shape[0], heads, queries, value.shape[3]), 1, 2)


def _by_kernel(
    a: Arrays,
    query: Array,
    key: Array,
    value: Array,
    mask: Array | None,
    bias: Array | None,
    scale: float | None,
    is_causal: bool,
    implementation: str,
) -> Any:
    """Attend by a kernel of the library; a query that sees nothing gets 0, as elsewhere."""
    whole = (query.shape[0], query.shape[2], query.shape[1], key.shape[1])
    if key.shape[3] != value.shape[3]:
        raise ShapeError(
            f"dot_product_attention: key {list(key.shape)}, value {list(value.shape)}, {implementation=}",
            "the kernels of libraries take keys and values of one size",
            "implementation=None, or values of that size",
        )
    parts = []
    for name, part in (("mask", mask), ("bias", bias)):
        part = _spread(a, name, part, whole, query.shape[2])
        parts.append(None if part is None else a.numpy.reshape(part, (*(1,) * (4 - part.ndim), *part.shape)))
    allowed, added = parts
    factor = query.shape[3] ** -0.5 if scale is None else scale
    out = a.attention_kernel(query, key, value, allowed, added, factor, is_causal, implementation)
    if allowed is None:
        return out
    if is_causal:
        allowed = a.numpy.logical_and(allowed, a.numpy.tri(whole[2], whole[3], dtype=bool))
    sees = a.numpy.moveaxis(a.numpy.any(allowed, axis=3, keepdims=True), 1, 2)
    return a.numpy.where(sees, out, a.asarray(0, out.dtype.name))


def _check_dtypes(query: Array, mask: Any, bias: Any) -> None:
    if mask is not None and str(mask.dtype) != "bool":
        raise DTypeError(
            f"dot_product_attention: mask of dtype {mask.dtype}",
            "it says where to attend, True or False",
            "bias= for what is added to the scores, or ops.cast(mask, 'bool')",
        )
    for name, part in (("query", query), ("bias", bias)):  # key and value have the dtype of the query
        if part is not None and part.dtype.kind == "c":
            raise DTypeError(
                f"dot_product_attention: {name} of dtype {part.dtype}",
                "scores have an order, and complex numbers have none",
                f"ops.real({name})" if name == "bias" else "ops.concatenate([ops.real(x), ops.imag(x)], -1) for each",
            )


def _check(query: Array, key: Array, value: Array) -> None:
    shown = f"dot_product_attention: query {list(query.shape)}, key {list(key.shape)}, value {list(value.shape)}"
    if not query.ndim == key.ndim == value.ndim == 4:
        raise ShapeError(
            shown,
            "each is (batch, length, heads, size)",
            "ops.reshape(x, (*x.shape[:-1], heads, x.shape[-1] // heads))",
        )
    if query.shape[0] != key.shape[0] or query.shape[3] != key.shape[3] or key.shape[:3] != value.shape[:3]:
        raise ShapeError(
            shown,
            "all have one batch, keys and values one length and number of heads, queries and keys one size",
            "a key of [batch, s, kv_heads, size of the query] and a value of [batch, s, kv_heads, any]",
        )
    if query.shape[2] % key.shape[2]:
        raise ShapeError(
            shown,
            f"{query.shape[2]} heads of the query cannot share {key.shape[2]} heads of the key evenly",
            f"a number of heads of the key that divides {query.shape[2]}",
        )


def _spread(a: Arrays, name: str, x: Array | None, whole: tuple[int, ...], shared: int) -> Any:
    """Return a mask or bias with its heads in groups, where the heads are."""
    if x is None:
        return None
    fits = x.ndim <= 4 and all(n in (1, m) for n, m in zip(reversed(x.shape), reversed(whole), strict=False))
    if not fits:
        raise ShapeError(
            f"dot_product_attention: {name} {list(x.shape)}",
            f"it must broadcast to (batch, heads, queries, keys) = {list(whole)}",
            f"{name}[:, None, None, :] for one of the keys, {name}[:, None] for one of queries and keys",
        )
    if shared == whole[1] or x.ndim < 3:
        return x
    heads = (shared, whole[1] // shared) if x.shape[-3] != 1 else (1, 1)
    return a.numpy.reshape(x, (*x.shape[:-3], *heads, *x.shape[-2:]))
