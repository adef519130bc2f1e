"""One row for each op: JAX, the reference backend and an independent NumPy formula agree, eagerly and compiled."""

import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from graftax import ops
from graftax.backend.registry import use
from graftax.op_table import ARRAYS, OPS
from graftax.typedefs import VariableLike

X = np.array([[-1.5, -0.5, 0.25], [1.0, 2.0, 3.5]], "float32")
Y = np.array([[0.5, -2.0, 1.5], [3.0, 0.75, -0.25]], "float32")
POSITIVE = np.abs(X) + np.float32(0.1)
UNIT = np.array([[-0.9, -0.3, 0.0], [0.2, 0.5, 0.8]], "float32")
ABOVE_ONE = POSITIVE + np.float32(1)
SQUARE = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -0.5], [0.5, -0.5, 2.0]], "float32")
INTEGERS = np.array([[3, -7, 5], [12, 0, 9]], "int32")
DIVISORS = np.array([[2, 3, -2], [5, 1, -4]], "int32")
BOOLS = np.array([[True, False, True], [False, False, True]])
LINE = np.array([1.0, 2.5, 3.0, 7.0], "float32")
IMAGE = np.linspace(-1, 1, 2 * 6 * 5 * 3, dtype="float32").reshape(2, 6, 5, 3) ** 3
KERNEL = np.cos(np.arange(3 * 2 * 3 * 4, dtype="float32")).reshape(3, 2, 3, 4)
SIGNAL = np.sin(np.arange(2 * 7 * 4, dtype="float32")).reshape(2, 7, 4)
COMPLEX = np.array([1 + 2j, -0.5j, -3.0], "complex64")
INFINITE = np.array([1.0, np.inf, -np.inf, np.nan], "float32")

Case = tuple[tuple[Any, ...], dict[str, Any]]


def case(*args: Any, **options: Any) -> Case:
    return args, options


