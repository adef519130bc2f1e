"""Ops that take indices: none outside is taken silently, and what has no place says so."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentError, DTypeError, IndexRangeError, NumericsError, ShapeError

X = np.arange(6, dtype="float32").reshape(2, 3)


@pytest.mark.in_turn(8, broad=4)
@pytest.mark.parametrize(
    "call",
    [
        lambda i: ops.segment_max(X, [0, i], 4),
        lambda i: ops.segment_min(X, [0, i], 4),
        lambda i: ops.segment_mean(X, [0, i], 4),
        lambda i: ops.segment_softmax(X, [0, i], 4),
        lambda i: ops.scatter([[i]], [1.0], (4,)),
        lambda i: ops.scatter_update(np.zeros(4, "float32"), [[i]], 1.0),
        lambda i: ops.multi_hot([[0, i]], 4),
        lambda i: ops.in_top_k([0, i], np.ones((2, 4), "float32"), 1),
        lambda i: ops.unravel_index([i], (2, 2)),
    ],
)
@pytest.mark.parametrize("index", [-1, 4])
def test_an_index_outside_raises(call: Callable[[int], Any], index: int) -> None:
    call(3)
    with pytest.raises(IndexRangeError, match=f"{index}"):
        call(index)
    with pytest.raises(IndexRangeError):
        gx.jit(call, checked=True)(np.int32(index))


def test_what_is_out_of_place_in_compiled_code_is_dropped() -> None:
    put = gx.jit(lambda i: ops.scatter(i, np.ones(2, "float32"), (2, 2)))
    assert put(np.array([[1, 0], [0, 3]], "int32")).tolist() == [[0, 0], [1, 0]]


def test_indices_of_another_shape_or_kind_are_told() -> None:
    with pytest.raises(DTypeError):
        ops.scatter([[0.0]], [1.0], (4,))
    with pytest.raises(ShapeError, match="updates"):
        ops.scatter_update(X, [[0], [1]], X[:, :2])
    with pytest.raises(ShapeError):
        ops.segment_mean(X, [0, 1, 1], 2)
    with pytest.raises(ShapeError):
        ops.in_top_k([0, 1], X, 4)
    with pytest.raises(ShapeError):
        ops.multi_hot(1, 3)


def test_divisors_are_of_integers_and_not_zero() -> None:
    with pytest.raises(DTypeError):
        ops.gcd(X, X)
    with pytest.raises(NumericsError):
        ops.fmod(np.arange(3), 0)


def test_averages_and_histograms_say_what_does_not_fit() -> None:
    with pytest.raises(ShapeError, match="average"):
        ops.average(X, 0, np.ones(3, "float32"))
    with pytest.raises(ArgumentError):
        ops.histogram(X, range=(1.0, 0.0))
    with pytest.raises(ArgumentError):
        ops.percentile(X, 101)
    with pytest.raises(ArgumentError):
        ops.trapezoid(X, X, dx=2.0)
    with pytest.raises(ShapeError):
        ops.cov(X[0])
    with pytest.raises(ArgumentError):
        ops.select([X > 1], [X, X])
    with pytest.raises(ArgumentError):
        ops.geomspace(-1.0, 1.0)


def test_the_index_of_nothing_is_refused_where_it_is_used() -> None:
    place = ops.nanargmax(np.full((2, 2), np.nan, "float32"), axis=1)
    assert place.tolist() == [-1, -1]
    with pytest.raises(IndexRangeError):
        ops.take(X, place)


def test_each_segment_has_its_softmax() -> None:
    assert ops.segment_softmax(np.array([0.0, 0.0, 5.0], "float32"), [0, 0, 1], 3).tolist() == [0.5, 0.5, 1.0]
