"""What transforms are given: every option is used as it says, or refused before anything runs."""

from collections.abc import Callable
from typing import Any

import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentError, ArgumentTypeError, CompileError, DTypeError, GradientError, GraftaxError

X = ops.asarray([1.0, 2.0])


def accumulated(tangents: Any, primals: Any = X, unconnected: Any = "none") -> Any:
    with gx.ForwardAccumulator(primals, tangents) as accumulator:
        y = ops.sum(X * X)
    return accumulator.jvp(y, unconnected)


W = gx.Variable(2.0, name="w")


class Box(gx.Module):
    def __init__(self) -> None:
        self.w = gx.Variable(1.0)


class Square(Box):
    def __call__(self, x: Any) -> Any:
        return x * x * self.w


def square(x: Any) -> Any:
    return x * x


def taped(verb: str, **options: Any) -> Any:
    x = ops.ones((2, 3))
    with gx.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    return getattr(tape, verb)(y, x, **options)


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
    (ArgumentTypeError, "custom_gradient got 3", lambda: gx.custom_gradient(3)),  # type: ignore[arg-type]
    (ArgumentTypeError, "grad_pass_through got 3", lambda: gx.grad_pass_through(3)),  # type: ignore[arg-type]
    (ArgumentTypeError, "recompute_grad got 3", lambda: gx.recompute_grad(3)),  # type: ignore[arg-type]
    (ArgumentTypeError, "remat got 3", lambda: gx.remat(3)),  # type: ignore[arg-type]
    (ArgumentTypeError, "gradients_function got", lambda: gx.gradients_function(X)),  # type: ignore[arg-type]
    (ArgumentTypeError, "implicit_value_and_gradients got", lambda: gx.implicit_gradients(X)),  # type: ignore[arg-type]
    (ArgumentTypeError, "jvp got 3", lambda: gx.jvp(3, (X,), (X,))),  # type: ignore[arg-type]
    (ArgumentTypeError, "jacobian got 3", lambda: gx.jacobian(3, X)),  # type: ignore[arg-type]
    (ArgumentTypeError, "hessian got 3", lambda: gx.hessian(3, X)),  # type: ignore[arg-type]
    (ArgumentTypeError, "batch_jacobian got 3", lambda: gx.batch_jacobian(3, X)),  # type: ignore[arg-type]
    (ArgumentTypeError, "gradcheck got 3", lambda: gx.gradcheck(3, [X])),  # type: ignore[arg-type]
    (ArgumentTypeError, "vectorized_map got 3", lambda: gx.vectorized_map(3, X)),  # type: ignore[arg-type]
    (ArgumentTypeError, "map_fn got 3", lambda: gx.map_fn(3, X)),  # type: ignore[arg-type]
    (ArgumentTypeError, "scan got 3", lambda: gx.scan(3, 0.0, X)),  # type: ignore[arg-type]
    (ArgumentTypeError, "cond got 3", lambda: gx.cond(True, lambda: 1, 3)),  # type: ignore[arg-type]
    (ArgumentTypeError, "switch got 3", lambda: gx.switch(0, [lambda: 1, 3])),  # type: ignore[list-item]
    (ArgumentTypeError, "branches of type dict", lambda: gx.switch(1, {1: ops.sum})),  # type: ignore[arg-type]
    (ArgumentTypeError, "while_loop got 3", lambda: gx.while_loop(3, lambda n: n, 0)),  # type: ignore[arg-type]
    (ArgumentTypeError, "py_function got 3", lambda: gx.py_function(3, [X])),  # type: ignore[arg-type]
    (ArgumentTypeError, "device got 3", lambda: gx.device(3).__enter__()),  # type: ignore[arg-type]
    (ArgumentTypeError, "message 3", lambda: gx.check_numerics(X, 3)),  # type: ignore[arg-type]
    (ArgumentTypeError, "state got a list of 1 modules", lambda: gx.state([Box()])),  # type: ignore[arg-type]
    (ArgumentTypeError, "functional_call got <function", lambda: gx.functional_call(square, {})),  # type: ignore[arg-type]
    (ArgumentTypeError, "Box, which has no __call__", lambda: gx.functional_call(Box(), {"w": 1.0})),
    (ArgumentTypeError, "a state of type list", lambda: gx.functional_call(Square(), [X], X)),  # type: ignore[arg-type]
    (ArgumentTypeError, "2.0 of type float", lambda: gx.ForwardAccumulator([2.0], [1.0])),
    (ArgumentError, "'w' twice", lambda: gx.jvp(lambda a, b: a * b, (W, W), (1.0, 0.0))),
    (ArgumentError, "'w' twice", lambda: gx.ForwardAccumulator([W, W], [1.0, 0.0])),
    (DTypeError, "a tangent of jvp", lambda: gx.jvp(ops.sum, (X,), (X * ops.asarray(1j),))),
    (DTypeError, "a tangent of ForwardAccumulator", lambda: accumulated(X * ops.asarray(1j))),
    (DTypeError, "dy of", lambda: gx.gradients_function(square)(X, dy=X * ops.asarray(1j))),
    (DTypeError, "output_gradients", lambda: taped("gradient", output_gradients=ops.asarray(1j))),
    (ArgumentError, "jacobian got chunk_size=0", lambda: taped("jacobian", chunk_size=0)),
    (ArgumentError, "batch_jacobian got chunk_size=0", lambda: taped("batch_jacobian", chunk_size=0)),
    (ArgumentError, "the argument True", lambda: gx.gradients_function(lambda a, b: a * b, params=True)(2.0, 3.0)),
    (ArgumentError, "dy=", lambda: gx.gradients_function(lambda x, dy: x * dy)(2.0, dy=3.0)),
    (GradientError, "without a positional argument", lambda: gx.grad(square)(x=X)),
    (ArgumentError, "step=0", lambda: gx.gradcheck(square, [X], step=0)),
    (ArgumentError, "step='1'", lambda: gx.gradcheck(square, [X], step="1")),  # type: ignore[arg-type]
    (ArgumentError, "rtol=-1", lambda: gx.gradcheck(square, [X], rtol=-1)),
    (ArgumentError, "atol=nan", lambda: gx.gradcheck(square, [X], atol=float("nan"))),
    (ArgumentError, "the complex args/1", lambda: gx.gradcheck(lambda x, z: x, [X, 1j])),
    (ArgumentTypeError, "3 of type int in output=", lambda: gx.py_function(ops.sin, [X], output=3)),
]


@pytest.mark.parametrize(
    ("kind", "text", "call"), REFUSED, ids=[f"{i} {text}" for i, (_, text, _) in enumerate(REFUSED)]
)
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


@pytest.mark.broad
def test_a_gradient_that_is_wrong_in_an_imaginary_part_is_found() -> None:
    wrong = gx.custom_gradient(lambda x: (2 * x, lambda dy: 3 * dy))
    with pytest.raises(GradientError, match="differences of values say"):
        gx.gradcheck(lambda x: (x, wrong(x) * ops.asarray(1j)), [2.0])
    assert gx.gradcheck(lambda x: x * x * ops.asarray(1j), [2.0]).error < 1
