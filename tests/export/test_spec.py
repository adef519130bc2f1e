"""Spec: what may be written for a shape, and what is told otherwise."""

from typing import Any

import pytest

import graftax as gx
from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.export import Spec
from graftax.export.manifest import size_of
from graftax.export.sizes import check_constraints


@pytest.mark.parametrize(
    ("shape", "sizes", "names"),
    [
        ("batch 8", ("batch", 8), ["batch"]),
        ("2*b+1 t", ("2*b+1", "t"), ["b", "t"]),
        ("", (), []),
        (("b", 3, "max(b,t)"), ("b", 3, "max(b,t)"), ["b", "t"]),
        ([4, "floordiv(t, 2)"], (4, "floordiv(t,2)"), ["t"]),
    ],
    ids=["text", "expressions", "number", "tuple", "list"],
)
def test_shapes_are_read(shape: Any, sizes: Any, names: list[str]) -> None:
    spec = Spec(shape)
    assert spec.shape == sizes
    assert spec.names == names
    assert spec.dtype == "float32"


@pytest.mark.parametrize("shape", ["b/2", "8,", "f(b)", "max(b)", "b b!", "-", "b.t", (-1,), ("b", 2.5)])
def test_what_is_no_size_is_refused_with_what_was_written(shape: Any) -> None:
    with pytest.raises(ArgumentError) as caught:
        Spec(shape)
    assert str(caught.value).startswith(f"Spec({shape!r}): the size ")
    assert "instead: Spec(" in str(caught.value)


def test_a_shape_that_is_none_and_an_unknown_dtype_are_refused() -> None:
    with pytest.raises(ArgumentTypeError, match="a shape is a text of sizes"):
        Spec(8)  # type: ignore[arg-type]
    with pytest.raises(gx.errors.GraftaxError, match="flaot32"):
        Spec("batch", "flaot32")


@pytest.mark.parametrize(
    ("dtype", "bounds"),
    [("int32", (5, 1)), ("bool", (0, 1)), ("float32", 3), ("int32", (0, "x")), ("int32", (1, 2, 3))],
)
def test_bounds_are_two_numbers_in_order_of_what_has_an_order(dtype: str, bounds: Any) -> None:
    with pytest.raises(ArgumentError, match="bounds="):
        Spec("batch", dtype, bounds)
    assert Spec("batch", "int32", (0, 4)).bounds == (0, 4)


def test_specs_are_compared_by_what_they_say_and_shown_as_written() -> None:
    spec = Spec("batch 2*time", "int32", bounds=(0, 9))
    assert spec == Spec(("batch", "2*time"), "int32", (0, 9))
    assert len({spec, Spec("batch 2*time", "int32", (0, 9)), Spec("batch 2*time", "int32")}) == 2
    assert eval(repr(spec)) == spec
    assert (spec == 3) is False


@pytest.mark.parametrize(
    ("size", "value"),
    [
        (7, 7),
        ("b", 3),
        ("2*b-1", 5),
        ("max(b,t)", 5),
        ("min(b,t)+1", 4),
        ("mod(t,b)", 2),
        ("-b+t", 2),
        ("floordiv(t,2)", 2),
    ],
)
def test_sizes_have_values(size: Any, value: int) -> None:
    assert size_of(size, {"b": 3, "t": 5}) == value


def test_constraints_hold_or_not_and_name_sizes_of_inputs() -> None:
    values = {"b": 3, "t": 5}
    assert [size_of(one, values) for one in ("t >= b+2", "t>=2*b", "b <= 3", "b == t")] == [True, False, True, False]
    assert check_constraints(["t >= 2"], ["b", "t"]) == ("t >= 2",)
    for wrong, told in (("t > 2", ">="), ("s >= 2", "no size of the inputs is called s"), ("2 >= 1", "no name")):
        with pytest.raises(ArgumentError, match=told):
            check_constraints([wrong], ["b", "t"])
