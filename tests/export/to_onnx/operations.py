"""One row for each operation that is written: a function, what it takes, and sizes that are free where that matters."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from graftax.export.spec import Spec


class Row(NamedTuple):
    function: Callable[..., Any]
    inputs: tuple[Any, ...]
    opset: int = 17
    constraints: tuple[str, ...] = ()
    tolerance: float | None = None


def real(shape: str = "batch 6") -> Spec:
    return Spec(shape)


def whole(shape: str = "batch 6", low: int = -9, high: int = 9, dtype: str = "int32") -> Spec:
    return Spec(shape, dtype, bounds=(low, high))


def flags(shape: str = "batch 6") -> Spec:
    return Spec(shape, "bool")


def one(function: Callable[..., Any], *more: Any) -> Row:
    return Row(function, (real(), *more))


POSITIVE, UNIT, ABOVE_1 = (Spec("batch 6", bounds=b) for b in ((0.1, 9), (-0.95, 0.95), (1.1, 9)))
TINY = Spec("batch 6", bounds=(-1e-6, 1e-6))
PLAIN = {
    name: Row(getattr(lax, function), (spec,))
    for spec, names in (
        (
            real(),
            "neg abs sign exp tanh logistic erf erfc sin cos tan sinh cosh asinh atan floor ceil expm1 square cbrt "
            "exp2",
        ),
        (POSITIVE, "log sqrt rsqrt log1p"),
        (UNIT, "asin acos atanh erf_inv"),
        (ABOVE_1, "acosh"),
    )
    for name in names.split()
    for function in [name]
}
PAIRS = {
    name: Row(getattr(lax, function), (real(), real()))
    for name, function in {
        "add": "add", "sub": "sub", "mul": "mul", "div": "div", "max": "max", "min": "min", "rem": "rem",
        "eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "atan2": "atan2",
    }.items()
}  # fmt: skip
INTEGERS = {
    f"{name}_{kind}": Row(getattr(lax, name), (whole("batch 6", 1, 9, kind), whole("batch 6", 1, 5, kind)))
    for name in ("add", "sub", "mul", "div", "rem", "max", "min", "eq", "ne", "lt")
    for kind in ("int32", "uint8", "int8", "uint32")
}
OTHER = {
    "log1p_tiny": Row(lax.log1p, (TINY,), tolerance=1e-12),
    "expm1_tiny": Row(lax.expm1, (TINY,), tolerance=1e-12),
    "pow": Row(lax.pow, (POSITIVE, real())),
    "integer_pow": one(lambda x: (x**3, x**2, (jnp.abs(x) + 1) ** -1, (jnp.abs(x) + 1) ** -2)),
    "round": one(lambda x: (jnp.round(x * 3), lax.round(x * 3, lax.RoundingMethod.AWAY_FROM_ZERO))),
    "clamp": one(lambda x: (lax.clamp(-0.5, x, 0.5), jnp.clip(x, -1, 1))),
    "clamp_uint8": Row(lambda x: lax.clamp(np.uint8(3), x, np.uint8(7)), (whole("batch 6", 0, 20, "uint8"),)),
    "is_finite": one(lambda x: lax.is_finite(jnp.where(x > 1, jnp.inf, x))),
    "logic": Row(lambda a, b: (a & b, a | b, a ^ b, ~a, a == b, a != b), (flags(), flags())),
    "logic_order": Row(lambda a, b: (jnp.maximum(a, b), jnp.minimum(a, b)), (flags(), flags())),
    "select": Row(lambda a, x, y: jnp.where(a, x, y), (flags(), real(), real())),
    "select_int8": Row(lambda a, x: jnp.where(a, x, np.int8(3)), (flags(), whole(dtype="int8"))),
    "select_of_three": Row(lambda i, x: lax.select_n(i, x, -x, x * 2), (whole("batch 6", 0, 2), real())),
    "bits": Row(lambda a, b: (a & b, a | b, a ^ b, ~a), (whole(), whole()), opset=18),
    "shifts": Row(lambda a: (a << 2, lax.shift_right_logical(a, 1), a >> 1), (whole(),)),
    "shifts_uint8": Row(lambda a: (a << 2, a >> 1), (whole("batch 6", 0, 200, "uint8"),)),
    "casts": one(
        lambda x: (x.astype("int32"), (x > 0).astype("float32"), (x * 50).astype("uint8"), x.astype("float16"))
    ),
    "casts_of_integers": Row(lambda x: (x.astype("float32"), x.astype("bool"), x.astype("uint8")), (whole(),)),
    "passing": one(lambda x: (lax.stop_gradient(x), lax.optimization_barrier((x, x * 2)), jnp.copy(x))),
    "sums": one(lambda x: (x.sum(0), x.sum(), x.sum(1, keepdims=True), x.mean(0), x.var(1))),
    "extremes": one(lambda x: (x.max(0), x.min(1), x.prod(1), x.argmax(1), x.argmin(0), jnp.max(x, axis=(0, 1)))),
    "extremes_18": Row(lambda x: (x.max(0), x.min(1), x.prod(1)), (real(),), opset=18),
    "extremes_of_integers": Row(lambda x: (x.max(0), x.sum(1), x.argmax(1)), (whole(dtype="int8"),)),
    "any_all": Row(lambda x: (x.any(1), x.all(0), x.sum(0), x.argmax(1)), (flags(),)),
    "cumsum": one(lambda x: (jnp.cumsum(x, 0), jnp.cumsum(x, 1), lax.cumsum(x, 0, reverse=True))),
    "cumsum_of_flags": Row(lambda x: jnp.cumsum(x, 1), (flags(),)),
    "running": one(lambda x: (lax.cummax(x, 0), lax.cummin(x, 1), lax.cumprod(x, 0), lax.cummax(x, 1, reverse=True))),
    "top_k": one(lambda x: lax.top_k(x, 3)),
    "sort": one(lambda x: (jnp.sort(x, 1), jnp.argsort(x, 0), jnp.sort(x, 0), jnp.sort(x, 1, descending=True))),
    "sort_integers": Row(lambda x: (jnp.sort(x, 1), jnp.argsort(x, 1)), (whole(),)),
    "shapes": one(
        lambda x: (x.T, x[None], x[:, None, :], x.reshape(-1), x.reshape(-1, 2, 3), jnp.squeeze(x[:, :1], 1))
    ),
    "two_free": Row(lambda x: (x.reshape(-1, 4), x.transpose(1, 0, 2), x.mean(1), x.shape[0] * x), (real("a b 4"),)),
    "flattened": Row(lambda x: (x.reshape(x.shape[0], -1), x.reshape(x.shape[0] * x.shape[1], 2, 2)), (real("a b 4"),)),
    "expanded": Row(lambda x, y: jnp.broadcast_to(x[:, None], (*y.shape, 6)) + 1, (real("a 6"), real("a b"))),
    "joins": one(lambda x: (jnp.concatenate([x, x[:, :2]], 1), jnp.stack([x, x], 1), jnp.concatenate([x, x]))),
    "split": one(lambda x: jnp.split(x, [1, 3], axis=1)),
    "pads": one(lambda x: (jnp.pad(x, ((1, 2), (0, 3))), lax.pad(x, 2.0, [(0, 0, 0), (-1, 2, 0)]))),
    "pads_between": one(lambda x: (lax.pad(x, 0.0, [(1, 0, 2), (0, 1, 1)]), lax.pad(x, 1.0, [(0, 0, 0), (0, 0, 3)]))),
    "pads_of_integers": Row(lambda x: jnp.pad(x, ((1, 0), (0, 1))), (whole(dtype="int16"),)),
    "slices": one(lambda x: (x[1:], x[:, ::2], x[:, -2:], x[::-1], x[:, ::-2], x[:1, 2])),
    "counting": one(lambda x: (jnp.arange(x.shape[0]), x + jnp.arange(6), lax.broadcasted_iota("int32", x.shape, 0))),
    "sizes": Row(lambda x: (x * x.shape[1], x.sum() / (x.shape[0] * x.shape[1] + 1)), (real("a b"),)),
    "take": Row(lambda x, i: (x[i], jnp.take(x, i, axis=1)), (real("5 6"), whole("batch", 0, 4))),
    "take_clipped": Row(lambda x, i: jnp.take(x, i, axis=0, mode="clip"), (real("5 6"), whole("batch", -3, 9))),
    "take_by_two": Row(lambda x, i, j: (x[i, j], x[i, :, j]), (real("5 6 7"), whole("n", 0, 4), whole("n", 0, 5))),
    "take_along": Row(lambda x, i: jnp.take_along_axis(x, i, 1), (real("batch 6"), whole("batch 3", 0, 5))),
    "take_along_deep": Row(
        lambda x, i: jnp.take_along_axis(x, i[:, :, None], 1), (real("batch 6 4"), whole("batch 3", 0, 5))
    ),
    "take_negative": Row(lambda x: (x[-1], x[:, -1], x[np.array([0, -1])]), (real(),), constraints=("batch >= 2",)),
    "block": Row(lambda x, i: lax.dynamic_slice(x, (i, 1), (2, 3)), (real("5 6"), whole("", -2, 9))),
    "block_free": Row(
        lambda x, i: lax.dynamic_slice_in_dim(x, i, 2, 1),
        (real("batch time 4"), whole("", 0, 9)),
        constraints=("time >= 2",),
    ),
    "block_put": Row(
        lambda x, y, i: lax.dynamic_update_slice(x, y, (i, i)), (real("5 6"), real("2 3"), whole("", 0, 9))
    ),
    "block_set": Row(
        lambda x, i: (x.at[1:3].set(0), x.at[:, 2].add(1.0), x.at[2].multiply(3), lax.dynamic_index_in_dim(x, i, 0)),
        (real("5 6"), whole("", 0, 4)),
    ),
    "scatter": Row(
        lambda x, i, y: (x.at[i].add(y), x.at[:, i].add(y.T), x.at[i].multiply(y)),
        (real("6 6"), whole("n", -3, 8), real("n 6")),
    ),
    "scatter_set": Row(lambda x, y: x.at[np.array([3, 0])].set(y), (real("5 6"), real("2 6"))),
    "scatter_extremes": Row(
        lambda x, i, y: (x.at[i].max(y), x.at[i].min(y)), (real("5 6"), whole("n", 0, 6), real("n 6")), opset=18
    ),
    "scatter_pairs": Row(lambda i, j: jnp.zeros((5, 6)).at[i, j].add(1.0), (whole("n", 0, 6), whole("n", 0, 5))),
    "scatter_minus": Row(
        lambda x, i, y: (x.at[i].subtract(y), x.at[1].subtract(y[0])), (real("5 6"), whole("n", 0, 4), real("n 6"))
    ),
    "counts": Row(lambda i: jnp.bincount(i, length=7), (whole("n", 0, 6),)),
    "matmul": Row(lambda x, y: x @ y, (real("a 6"), real("6 b"))),
    "matmul_rows": Row(lambda x, y: jnp.einsum("bij,bjk->bik", x, y), (real("b 3 4"), real("b 4 5"))),
    "matmul_heads": Row(lambda x, y: jnp.einsum("bthd,bshd->bhts", x, y), (real("b t 2 3"), real("b s 2 3"))),
    "matmul_groups": Row(lambda x, y: jnp.einsum("btghd,bsgd->bghts", x, y), (real("b t 2 3 4"), real("b s 2 4"))),
    "matmul_vectors": Row(lambda x, y: (x @ y, y @ x.T, y @ y, jnp.outer(y, y)), (real("a 6"), real("6"))),
    "matmul_sum": Row(lambda x, y: jnp.einsum("abi,abj->ij", x, y), (real("a b 3"), real("a b 4"))),
    "matmul_free": Row(lambda x, y: jnp.einsum("xaby,xcdy->xabcd", x, y), (real("x a b 3"), real("x c d 3"))),
    "matmul_of_integers": Row(lambda x, y: x @ y, (whole("a 6"), whole("6 b"))),
    "weights_after": one(lambda x: x @ np.linspace(-1, 1, 30, dtype="float32").reshape(6, 5)),
    "weights_before": one(lambda x: np.linspace(-1, 1, 30, dtype="float32").reshape(5, 6) @ x.T),
    "weights_turned": one(lambda x: x @ np.linspace(-1, 1, 30, dtype="float32").reshape(5, 6).T),
    "weights_of_heads": Row(
        lambda x: jnp.einsum("bti,ihd->bthd", x, np.linspace(-1, 1, 36, dtype="float32").reshape(6, 2, 3)),
        (real("b t 6"),),
    ),
    "weights_over_two": Row(
        lambda x: jnp.einsum("bthd,hdo->bto", x, np.linspace(-1, 1, 24, dtype="float32").reshape(2, 3, 4)),
        (real("b t 2 3"),),
    ),
    "scan": one(lambda x: lax.scan(lambda c, r: (c * 0.5 + r, c), jnp.zeros(6), x)),
    "scan_back": one(lambda x: lax.scan(lambda c, r: (c * 0.5 + r, c - r), jnp.zeros(6), x, reverse=True)),
    "scan_outer": one(lambda x: lax.scan(lambda c, r: (c + r @ x.T @ x, None), x[0], x)[0]),
    "scan_counted": one(lambda x: lax.scan(lambda c, _: (c * 0.5, c.sum()), x, None, length=3)),
    "scan_counted_back": one(lambda x: lax.scan(lambda c, _: (c * 0.5, c.sum()), x, None, length=3, reverse=True)),
    "fori": one(lambda x: lax.fori_loop(0, 4, lambda i, c: c * 0.5 + i, x)),
    "while": one(lambda x: lax.while_loop(lambda c: jnp.abs(c).max() > 0.5, lambda c: c * 0.6, x)),
    "cond": Row(
        lambda p, x: lax.cond(p, lambda x: x * 2, lambda x: x.sum() + jnp.zeros_like(x), x), (flags(""), real())
    ),
    "switch": Row(
        lambda i, x: lax.switch(i, [lambda x: x, lambda x: x * 2, lambda x: -x, jnp.tanh], x),
        (whole("", -1, 5), real()),
    ),
    "nested": one(lambda x: lax.scan(lambda c, r: (lax.fori_loop(0, 2, lambda _, v: v * 0.5 + r, c), c), x[0], x)),
    "conv": Row(
        lambda x: lax.conv_general_dilated(
            x,
            np.linspace(-1, 1, 24, dtype="float32").reshape(2, 3, 4),
            (1,),
            "SAME",
            dimension_numbers=("NWC", "WIO", "NWC"),
        ),
        (real("batch time 3"),),
    ),
    "conv_of_two_values": Row(
        lambda x, k: lax.conv_general_dilated(x, k, (2, 1), ((1, 0), (0, 2)), rhs_dilation=(1, 2)),
        (real("batch 2 7 8"), real("3 2 3 2")),
    ),
    "conv_turned": Row(
        lambda x: lax.conv_transpose(
            x, np.ones((3, 2, 4), "float32"), (2,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")
        ),
        (real("batch time 2"),),
    ),
    "window_max": Row(
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 1), (1, 2, 1), ((0, 0), (1, 1), (0, 0))),
        (real("batch 9 4"),),
    ),
    "window_max_dilated": Row(
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 1), (1, 1, 1), "VALID", window_dilation=(1, 2, 1)),
        (real("batch 9 4"),),
    ),
    "window_sum": Row(
        lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 3, 2, 1), (1, 2, 1, 1), "SAME"), (real("batch 9 8 4"),)
    ),
    "window_over_last": Row(
        lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 1, 3), (1, 1, 1), "VALID"), (real("b c 8"),)
    ),
    "compiled": one(lambda x: jax.jit(lambda y: jnp.tanh(y) + 1)(x)),
    "again": one(lambda x: jax.checkpoint(lambda y: jnp.tanh(y) + 1)(x)),
    "own_gradient": one(lambda x: (jax.nn.relu(x), jax.nn.silu(x), jax.nn.gelu(x), jax.nn.logsumexp(x, axis=1))),
    "half": Row(lambda x: (x * 2, x @ x.T, jnp.tanh(x).sum(1)), (Spec("batch 6", "float16"),)),
    "tile": one(lambda x: (jnp.tile(x, (2, 3)), jnp.repeat(x, 2, axis=1), jnp.roll(x, 1, axis=1))),
}
ROWS = PLAIN | PAIRS | INTEGERS | OTHER
