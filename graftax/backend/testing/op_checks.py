"""Checks of every op: sample inputs of several dtypes, compared with plain NumPy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from graftax import ops
from graftax.backend.host import NARROW, host_dtype
from graftax.backend.testing.check import Check, Kit
from graftax.backend.testing.op_cases import INPUTS
from graftax.backend.testing.op_references import REFERENCES

PYTHON_RESULTS = frozenset({"shape", "ndim", "size"})
NOT_UNIQUE = frozenset({"svd", "qr", "eigh"})
"""Results that are right with either sign."""
HALF = (
    "abs negative exp log sqrt square sin tanh add subtract multiply divide maximum where clip sum mean "
    "max sort cumsum concatenate reshape take matmul sigmoid softplus softmax logsumexp standardize conv "
    "max_pool sum_pool scatter_add "
).split()
"""Ops that are looked at in narrow floating dtypes, too."""


def reference(name: str) -> Callable[..., Any]:
    """Return the function of NumPy that says what an op computes."""
    if name in REFERENCES:
        return REFERENCES[name]
    for space in (np, np.linalg, np.fft):
        if callable(found := getattr(space, name, None)):
            return found  # type: ignore[no-any-return]
    raise LookupError(name)


def as_list(result: object) -> list[Any]:
    """Return the arrays of a result, one or several."""
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _of_case(name: str, index: int, kit: Kit) -> None:
    args, options = INPUTS[name][index]
    with np.errstate(all="ignore"):
        expected = as_list(reference(name)(*args, **options))
    found = as_list(getattr(ops, name)(*args, **options))
    assert len(found) == len(expected), f"{len(found)} results, not {len(expected)}"
    for one, wanted in zip(found, map(np.asarray, expected), strict=True):
        if name in PYTHON_RESULTS:
            assert int(one) == int(wanted), f"{one}, not {wanted}"
            continue
        dtype = NARROW.get(wanted.dtype.name, wanted.dtype.name)
        if name in NOT_UNIQUE:
            one, wanted = ops.abs(one), np.abs(wanted)
        kit.close(one, wanted, f"ops.{name}", dtype)


def _of_half(name: str, dtype: str, kit: Kit) -> None:
    args, options = INPUTS[name][0]
    narrow = [_convert(value, dtype) for value in args]
    with np.errstate(all="ignore"):
        expected = reference(name)(*(_convert(value, "float64") for value in narrow), **options)
    found = getattr(ops, name)(*narrow, **options)
    assert str(found.dtype) == dtype, f"ops.{name} of {dtype} gives {found.dtype}"
    kit.close(found, expected, f"ops.{name} of {dtype}", dtype)


def _convert(value: object, dtype: str) -> Any:
    if isinstance(value, np.ndarray):
        floating = value.dtype.kind == "f" or value.dtype.name == "bfloat16"
        return value.astype(host_dtype(dtype)) if floating else value
    if isinstance(value, (list, tuple)) and any(isinstance(one, np.ndarray) for one in value):
        return [_convert(one, dtype) for one in value]
    return value


CHECKS = [
    *(
        Check(f"ops/{name}/{i}", "arrays", partial(_of_case, name, i))
        for name, cases in INPUTS.items()
        for i in range(len(cases))
    ),
    *(
        Check(f"ops/{name}/{dtype}", "arrays", partial(_of_half, name, dtype))
        for name in HALF
        for dtype in ("float16", "bfloat16")
    ),
]
