"""Decompositions and solutions of matrices, written once over the NumPy namespace of any backend."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from graftax.backend.protocol import Arrays
from graftax.core.broadcasting import broadcast_shape
from graftax.core.errors import NumericsError, ShapeError
from graftax.core.typedefs import Array
from graftax.ops.functions import FUNCTIONS, in_float32, row
from graftax.ops.hermitian import check_hermitian
from graftax.ops.reductions import to_inexact


def _linalg(name: str, a: Arrays, *matrices: Any, **options: Any) -> Any:
    """Call a function of ``numpy.linalg``; half precision is computed in float32, the least that LAPACK has."""
    matrices = tuple(to_inexact(a, x) for x in matrices)
    half = matrices[0].dtype if matrices[0].dtype.itemsize < 4 else None
    if half is not None:
        matrices = tuple(a.asarray(x, "float32") for x in matrices)
    function = getattr(a.numpy.linalg, name)
    if matrices[0].ndim < 2:
        raise ShapeError(f"{name}: x {list(matrices[0].shape)}", "a matrix has two axes", "x[None]")
    if name in _ENDLESS:
        matrices = tuple(a.numpy.where(a.numpy.isinf(x), a.asarray(math.nan, x.dtype), x) for x in matrices)
    try:
        result = function(*matrices, **options)
    except np.linalg.LinAlgError:
        if all(bool(a.numpy.all(a.numpy.isfinite(x))) for x in matrices):
            raise
        result = _compute_finite(a, partial(function, **options), *matrices)
    if isinstance(result, tuple):
        return tuple(r if half is None else a.asarray(r, half) for r in result)
    return result if half is None else a.asarray(result, half)


def _compute_finite(a: Arrays, function: Callable[..., Any], x: Array, *others: Array) -> Any:
    """Return the results of the matrices of a batch that are finite, and nan for the others, as JAX has it."""
    finite = a.numpy.all(a.numpy.isfinite(x), axis=(-2, -1))
    found = function(
        a.numpy.where(finite[..., None, None], x, a.numpy.eye(*x.shape[-2:], dtype=x.dtype)),
        *(a.numpy.where(a.numpy.isfinite(y), y, a.numpy.zeros_like(y)) for y in others),
    )
    for y in others:
        finite = finite & a.numpy.all(a.numpy.isfinite(y), axis=(-2, -1) if y.ndim > 1 else None)

    def leave_finite(result: Array) -> Any:
        fits = finite.reshape(finite.shape + (1,) * (result.ndim - finite.ndim))
        return a.numpy.where(fits, result, a.asarray(math.nan, result.dtype))

    return tuple(map(leave_finite, found)) if isinstance(found, tuple) else leave_finite(found)


_ENDLESS = ("svd", "pinv")
"""What LAPACK computes by singular values: with infinity it may search for ever, with nan it ends at once."""

for _name in ("qr", "pinv"):
    FUNCTIONS[_name] = partial(_linalg, _name)


@row
def svd(a: Arrays, x: Array, full_matrices: bool) -> Any:
    return _linalg("svd", a, x, full_matrices=full_matrices)


def _of_square(name: str, a: Arrays, x: Array) -> Any:
    _square(name, x)
    return _linalg(name, a, x)


for _name in ("det", "slogdet"):
    FUNCTIONS[_name] = partial(_of_square, _name)


def _symmetrize(a: Arrays, x: Array) -> Any:
    """Return ``(x + x^H) / 2``: libraries read one half of a matrix, or both, and of this one all read the same."""
    x = to_inexact(a, x)
    return (x + a.numpy.conj(a.numpy.swapaxes(x, -1, -2))) / 2


@row
def eigh(a: Arrays, x: Array) -> Any:
    return _eigh(a, x, "eigh")


@in_float32
def _decompose(a: Arrays, x: Array) -> Any:
    return _linalg("eigh", a, _symmetrize(a, x))


def _eigh(a: Arrays, x: Array, op: str) -> Any:
    _square(op, x)
    check_hermitian(a, op, x)
    return _decompose(a, x)


@row
def cholesky(a: Arrays, x: Array) -> Any:
    _square("cholesky", x)
    check_hermitian(a, "cholesky", x)
    return _root(a, x)


@in_float32
def _root(a: Arrays, x: Array) -> Any:
    found = _linalg("cholesky", a, _symmetrize(a, x))
    return _check_finite(a, "cholesky", found, "the matrix is not positive definite", x)


@row
def lu_factor(a: Arrays, x: Array) -> Any:
    _square("lu_factor", x)
    dtype = to_inexact(a, x).dtype
    factors, pivots = a.lu_factor(a.asarray(to_inexact(a, x), "float32") if dtype.itemsize < 4 else to_inexact(a, x))
    return a.asarray(factors, dtype), pivots


@row
def inv(a: Arrays, x: Array) -> Any:
    _square("inv", x)
    return _check_finite(a, "inv", _linalg("inv", a, x), "the matrix is singular", x)


@row
def solve(a: Arrays, x: Array, y: Array) -> Any:
    _square("solve", x)
    if y.ndim == 0 or y.shape[-2 if y.ndim > 1 else 0] != x.shape[-1]:
        raise ShapeError(
            f"solve: x {list(x.shape)}, y {list(y.shape)}",
            f"y needs {x.shape[-1]} rows, one for each row of x",
            "y[..., None] for a batch of vectors",
        )
    return _check_finite(a, "solve", _linalg("solve", a, x, y), "the matrix is singular", x, y)


def _square(op: str, x: Array) -> None:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"{op}: x {list(x.shape)}", "the last two axes must be equal", "pass square matrices")


def _check_finite(a: Arrays, op: str, result: Array, reason: str, *inputs: Any) -> Any:
    """Return the result, after a look at its values where they are at hand."""
    if not a.is_concrete(result) or bool(a.numpy.all(a.numpy.isfinite(result))):
        return result
    if not all(bool(a.numpy.all(a.numpy.isfinite(x))) for x in inputs):
        return result  # nan in, nan out
    shapes = ", ".join(str(list(x.shape)) for x in inputs)
    raise NumericsError(f"{op} of {shapes}: the result is not finite", reason, "add ops.eye(n) * 1e-6 to the matrix")


def _rows(op: str, x: Array, y: Array) -> None:
    if y.ndim == 0 or y.shape[-2 if y.ndim > 1 else 0] != x.shape[-2]:
        raise ShapeError(
            f"{op}: x {list(x.shape)}, y {list(y.shape)}",
            f"y needs {x.shape[-2]} rows, one for each row of x",
            "y[..., None] for a batch of vectors",
        )


def _columns(a: Arrays, function: Any, x: Array, y: Array) -> Any:
    """Call a function of a matrix and columns, for one vector, too."""
    return function(x, y) if y.ndim > 1 else function(x, y[:, None])[..., 0]


def _triangular(a: Arrays, x: Array, y: Array, lower: bool, adjoint: bool = False) -> Any:
    shape = broadcast_shape(x.shape[:-2], y.shape[:-2])
    x, y = (a.numpy.broadcast_to(one, (*shape, *one.shape[-2:])) for one in (x, y))
    return a.solve_triangular(x, y, lower, adjoint)


@row
@in_float32
def solve_triangular(a: Arrays, x: Array, y: Array, lower: bool) -> Any:
    _square("solve_triangular", x)
    _rows("solve_triangular", x, y)
    x, y = to_inexact(a, x), to_inexact(a, y)
    y = a.asarray(y, x.dtype)
    found = _columns(a, partial(_triangular, a, lower=lower), x, y)
    return _check_finite(
        a,
        "solve_triangular",
        found,
        "an element of the diagonal is 0",
        a.numpy.tril(x) if lower else a.numpy.triu(x),
        y,
    )


@row
@in_float32
def cholesky_solve(a: Arrays, x: Array, y: Array) -> Any:
    _square("cholesky_solve", x)
    _rows("cholesky_solve", x, y)
    x, y = to_inexact(a, x), to_inexact(a, y)
    y = a.asarray(y, x.dtype)

    def solve_both(x: Array, y: Array) -> Any:
        return _triangular(a, x, _triangular(a, x, y, True), True, adjoint=True)

    return _check_finite(a, "cholesky_solve", _columns(a, solve_both, x, y), "an element of the diagonal is 0", x, y)


@row
@in_float32
def cholesky_inverse(a: Arrays, x: Array) -> Any:
    _square("cholesky_inverse", x)
    x = to_inexact(a, x)
    return cholesky_solve(a, x, a.numpy.eye(x.shape[-1], dtype=x.dtype))


@row
@in_float32
def lstsq(a: Arrays, x: Array, y: Array, rcond: float | None) -> Any:
    if x.ndim != 2:
        raise ShapeError(f"lstsq: x {list(x.shape)}", "it is one matrix", "graftax.map_fn over a batch of them")
    _rows("lstsq", x, y)
    x, y = to_inexact(a, x), to_inexact(a, y)
    y = a.asarray(y, x.dtype)
    share = rcond if rcond is not None else _share(x)
    return a.numpy.matmul(_linalg("pinv", a, x, rtol=share), y)  # whose gradient is one where singular values are equal


def _is_kept(a: Arrays, s: Array, x: Array, rtol: float | None) -> Any:
    share = rtol if rtol is not None else _share(x)
    return s > share * a.numpy.max(s, axis=-1, keepdims=True, initial=0)


def _share(x: Array) -> float:
    """Return the share of the largest singular value below which rounding makes all others."""
    return max(x.shape[-2:]) * float(np.finfo(np.dtype(x.dtype)).eps)


@row
@in_float32
def matrix_rank(a: Arrays, x: Array, rtol: float | None) -> Any:
    x = to_inexact(a, x)
    if x.ndim < 2:
        raise ShapeError(f"matrix_rank: x {list(x.shape)}", "a matrix has two axes", "x[None]")
    s = _linalg("svd", a, x, compute_uv=False)
    return a.numpy.sum(a.asarray(_is_kept(a, s, x, rtol), "int32"), axis=-1)


@row
def logdet(a: Arrays, x: Array) -> Any:
    _square("logdet", x)
    return _linalg("slogdet", a, x)[1]


@row
def eigvalsh(a: Arrays, x: Array) -> Any:
    return _eigh(a, x, "eigvalsh")[0]


@row
def eig(a: Arrays, x: Array) -> Any:
    _square("eig", x)
    x = to_inexact(a, x)
    x = a.asarray(x, "float32") if x.dtype.itemsize < 4 else x
    complex_dtype = "complex128" if x.dtype.name in ("float64", "complex128") else "complex64"
    values, vectors = _linalg("eig", a, x)
    return a.asarray(values, complex_dtype), a.asarray(vectors, complex_dtype)


@row
def matrix_power(a: Arrays, x: Array, n: int) -> Any:
    _square("matrix_power", x)
    base = FUNCTIONS["inv"](a, x) if n < 0 else a.asarray(x, "int32") if x.dtype.kind == "b" else x
    found = None
    power = abs(n)
    while power:
        if power & 1:
            found = base if found is None else a.numpy.matmul(found, base)
        power >>= 1
        base = a.numpy.matmul(base, base) if power else base
    return a.numpy.broadcast_to(a.numpy.eye(x.shape[-1], dtype=base.dtype), x.shape) if found is None else found
