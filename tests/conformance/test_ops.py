"""One row for each op: compiled as eagerly, and with Variables for arrays. Numbers are compared in tests/backend."""

from typing import Any

import jax
import numpy as np
import pytest

from graftax import ops
from graftax.backend.testing.op_cases import INPUTS
from graftax.backend.testing.op_checks import PYTHON_RESULTS, as_list
from graftax.core.typedefs import VariableLike
from graftax.ops.signatures import parameters
from graftax.ops.table import OPS

pytestmark = pytest.mark.optimized
# Their results follow from values, or they take no arrays.
EAGER_ONLY = {"nonzero", "unique", "to_numpy", "asarray", "array", "arange", "full", "linspace"}
one_case = pytest.mark.parametrize(("name", "args", "options"), [(n, *INPUTS[n][-1]) for n in OPS], ids=list(OPS))
COMPILED = [n for n in OPS if n not in EAGER_ONLY and (n != "bincount" or "length" in INPUTS[n][-1][1])]
one_compiled = pytest.mark.parametrize(
    ("name", "args", "options"), [(n, *INPUTS[n][-1]) for n in COMPILED], ids=COMPILED
)


def leaves(result: Any) -> list[np.ndarray[Any, Any]]:
    return [np.asarray(one) for one in as_list(result)]


def test_every_case_is_of_an_op() -> None:
    assert set(INPUTS) == set(OPS)


def is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or (isinstance(value, (list, tuple)) and any(map(is_array, value)))


@pytest.mark.in_turn(3, broad=2)
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


@pytest.mark.in_turn(3, 2)
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
