"""Python numbers that the dtype of the array beside them cannot hold: refused, eagerly, compiled, on both backends."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.backend.registry import use
from graftax.core.errors import ArgumentError, GraftaxError
from graftax.ops.signatures import format_parameters
from graftax.ops.table import OPS

both = pytest.mark.parametrize("backend", ["jax", "numpy"])
SMALL = np.array([1, 200], "uint8")
TWO_ARGUMENTS = [
    name
    for name, op in OPS.items()
    if format_parameters(op).startswith("x, y") and op.weak and op.name not in ("isclose", "allclose", "array_equal")
]


def raised(function: Callable[..., Any], *args: Any, **options: Any) -> str:
    with pytest.raises(ArgumentError) as caught:
        function(*args, **options)
    assert caught.value.reason
    assert caught.value.instead
    return str(caught.value)


@pytest.mark.in_turn(2)
@both
@pytest.mark.parametrize("name", TWO_ARGUMENTS)
def test_l14_a_number_that_does_not_fit_is_refused(backend: str, name: str) -> None:
    function = getattr(ops, name)
    with use(backend):
        for dtype, number in (("uint8", 300), ("uint8", -1), ("int8", 128), ("int32", 2**31), ("uint32", -1)):
            x = np.ones(2, dtype)
            told = raised(function, x, number)
            assert name in told
            assert str(number) in told
            raised(function, number, x)
            if backend == "jax":
                raised(gx.jit(lambda x, number=number: function(x, number)), x)


@both
@pytest.mark.parametrize(
    ("dtype", "number"), [("float16", 1e6), ("float16", 70000), ("bfloat16", 1e39), ("float32", -1e39)]
)
def test_l14_a_number_that_would_be_infinite_is_refused(backend: str, dtype: str, number: float) -> None:
    with use(backend):
        x = ops.ones((2,), dtype)
        for name in ("add", "less", "maximum", "where"):
            args = ([True, False], x, number) if name == "where" else (x, number)
            raised(getattr(ops, name), *args)
        assert np.isinf(np.asarray(ops.add(x, math.inf), "float32")).all()
        assert np.isnan(np.asarray(ops.add(x, math.nan), "float32")).all()


@both
def test_l14_what_fills_an_array_must_be_of_its_dtype(backend: str) -> None:
    with use(backend):
        for call in (
            lambda: ops.where([True, False], SMALL, 300),
            lambda: ops.clip(SMALL, 0, 300),
            lambda: ops.clip(SMALL, -1, 5),
            lambda: ops.full((2,), 300, "uint8"),
            lambda: ops.full((2,), 1.5, "int32"),
            lambda: ops.full_like(SMALL, 300),
            lambda: ops.full_like(SMALL, 0.5),
            lambda: ops.pad(SMALL, 1, constant_values=300),
            lambda: ops.pad(SMALL, 1, constant_values=0.5),
            lambda: ops.scatter_add(SMALL, [0], 300),
            lambda: ops.scatter_add(SMALL, [0], 0.5),
            lambda: ops.cast(300, "uint8"),
            lambda: ops.cast([1, -1], "uint8"),
            lambda: ops.asarray(300, "uint8"),
            lambda: ops.asarray([1e6], "float16"),
            lambda: ops.asarray(np.array([300]), "uint8"),
            lambda: ops.asarray(np.array([300.0]), "uint8"),
            lambda: ops.asarray(np.array([math.nan]), "int32"),
            lambda: ops.asarray(np.array([1e300])),
            lambda: ops.asarray(ops.asarray([300]), "uint8"),
            lambda: ops.asarray([1 + 2j], "float32"),
            lambda: ops.arange(300, dtype="uint8"),
            lambda: ops.arange(0, -3, -1, dtype="uint8"),
            lambda: ops.arange(10**10),
        ):
            raised(call)
        assert ops.full((2,), 7.0, "int32").tolist() == [7, 7]
        assert ops.pad(SMALL, 1, constant_values=255).tolist() == [255, 1, 200, 255]
        assert ops.pad(np.array([True]), 1, constant_values=False).tolist() == [False, True, False]
        assert ops.asarray(np.array([1.7]), "int32").tolist() == [1]


@pytest.mark.broad
@both
def test_l14_numbers_that_fit_stay_what_they_are(backend: str) -> None:
    with use(backend):
        for dtype, number in (("uint8", 255), ("int8", -128), ("int32", -(2**31)), ("uint32", 2**32 - 1)):
            x = np.zeros(2, dtype)
            for function in (ops.add, ops.maximum, ops.subtract) if number > 0 else (ops.add, ops.minimum):
                assert function(x, number).dtype == dtype
            assert ops.equal(ops.full((1,), number, dtype) if dtype != "uint32" else x[:1], number).dtype == "bool"
        assert ops.add(np.ones(2, "bool"), 300).tolist() == [301, 301]
        assert ops.add(SMALL, 0.5).tolist() == [1.5, 200.5]


def test_l14_a_number_that_is_traced_is_checked_where_checks_are_looked_at() -> None:
    add = gx.jit(ops.add, checked=True)
    assert add(SMALL, 5).tolist() == [6, 205]
    told = raised(add, SMALL, 300)
    assert "300" in told


@both
@pytest.mark.parametrize("name", ["__add__", "__lt__", "__eq__", "__iadd__", "__rsub__", "assign", "assign_add"])
def test_l14_variables_refuse_numbers_that_do_not_fit(backend: str, name: str) -> None:
    with use(backend):
        w = gx.Variable(np.array(3, "uint8"))
        with pytest.raises(GraftaxError, match="300"):
            getattr(w, name)(300)
        assert int(w) == 3