INPUTS: dict[str, list[Case]] = {
    **{n: [case(POSITIVE)] for n in ("log", "log2", "log10", "sqrt", "rsqrt")},
    **{n: [case(UNIT)] for n in ("arcsin", "arccos", "arctanh")},
    "log1p": [case(UNIT)],
    "arccosh": [case(ABOVE_ONE)],
    "round": [case(X), case(X * 10, decimals=1)],
    **{n: [case(INFINITE)] for n in ("isfinite", "isinf", "isnan", "nan_to_num")},
    **{n: [case(COMPLEX)] for n in ("conj", "real", "imag", "angle")},
    "bitwise_not": [case(INTEGERS), case(BOOLS)],
    **{n: [case(INTEGERS, DIVISORS), case(X, Y)] for n in ("floor_divide", "remainder")},
    **{n: [case(INTEGERS, np.abs(DIVISORS))] for n in ("left_shift", "right_shift")},
    **{n: [case(INTEGERS, DIVISORS), case(BOOLS, ~BOOLS)] for n in ("bitwise_and", "bitwise_or", "bitwise_xor")},
    "power": [case(POSITIVE, Y), case(X, 2), case(INTEGERS, 3), case(2.0, X), case(INTEGERS, 2.0)],
    "add": [case(X, Y), case(X, 2), case(2.5, X), case(INTEGERS, 1), case(INTEGERS, 1.5), case(X, Y[0])],
    "divide": [case(X, Y), case(INTEGERS, DIVISORS), case(X, 0.0), case(1, 2)],
    "where": [case(BOOLS, X, Y), case(BOOLS, X, 0), case(BOOLS, 1.0, 0.0)],
    "clip": [case(X, -1.0, 2.0), case(X, min=0.0), case(X, max=Y), case(INTEGERS, 0, 5)],
    "any": [case(BOOLS), case(BOOLS, axis=0)],
    "all": [case(BOOLS), case(BOOLS, axis=1, keepdims=True)],
    "var": [case(X), case(X, axis=1, ddof=1)],
    "quantile": [case(X, 0.3), case(X, [0.25, 0.5], axis=1)],
    "transpose": [case(IMAGE), case(IMAGE, axes=(0, 3, 1, 2))],
    "swapaxes": [case(IMAGE, 1, -1)],
    "moveaxis": [case(IMAGE, -1, 0), case(IMAGE, [0, 1], [1, 0])],
    "expand_dims": [case(X, 0), case(X, (0, -1))],
    "squeeze": [case(X[None]), case(X[None, :, None], axis=2)],
    "broadcast_to": [case(X, (4, 2, 3))],
    "tile": [case(X, (2, 1)), case(X, 2)],
    "repeat": [case(X, 2), case(X, 2, axis=1)],
    "flip": [case(X), case(X, axis=1)],
    "roll": [case(X, 1), case(X, (1, -1), axis=(0, 1))],
    "rot90": [case(X), case(X, k=3)],
    "diag": [case(LINE), case(X, k=1)],
    "diagonal": [case(X), case(IMAGE, 1, 1, 2)],
    "concatenate": [case([X, Y]), case((X, Y), axis=-1), case([X, Y], axis=None)],
    "stack": [case([X, Y]), case([X, Y], axis=-1)],
    "meshgrid": [case(LINE, LINE[:2]), case(LINE, LINE[:2], indexing="ij")],
    "broadcast_arrays": [case(X, LINE[:3])],
    "asarray": [case([1, 2]), case([1.0, 2.5]), case(X, "int32"), case(True), case(2.5), case([[True], [False]])],
    "array": [case([1, 2]), case(X)],
    "zeros": [case((2, 3)), case(3, "int32"), case([2, 1], "bool")],
    "ones": [case((2, 3)), case((), "float16")],
    "full": [case((2, 3), 1.5), case((2,), 7), case((2,), 7, "float32")],
    "eye": [case(3), case(2, 4, k=1, dtype="int32")],
    "identity": [case(3)],
    "tri": [case(3), case(2, 4, k=1)],
    "arange": [case(5), case(1, 7, 2), case(0.0, 1.0, 0.25), case(3, dtype="float32")],
    "linspace": [case(0.0, 1.0), case(-1.0, 2.0, 7, endpoint=False)],
    "full_like": [case(X, 2.0), case(INTEGERS, 3)],
    "cast": [case(X, "int32"), case(INTEGERS, "float16"), case(X, "bool")],
    "reshape": [case(X, (3, 2)), case(X, -1), case(X, [1, 6])],
    "take": [case(X, [1, 0, 1], axis=0), case(X, 4), case(X, np.array([[0], [2]]), axis=1)],
    "take_along_axis": [case(X, np.array([[2, 0, 0], [1, 1, 2]], "int32"), 1)],
    "gather_nd": [case(X, [[0, 2], [1, 1]]), case(X, [[1]])],
    "one_hot": [case([0, 2, 1], 3), case([[0, 1]], 2, axis=0, dtype="int32"), case(1, 4)],
    "scatter_add": [case(X, [1, 0, 1], np.ones((3, 3), "float32")), case(INTEGERS, [0, 0], 5)],
    "segment_sum": [case(LINE, [0, 2, 0, 1], 4), case(X, [1, 1], 2)],
    "slice": [case(X, [0, 1], (2, 2)), case(LINE, [1], 2)],
    "slice_update": [case(X, [1, 0], np.zeros((1, 2), "float32"))],
    "split": [case(LINE, 2), case(LINE, [1, 3]), case(X, 3, axis=1)],
    "unstack": [case(X), case(X, axis=-1)],
    "pad": [case(X, 1), case(X, ((0, 1), (2, 0)), constant_values=7.0), case(X, 1, mode="reflect")],
    "sort": [case(Y), case(Y, axis=0, descending=True)],
    "argsort": [case(Y), case(np.array([1, 0, 1, 0], "int32"), descending=True)],
    "top_k": [case(Y, 2), case(np.array([1, 3, 3, 2], "int32"), 3)],
    "searchsorted": [case(LINE, [0.0, 2.5, 9.0]), case(LINE, [2.5], side="right")],
    "nonzero": [case(INTEGERS)],
    "unique": [case([3, 1, 3, 2])],
    "isin": [case(INTEGERS, [0, 5])],
    "bincount": [case([0, 2, 2, 1]), case([0, 2, 2, 1], length=5)],
    "matmul": [case(X, Y.T), case(X, LINE[:3]), case(IMAGE[..., :2], X)],
    "dot": [case(X, Y.T), case(LINE, LINE)],
    "inner": [case(X, Y)],
    "kron": [case(X, Y)],
    "outer": [case(LINE, LINE[:2])],
    "vdot": [case(COMPLEX, COMPLEX)],
    "cross": [case(X, Y)],
    "tensordot": [case(X, Y), case(X, Y, axes=([1], [1])), case(X, Y.T, axes=1)],
    "trace": [case(SQUARE), case(SQUARE, offset=1)],
    "einsum": [case("ij,kj->ik", X, Y), case("ij->j", X)],
    **{n: [case(SQUARE)] for n in ("inv", "det", "slogdet", "cholesky", "eigh", "pinv")},
    "solve": [case(SQUARE, X.T), case(SQUARE, LINE[:3])],
    "svd": [case(X), case(X, full_matrices=False)],
    "qr": [case(X.T)],
    **{n: [case(LINE), case(X, axis=0)] for n in ("fft", "rfft")},
    "ifft": [case(COMPLEX)],
    "irfft": [case(COMPLEX), case(COMPLEX, n=5)],
    "divide_no_nan": [case(X, np.array([0.0, 2.0, -1.0], "float32"))],
    "xlogy": [case(np.array([0.0, 1.0, 2.0], "float32"), np.array([0.0, 0.5, 3.0], "float32"))],
    "softmax": [case(X), case(X, axis=0), case(X, axis=(0, 1)), case(np.array([-np.inf, 0, 1], "float32"))],
    "log_softmax": [case(X), case(X * 1000, axis=0)],
    "logsumexp": [case(X), case(X * 1000, axis=1), case(X, axis=(0, 1), keepdims=True)],
    "norm": [case(X), case(X, 1, axis=1), case(X, math.inf, axis=0), case(X, 3, axis=1, keepdims=True)],
    "moments": [case(X), case(X, axis=0, keepdims=True)],
    "conv": [
        case(IMAGE, KERNEL),
        case(IMAGE, KERNEL, strides=2, padding="same"),
        case(IMAGE, KERNEL, padding=((1, 2), (0, 1)), dilation=(2, 1)),
        case(SIGNAL, np.sin(np.arange(3 * 2 * 6, dtype="float32")).reshape(3, 2, 6), groups=2, padding="causal"),
        case(IMAGE[..., None][:, :, :4], np.ones((2, 2, 2, 1, 2), "float32"), strides=(2, 1, 1)),
    ],
    "conv_transpose": [
        case(IMAGE, KERNEL),
        case(IMAGE, KERNEL, strides=(2, 3), padding="same"),
        case(SIGNAL, np.ones((3, 4, 2), "float32"), strides=2, padding=[(1, 0)], dilation=2),
    ],
    **{
        n: [
            case(IMAGE, 2),
            case(IMAGE, (3, 2), strides=1, padding="same"),
            case(SIGNAL, 3, strides=2, padding=[(1, 1)]),
            case(IMAGE, (5, 5), strides=1, padding="same"),
        ]
        for n in ("max_pool", "sum_pool")
    },
}
for _name, _op in OPS.items():
    INPUTS.setdefault(_name, [case(X, Y)] if _op.signature.startswith("x, y") else [case(X)])
