"""What transforms are given: every option is used as it says, or refused before anything runs."""

from collections.abc import Callable
from typing import Any

import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentError, ArgumentTypeError, CompileError, GradientError, GraftaxError

X = ops.asarray([1.0, 2.0])


def accumulated(tangents: Any, primals: Any = X, unconnected: Any = "none") -> Any:
    with gx.ForwardAccumulator(primals, tangents) as accumulator:
        y = ops.sum(X * X)
    return accumulator.jvp(y, unconnected)


REFUSED: list[tuple[type[GraftaxError], str, Callable[[], Any]]] = [
    (GradientError, "an array of shape (2,)", lambda: gx.value_and_grad(lambda x: x * 2, has_aux=True)(X)),
    (GradientError, "an array of shape ()", lambda: gx.grad(ops.sum, has_aux=True)(X)),
    (GradientError, "a tuple of 3", lambda: gx.grad(lambda x: (ops.sum(x), 1, 2), has_aux=True)(X)),
    (GradientError, "a dict of 2", lambda: gx.grad(lambda x: {"loss": ops.sum(x), "aux": 1}, has_aux=True)(X)),
    (GradientError, "a tuple of 2", lambda: gx.grad(lambda x: (ops.sum(x), {"aux": 1}))(X)),
    (ArgumentTypeError, "has_aux='yes'", lambda: gx.grad(ops.sum, has_aux="yes")),  # type: ignore[arg-type]
    (ArgumentError, "leaves ['b']", lambda: accumulated({"b": X}, {"a": X})),
    (ArgumentError, "leaves ['0']", lambda: accumulated([X], {"a": X})),
    (ArgumentError, "unconnected_gradients='zeros'", lambda: accumulated(X, X, "zeros")),
    (ArgumentError, "max_retraces='3'", lambda: gx.jit(ops.sum, max_retraces="3")),  # type: ignore[call-overload]
    (ArgumentError, "max_retraces=-1", lambda: gx.jit(ops.sum, max_retraces=-1)),
    (ArgumentError, "max_retraces=True", lambda: gx.jit(ops.sum, max_retraces=True)),
    (ArgumentTypeError, "checked='yes'", lambda: gx.jit(ops.sum, checked="yes")),  # type: ignore[call-overload]
    (ArgumentTypeError, "allow_callback='no'", lambda: gx.jit(ops.sum, allow_callback="no")),  # type: ignore[call-overload]
    (CompileError, "jit got 3", lambda: gx.jit(max_retraces=1)(3)),  # type: ignore[arg-type]
    (ArgumentTypeError, "reverse='no'", lambda: gx.scan(lambda c, x: (c, x), 0.0, X, reverse="no")),  # type: ignore[arg-type]
    (ArgumentTypeError, "persistent='yes'", lambda: gx.GradientTape("yes")),  # type: ignore[arg-type]
    (ArgumentTypeError, "check='yes'", lambda: gx.batch_jacobian(ops.sin, ops.ones((3, 2)), check="yes")),  # type: ignore[arg-type]
    (ArgumentTypeError, "template got 3", lambda: gx.template(3)),  # type: ignore[arg-type]
    (ArgumentTypeError, "3 of type int in output=", lambda: gx.py_function(ops.sin, [X], output=3)),
]


@pytest.mark.parametrize(("kind", "text", "call"), REFUSED, ids=[text for _, text, _ in REFUSED])
def test_what_cannot_be_used_is_refused_in_three_beats(
    kind: type[GraftaxError], text: str, call: Callable[[], Any]
) -> None:
    with pytest.raises(kind) as raised:
        call()
    assert text in raised.value.received
    assert raised.value.reason


def test_a_tangent_of_integers_is_one_of_numbers() -> None:
    assert float(accumulated(ops.asarray([1, 0]))) == 2.0


def test_the_rest_of_a_pair_may_come_in_a_list() -> None:
    gradient, aux = gx.grad(lambda x: [ops.sum(x), {"seen": x}], has_aux=True)(X)
    assert gradient.tolist() == [1.0, 1.0]
    assert aux["seen"].tolist() == [1.0, 2.0]
