"""Patterns of `rearrange`: what they mean, and what is told of those that mean nothing."""

from typing import Any

import numpy as np
import pytest

from graftax import ops
from graftax.core.errors import ArgumentError, ArgumentTypeError, ShapeError

X = np.arange(24, dtype="float32").reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("pattern", "sizes", "expected"),
    [
        ("a b c -> c a b", {}, X.transpose(2, 0, 1)),
        ("a b c -> (a b) c", {}, X.reshape(6, 4)),
        ("a b (c d) -> a (b d) c", {"d": 2}, X.reshape(2, 3, 2, 2).swapaxes(2, 3).reshape(2, 6, 2)),
        ("... c -> c ...", {}, np.moveaxis(X, -1, 0)),
        ("a ... -> a (...)", {}, X.reshape(2, 12)),
        ("a b c -> a 1 b c", {}, X[:, None]),
        ("a b c -> a b c", {}, X),
    ],
)
def test_axes_go_where_the_pattern_says(pattern: str, sizes: dict[str, int], expected: np.ndarray[Any, Any]) -> None:
    np.testing.assert_array_equal(ops.rearrange(X, pattern, **sizes), expected)


def test_an_axis_of_one_is_left_out() -> None:
    assert ops.rearrange(X[None], "1 a b c -> a b c").shape == X.shape
    with pytest.raises(ShapeError, match="axis 0 of x"):
        ops.rearrange(X, "1 b c -> b c")


@pytest.mark.parametrize(
    ("pattern", "sizes", "reason"),
    [
        ("a b c", {}, "one ->"),
        ("a b c -> a b", {}, "c must stand once on each side"),
        ("a b c -> a b c d", {}, "d must stand once on each side"),
        ("a b c -> a b c c", {}, "c must stand once on each side"),
        ("a b c -> a b (c", {}, "is no axis"),
        ("a (b ...) -> a b ...", {}, "in no group"),
        ("a ... -> a", {}, "... must stand once on each side"),
        ("a b c -> c a b", {"d": 2}, "it has no d"),
    ],
)
def test_a_pattern_that_means_nothing_is_refused(pattern: str, sizes: dict[str, int], reason: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        ops.rearrange(X, pattern, **sizes)
    assert reason in caught.value.reason


@pytest.mark.parametrize(
    ("pattern", "sizes", "reason"),
    [
        ("a b -> b a", {}, "x has 3 axes"),
        ("a (b p) c -> a b p c", {"p": 2}, "3 is not to be split as b=? x p=2"),
        ("a (b p) c -> a b p c", {}, "b=? x p=?"),
        ("a b c -> c b a", {"c": 5}, "4 is not to be split as c=5"),
    ],
)
def test_sizes_that_do_not_fit_are_told(pattern: str, sizes: dict[str, int], reason: str) -> None:
    with pytest.raises(ShapeError) as caught:
        ops.rearrange(X, pattern, **sizes)
    assert reason in caught.value.reason


def test_a_size_is_a_whole_number() -> None:
    with pytest.raises(ArgumentTypeError, match=r"p = 1\.5"):
        ops.rearrange(X, "a b (c p) -> a b c p", p=1.5)  # type: ignore[arg-type]