for _name in ("sum", "mean", "std", "max", "min", "prod", "count_nonzero", "median"):
    INPUTS[_name] += [case(X, axis=0), case(IMAGE, axis=(1, -1), keepdims=True)]
for _name in ("argmax", "argmin", "cumsum", "cumprod"):
    INPUTS[_name] += [case(X, axis=1)]


def _softmax(x: Any, axis: Any = -1) -> Any:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def _log_sum_exp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    m = x.max(axis=axis, keepdims=True)
    total = np.log(np.exp(x - m).sum(axis=axis, keepdims=True)) + m
    return total if keepdims else total.squeeze(axis)


def _borders(sizes: Any, window: Any, strides: Any, padding: Any) -> Any:
    if padding == "valid":
        return [(0, 0)] * len(window)
    if padding == "causal":
        return [(w - 1, 0) for w in window]
    if padding == "same":
        total = [max((-(-n // s) - 1) * s + w - n, 0) for n, w, s in zip(sizes, window, strides, strict=True)]
        return [(t // 2, t - t // 2) for t in total]
    return padding


def _visit(x: Any, window: Any, strides: Any, padding: Any, value: float, visit: Callable[[Any], Any]) -> Any:
    """Apply a function to every window, one after the other."""
    pads = _borders(x.shape[1:-1], window, strides, padding)
    x = np.pad(x, [(0, 0), *pads, (0, 0)], constant_values=value)
    counts = [(n - w) // s + 1 for n, w, s in zip(x.shape[1:-1], window, strides, strict=True)]
    cells = {}
    for place in np.ndindex(*counts):
        region = tuple(slice(p * s, p * s + w) for p, s, w in zip(place, strides, window, strict=True))
        cells[place] = visit(x[(slice(None), *region)])
    rows = [cells[place] for place in np.ndindex(*counts)]
    return np.stack(rows, 1).reshape(x.shape[0], *counts, -1)


def _each(value: Any, space: int) -> Any:
    return (value,) * space if isinstance(value, int) else tuple(value)


def _conv(x: Any, kernel: Any, strides: Any = 1, padding: Any = "valid", dilation: Any = 1, groups: int = 1) -> Any:
    space = x.ndim - 2
    dilation = _each(dilation, space)
    full = np.zeros([(n - 1) * d + 1 for n, d in zip(kernel.shape, dilation, strict=False)] + list(kernel.shape[-2:]))
    full[tuple(slice(None, None, d) for d in dilation)] = kernel
    part, out = kernel.shape[-2], kernel.shape[-1] // groups

    def visit(seen: Any) -> Any:
        axes = (list(range(1, space + 2)), list(range(space + 1)))
        return np.concatenate(
            [
                np.tensordot(seen[..., g * part : (g + 1) * part], full[..., g * out : (g + 1) * out], axes)
                for g in range(groups)
            ],
            -1,
        )

    return _visit(x, full.shape[:-2], _each(strides, space), padding, 0, visit)


def _conv_transpose(x: Any, kernel: Any, strides: Any = 1, padding: Any = "valid", dilation: Any = 1) -> Any:
    """Every input value stamps the kernel onto the output."""
    space = x.ndim - 2
    strides, dilation = _each(strides, space), _each(dilation, space)
    window = [(n - 1) * d + 1 for n, d in zip(kernel.shape, dilation, strict=False)]
    sizes = [(n - 1) * s + max(w, s) for n, s, w in zip(x.shape[1:-1], strides, window, strict=True)]
    out = np.zeros((x.shape[0], *sizes, kernel.shape[-1]))
    for place in np.ndindex(*x.shape[1:-1]):
        for tap in np.ndindex(*kernel.shape[:-2]):
            at = tuple(p * s + t * d for p, s, t, d in zip(place, strides, tap, dilation, strict=True))
            out[(slice(None), *at)] += x[(slice(None), *place)] @ kernel[tap]
    if padding == "same":
        total = [max(w - s, 0) for w, s in zip(window, strides, strict=True)]
        padding = [(t // 2, t - t // 2) for t in total]
    if padding == "valid":
        padding = [(0, 0)] * space
    crop = [slice(low, n - high) for (low, high), n in zip(padding, sizes, strict=True)]
    return out[(slice(None), *crop)]


def _pool(reduce: Callable[..., Any], value: float) -> Callable[..., Any]:
    def pool(x: Any, window: Any, strides: Any = None, padding: Any = "valid") -> Any:
        space = x.ndim - 2
        window = _each(window, space)
        strides = window if strides is None else _each(strides, space)
        return _visit(x, window, strides, padding, value, lambda seen: reduce(seen, axis=tuple(range(1, space + 1))))

    return pool


def _scatter_add(x: Any, indices: Any, updates: Any) -> Any:
    result = np.array(x)
    for i, index in enumerate(np.ravel(indices)):
        result[index] += updates if np.ndim(updates) == 0 else updates[i]
    return result


def _one_hot(indices: Any, num_classes: int, axis: int = -1, dtype: str = "float32") -> Any:
    return np.moveaxis(np.eye(num_classes, dtype=dtype)[np.asarray(indices)], -1, axis)


def _slice_update(x: Any, begin: Any, updates: Any) -> Any:
    result = np.array(x)
    result[tuple(slice(b, b + n) for b, n in zip(begin, updates.shape, strict=True))] = updates
    return result


def _argsort(x: Any, axis: int = -1, descending: bool = False) -> Any:
    return np.argsort(-x if descending else x, axis=axis, stable=True)


def _norm(x: Any, ord: float = 2, axis: Any = None, keepdims: bool = False) -> Any:
    if ord == math.inf:
        return np.abs(x).max(axis=axis, keepdims=keepdims)
    return (np.abs(x) ** ord).sum(axis=axis, keepdims=keepdims) ** (1 / ord)


def _clip(x: Any, min: Any = None, max: Any = None) -> Any:
    raised = x if min is None else np.maximum(x, min)
    return (raised if max is None else np.minimum(raised, max)).astype(x.dtype)


REFERENCES: dict[str, Callable[..., Any]] = {
    "one_hot": _one_hot,
    "softmax": _softmax,
    "log_softmax": lambda x, axis=-1: x - _log_sum_exp(x, axis, True),
    "logsumexp": _log_sum_exp,
    "norm": _norm,
    "moments": lambda x, axis=None, keepdims=False: (
        np.mean(x, axis=axis, keepdims=keepdims),
        np.var(x, axis=axis, keepdims=keepdims),
    ),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "log_sigmoid": lambda x: -np.log1p(np.exp(-x)),
    "softplus": lambda x: np.log1p(np.exp(x)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "erf": np.vectorize(math.erf),
    "stop_gradient": lambda x: x,
    "divide_no_nan": lambda x, y: np.where(y == 0, 0, x / np.where(y == 0, 1, y)),
    "xlogy": lambda x, y: np.where(x == 0, 0, x * np.log(np.where(x == 0, 1, y))),
    "squared_difference": lambda x, y: (x - y) ** 2,
    "conv": _conv,
    "conv_transpose": _conv_transpose,
    "max_pool": _pool(np.max, -np.inf),
    "sum_pool": _pool(np.sum, 0),
    "cast": lambda x, dtype: x.astype(dtype),
    "gather_nd": lambda x, indices: x[tuple(np.moveaxis(np.array(indices), -1, 0))],
    "scatter_add": _scatter_add,
    "segment_sum": lambda x, ids, n: _scatter_add(np.zeros((n, *x.shape[1:]), x.dtype), ids, x),
    "slice": lambda x, begin, shape: x[
        tuple(slice(b, b + n) for b, n in zip(begin, np.atleast_1d(shape), strict=True))
    ],
    "slice_update": _slice_update,
    "unstack": lambda x, axis=0: tuple(np.moveaxis(x, axis, 0)),
    "pad": lambda x, w, mode="constant", constant_values=0: (
        np.pad(x, w, mode, constant_values=constant_values) if mode == "constant" else np.pad(x, w, mode)
    ),
    "sort": lambda x, axis=-1, descending=False: np.flip(np.sort(x, axis), axis) if descending else np.sort(x, axis),
    "argsort": _argsort,
    "top_k": lambda x, k: (np.take_along_axis(x, _argsort(x, -1, True)[..., :k], -1), _argsort(x, -1, True)[..., :k]),
    "bincount": lambda x, length=None: np.bincount(x, minlength=length or 0),
    "linspace": lambda a, b, n=50, endpoint=True: np.linspace(a, b, n, endpoint=endpoint, dtype="float32"),
    "eye": lambda n, m=None, k=0, dtype="float32": np.eye(n, m, k, dtype=dtype),
    "identity": lambda n: np.eye(n, dtype="float32"),
    "tri": lambda n, m=None, k=0: np.tri(n, m, k, dtype="float32"),
    "zeros": lambda shape, dtype="float32": np.zeros(shape, dtype),
    "ones": lambda shape, dtype="float32": np.ones(shape, dtype),
    "to_numpy": lambda x: x,
    "squeeze": lambda x, axis=None: np.squeeze(x, axis),
    "trace": lambda x, offset=0: np.trace(x, offset),
    "clip": _clip,
}
EAGER_ONLY = {"nonzero", "unique", "to_numpy", "asarray", "array", "arange", "full", "linspace"}
PYTHON_RESULTS = {"shape", "ndim", "size"}
NOT_UNIQUE = {"svd", "qr", "eigh"}
CASES = [(name, args, options) for name in OPS for args, options in INPUTS[name]]
IDS = [f"{name}-{i}" for name in OPS for i, _ in enumerate(INPUTS[name])]
every_case = pytest.mark.parametrize(("name", "args", "options"), CASES, ids=IDS)
one_case = pytest.mark.parametrize(("name", "args", "options"), [(n, *INPUTS[n][-1]) for n in OPS], ids=list(OPS))


def leaves(result: Any) -> list[np.ndarray[Any, Any]]:
    return [np.asarray(r) for r in (result if isinstance(result, (tuple, list)) else [result])]


def reference(name: str) -> Callable[..., Any]:
    if name in REFERENCES:
        return REFERENCES[name]
    for space in (np, np.linalg, np.fft):
        if callable(getattr(space, name, None)):
            return getattr(space, name)  # type: ignore[no-any-return]
    raise LookupError(name)


def narrowed(dtype: np.dtype[Any]) -> str:
    return {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}.get(
        dtype.name, dtype.name
    )


def test_every_case_is_of_an_op() -> None:
    assert set(INPUTS) == set(OPS)


@every_case
def test_backends_agree_with_numpy(name: str, args: Any, options: Any) -> None:
    with np.errstate(all="ignore"):
        expected = leaves(reference(name)(*args, **options))
    for backend in ("jax", "numpy"):
        with use(backend):
            found = leaves(getattr(ops, name)(*args, **options))
        assert [f.shape for f in found] == [e.shape for e in expected], backend
        if name not in PYTHON_RESULTS:
            assert [f.dtype.name for f in found] == [narrowed(e.dtype) for e in expected], backend
        for f, e in zip(found, expected, strict=True):
            if name in NOT_UNIQUE:
                f, e = np.abs(f), np.abs(e)
            np.testing.assert_allclose(f, e, rtol=2e-5, atol=1e-5, err_msg=backend)


def is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or (isinstance(value, (list, tuple)) and any(map(is_array, value)))


@one_case
def test_compiled_equals_eager(name: str, args: Any, options: Any) -> None:
    if name in EAGER_ONLY or (name == "bincount" and "length" not in options):
        pytest.skip("needs values")
    dynamic = [i for i, value in enumerate(args) if is_array(value)]

    def call(*values: Any) -> Any:
        full = list(args)
        for i, value in zip(dynamic, values, strict=True):
            full[i] = value
        return getattr(ops, name)(*full, **options)

    eager, compiled = leaves(call(*(args[i] for i in dynamic))), leaves(jax.jit(call)(*(args[i] for i in dynamic)))
    for e, c in zip(eager, compiled, strict=True):
        assert e.dtype == c.dtype or name in PYTHON_RESULTS
        np.testing.assert_allclose(c, e, rtol=1e-5, atol=1e-5)


class Boxed(VariableLike):
    def __init__(self, content: Any) -> None:
        self.content = content

    @property
    def value(self) -> Any:
        return ops.asarray(self.content)


@one_case
def test_variables_stand_for_arrays(name: str, args: Any, options: Any) -> None:
    def boxed(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return Boxed(value)
        return [boxed(v) for v in value] if isinstance(value, (list, tuple)) and is_array(value) else value

    parameters = [p.split("=")[0].split(":")[0].strip().lstrip("*") for p in OPS[name].signature.split(", ")]
    wrapped = [
        Boxed(value) if i < len(parameters) and parameters[i] in ARRAYS and isinstance(value, list) else boxed(value)
        for i, value in enumerate(args)
    ]
    function = getattr(ops, name)
    for found, expected in zip(leaves(function(*wrapped, **options)), leaves(function(*args, **options)), strict=True):
        np.testing.assert_array_equal(found, expected)
