"""One row for each op: JAX, the reference backend and an independent NumPy formula agree, eagerly and compiled."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from graftax import ops
from graftax.backend.registry import use
from graftax.core.typedefs import VariableLike
from graftax.ops.signatures import parameters
from graftax.ops.table import OPS
from tests.conformance.op_cases import INPUTS
from tests.conformance.op_references import REFERENCES

pytestmark = pytest.mark.optimized
# Their results follow from values, or they take no arrays.
EAGER_ONLY = {"nonzero", "unique", "to_numpy", "asarray", "array", "arange", "full", "linspace"}
PYTHON_RESULTS = {"shape", "ndim", "size"}
NOT_UNIQUE = {"svd", "qr", "eigh"}
CASES = [(name, args, options) for name in OPS for args, options in INPUTS[name]]
IDS = [f"{name}-{i}" for name in OPS for i, _ in enumerate(INPUTS[name])]
every_case = pytest.mark.parametrize(("name", "args", "options"), CASES, ids=IDS)
one_case = pytest.mark.parametrize(("name", "args", "options"), [(n, *INPUTS[n][-1]) for n in OPS], ids=list(OPS))
COMPILED = [n for n in OPS if n not in EAGER_ONLY and (n != "bincount" or "length" in INPUTS[n][-1][1])]
one_compiled = pytest.mark.parametrize(
    ("name", "args", "options"), [(n, *INPUTS[n][-1]) for n in COMPILED], ids=COMPILED
)


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


@one_compiled
def test_compiled_equals_eager(name: str, args: Any, options: Any) -> None:
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

    arrays = [one.kind.takes == "array" for one in parameters(OPS[name])]
    wrapped = [
        Boxed(value) if i < len(arrays) and arrays[i] and isinstance(value, list) else boxed(value)
        for i, value in enumerate(args)
    ]
    function = getattr(ops, name)
    for found, expected in zip(leaves(function(*wrapped, **options)), leaves(function(*args, **options)), strict=True):
        np.testing.assert_array_equal(found, expected)
