"""Indices of every integer dtype over axes of every length, and counts: L6, L7, L10, L11, X8."""

import re
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.backend.registry import use
from graftax.core.errors import ArgumentError, GraftaxError, IndexRangeError, ShapeError

both = pytest.mark.parametrize("backend", ["jax", "numpy"])
NARROW = ["int8", "uint8", "int16", "uint16"]
LONG = np.arange(300, dtype="float32")

TAKERS: dict[str, Callable[[Any], Any]] = {
    "take": lambda i: ops.take(LONG, i),
    "take_along_axis": lambda i: ops.take_along_axis(LONG, i, 0),
    "gather_nd": lambda i: ops.gather_nd(LONG, i[:, None]),
    "slice": lambda i: ops.slice(LONG, i[:1], 1),
    "slice_update": lambda i: ops.slice_update(LONG, i[:1], np.full(1, 9, "float32")),
    "one_hot": lambda i: ops.one_hot(i, 300),
    "scatter_add": lambda i: ops.scatter_add(LONG, i, np.ones(i.shape, "float32")),
    "segment_sum": lambda i: ops.segment_sum(np.ones(i.shape, "float32"), i, 300),
    "bincount": lambda i: ops.bincount(i, 300),
    "Variable[...]": lambda i: gx.Variable(LONG)[i],
}


def raised(kind: type[GraftaxError], function: Callable[..., Any], *args: Any, **options: Any) -> GraftaxError:
    with pytest.raises(kind) as caught:
        function(*args, **options)
    assert caught.value.reason
    assert caught.value.instead
    return caught.value


@pytest.mark.in_turn(3)
@both
@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("name", TAKERS)
def test_l11_narrow_indices_reach_over_axes_longer_than_they_count(backend: str, name: str, dtype: str) -> None:
    places = np.array([0, 5, 100, 5])
    with use(backend):
        found, expected = TAKERS[name](places.astype(dtype)), TAKERS[name](places.astype("int32"))
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype


@pytest.mark.in_turn(5, 1)
@pytest.mark.parametrize("name", [name for name in TAKERS if name != "Variable[...]"])
def test_l11_narrow_indices_in_compiled_functions(name: str) -> None:
    places = np.array([0, 5, 100])
    for dtype in ("int8", "uint8"):
        expected = TAKERS[name](places.astype("int32"))
        np.testing.assert_array_equal(gx.jit(TAKERS[name])(places.astype(dtype)), expected)


@both
def test_l11_assignment_at_narrow_indices(backend: str) -> None:
    with use(backend):
        w = gx.Variable(np.zeros(300, "float32"))
        w[np.array([5, 100], "int8")] = [1.0, 2.0]
        assert w.numpy()[[5, 100]].tolist() == [1.0, 2.0]
        assert w[[5, 100]].tolist() == [1.0, 2.0]  # a list is an array of indices, as in NumPy


@both
@pytest.mark.parametrize("dtype", ["int8", "int32"])
@pytest.mark.parametrize("name", TAKERS)
def test_l11_an_index_outside_is_refused_in_every_dtype(backend: str, name: str, dtype: str) -> None:
    with use(backend):
        if name != "Variable[...]":  # there it counts from the end
            raised(IndexRangeError, TAKERS[name], np.array([-1, 5], dtype))
        if dtype == "int32":
            raised(IndexRangeError, TAKERS[name], np.array([300, 5], dtype))


@both
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_l6_one_hot_of_narrow_integers_does_not_wrap(backend: str, dtype: str) -> None:
    with use(backend):
        found = ops.to_numpy(ops.one_hot(np.array([0, 44, 127], dtype), 600))
    assert np.argwhere(found).tolist() == [[0, 0], [1, 44], [2, 127]]  # 256 is no other 0


@both
def test_l7_repeat_with_several_repeats(backend: str) -> None:
    x = np.arange(6, dtype="float32").reshape(2, 3)
    with use(backend):
        for repeats, axis in (([1, 0, 2], 1), ([2, 3], 0), ([1, 2, 0, 1, 0, 3], None), (np.array([2, 0, 1]), -1)):
            found = ops.repeat(x, repeats, axis=axis)
            np.testing.assert_array_equal(found, np.repeat(x, repeats, axis))
        raised(ArgumentError, ops.repeat, x, [1, -1, 1], axis=1)
        raised(ArgumentError, ops.repeat, x, -2)
        raised(GraftaxError, ops.repeat, x, [1, 2], axis=1)


@pytest.mark.broad
def test_l7_repeat_with_several_repeats_compiles_and_has_a_gradient() -> None:
    x = np.arange(3, dtype="float32")
    np.testing.assert_array_equal(gx.jit(lambda x: ops.repeat(x, [1, 0, 2]))(x), [0, 2, 2])
    gradient = jax.grad(lambda x: ops.sum(ops.repeat(x, [1, 0, 2])))(x)
    np.testing.assert_array_equal(gradient, [1, 0, 2])


@both
@pytest.mark.parametrize("step", [0, 0.0])
def test_l10_arange_refuses_a_step_of_zero(backend: str, step: float) -> None:
    with use(backend):
        error = raised(ArgumentError, ops.arange, 0, 3, step)
    assert f"step = {step}" in str(error)


OUTSIDE: dict[str, tuple[Callable[..., Any], Any]] = {
    "segment_sum": (lambda i: ops.segment_sum(np.ones(3, "float32"), i, 3), [1.0, 1.0, 0.0]),
    "scatter_add": (lambda i: ops.scatter_add(np.zeros(3, "float32"), i, np.ones(3, "float32")), [1.0, 1.0, 0.0]),
    "one_hot": (lambda i: ops.sum(ops.one_hot(i, 3), 0), [1.0, 1.0, 0.0]),
    "bincount": (lambda i: ops.bincount(i, 3), [1, 1, 0]),
}


@pytest.mark.broad
@pytest.mark.parametrize("name", OUTSIDE)
def test_x8_rows_out_of_range_raise_eagerly_and_checked_and_are_dropped_in_plain_programs(name: str) -> None:
    function, dropped = OUTSIDE[name]
    indices = np.array([0, 1, 7], "int32")
    raised(IndexRangeError, function, indices)
    raised(IndexRangeError, gx.jit(function, checked=True), indices)
    assert gx.jit(function)(indices).tolist() == dropped
    assert re.search("dropped|ignores|out of range gives only 0", getattr(ops, name).__doc__ or "")


def test_x8_what_compiled_reads_out_of_range_give_is_written_down() -> None:
    for name in ("take", "take_along_axis", "gather_nd", "slice", "slice_update"):
        assert "compiled" in (getattr(ops, name).__doc__ or ""), name


@both
def test_more_indices_than_axes_and_floats_as_indices_are_refused(backend: str) -> None:
    with use(backend):
        w = gx.Variable(np.zeros((2, 3), "float32"))
        raised(IndexRangeError, lambda: w[0, 1, 2])
        raised(GraftaxError, lambda: w[1.0])
        raised(GraftaxError, lambda: w[np.array([0.0, 1.0])])
        assert w[()].shape == (2, 3)
        assert w[np.array([True, False])].shape == (1, 3)


@both
def test_split_is_cut_at_places_in_order(backend: str) -> None:
    x = np.arange(6, dtype="float32")
    with use(backend):
        assert [part.tolist() for part in ops.split(x, [2, 2, 6])] == [[0, 1], [], [2, 3, 4, 5], []]
        for sections in ([3, 1], [-1], [7]):
            raised(ArgumentError, ops.split, x, sections)
        raised(ShapeError, ops.split, x, 4)
