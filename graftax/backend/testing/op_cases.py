"""Sample inputs for each op: what the conformance tests feed to every backend."""

import math
from typing import Any

import numpy as np

from graftax.ops.signatures import shown
from graftax.ops.table import OPS

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

QUERY = np.sin(np.arange(2 * 3 * 4 * 5, dtype="float32")).reshape(2, 3, 4, 5)
KEY = np.cos(np.arange(2 * 6 * 4 * 5, dtype="float32")).reshape(2, 6, 4, 5)
VALUE = np.sin(np.arange(2 * 6 * 4 * 2, dtype="float32") * 2).reshape(2, 6, 4, 2)
ALLOWED = np.arange(2 * 3 * 6).reshape(2, 1, 3, 6) % 3 != 1
ALLOWED[1, 0, 2] = False  # nothing to attend to

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
    "standardize": [case(X), case(X, axis=(0, 1), epsilon=0.5), case(SQUARE, axis=0)],
    "dot_product_attention": [
        case(QUERY, KEY, VALUE),
        case(QUERY, KEY, VALUE, mask=ALLOWED, bias=KEY[:, :3, :, :1].swapaxes(1, 2), scale=0.3),
        case(QUERY, KEY, VALUE, is_causal=True),
        case(QUERY, KEY[:, :, :2], VALUE[:, :, :2], mask=ALLOWED.repeat(4, 1), is_causal=True),
    ],
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
    INPUTS.setdefault(_name, [case(X, Y)] if shown(_op).startswith("x, y") else [case(X)])
for _name in ("sum", "mean", "std", "max", "min", "prod", "count_nonzero", "median"):
    INPUTS[_name] += [case(X, axis=0), case(IMAGE, axis=(1, -1), keepdims=True)]
for _name in ("argmax", "argmin", "cumsum", "cumprod"):
    INPUTS[_name] += [case(X, axis=1)]
