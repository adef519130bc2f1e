"""Checks of loops, branches and calls of Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax.backend.testing.check import Kit, raises, rows

X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "float32")


def _check_branches(kit: Kit) -> None:
    flow, x = kit.backend.control_flow, kit.array(X)
    for flag, expected in ((True, X + 1), (False, X * 2)):
        kit.close(flow.cond(kit.array(flag), lambda x: x + 1, lambda x: x * 2, x), expected, f"cond of {flag}")
    functions = [lambda x: x, lambda x: x * 10, lambda x: -x]
    for index, expected in ((0, X), (1, X * 10), (2, -X), (7, -X), (-3, X)):
        kit.close(flow.switch(kit.array(index), functions, x), expected, f"switch of {index}")


def _check_loops(kit: Kit) -> None:
    flow = kit.backend.control_flow
    last = flow.while_loop(lambda n: n < 100, lambda n: n * 3, kit.array(1), lambda: ValueError("backwards"))
    kit.close(last, np.array(243, "int32"), "while_loop")
    never = flow.while_loop(lambda n: n < 0, lambda n: n * 3, kit.array(1), lambda: ValueError("backwards"))
    kit.close(never, np.array(1, "int32"), "while_loop whose condition never holds")
    for reverse in (False, True):
        carry, stacked = flow.scan(
            lambda c, x: (c * 2 + x[0], {"c": c, "x": x}), kit.array(0.0), kit.array(X), 3, reverse
        )
        c, seen = np.float32(0), {}
        for i in (2, 1, 0) if reverse else (0, 1, 2):
            seen[i] = c
            c = c * 2 + X[i, 0]
        kit.close(carry, c, f"the carry of scan, reverse={reverse}")
        kit.close(
            stacked["c"], np.array([seen[i] for i in range(3)], "float32"), f"the rows of scan, reverse={reverse}"
        )
        kit.close(stacked["x"], X, f"the rows of scan, reverse={reverse}")
    carry, _ = flow.scan(lambda c, _: (c + 1, ()), kit.array(0), None, 4, False)
    kit.close(carry, np.array(4, "int32"), "scan over nothing")


def _check_staged(kit: Kit) -> None:
    flow, numpy = kit.backend.control_flow, kit.backend.arrays.numpy
    calls: list[int] = []
    closed = kit.array([10.0, 20.0])

    def function(lift: object, leaves: list[Any]) -> list[Any]:
        calls.append(1)
        return [leaves[0] * 2 + closed, numpy.sum(leaves[0])]

    program, constants = flow.stage(function, [kit.array(X[0])])
    assert calls == [1], f"stage ran the function {len(calls)} times, not once"
    assert [tuple(one.shape) for one in program.results] == [(2,), ()]
    for x in (X[0], X[1]):
        double, total = program.run(constants, [], [kit.array(x)])
        kit.close(double, x * 2 + np.array([10, 20], "float32"), "a program that was staged")
        kit.close(total, x.sum(), "a program that was staged")
    (total,) = program.only([1]).run(constants, [], [kit.array(X[0])])
    kit.close(total, X[0].sum(), "one of its results")
    again, _ = flow.stage(function, [kit.array(X[0])])
    other, _ = flow.stage(lambda lift, leaves: [leaves[0] * 3 + closed, numpy.sum(leaves[0])], [kit.array(X[0])])
    assert program.key is None or program.key == again.key, "programs that do the same have different keys"
    assert program.key is None or program.key != other.key, "programs that do different things have one key"
    assert program.may_equal(again), "a program may be equal to one that does the same"
    assert not program.may_equal(other), "a program is known to differ from one that does something else"


def _check_derivatives(kit: Kit) -> None:
    if not kit.backend.has("gradients"):
        return
    flow, gradients, numpy = kit.backend.control_flow, kit.backend.gradients, kit.backend.arrays.numpy

    def slope(function: Any) -> Any:
        return gradients.value_and_grad(lambda x: (function(x), None))(kit.array(2.0))[1]

    kit.close(slope(lambda x: flow.cond(x > 1, lambda x: x * x, lambda x: x, x)), np.array(4, "float32"), "of cond")
    power = slope(lambda x: flow.scan(lambda c, _: (c * x, ()), x, None, 3, False)[0])
    kit.close(power, np.array(32, "float32"), "of scan")
    for policy in (None, "dots", "dots_without_batch"):
        found = slope(flow.remat(lambda x: numpy.sum(x * x * x), policy))
        kit.close(found, np.array(12, "float32"), f"of remat, policy {policy}")
    forwards = gradients.jvp(
        lambda x: flow.while_loop(lambda n: n < 10, lambda n: n * n, x, lambda: ValueError("no")),
        (kit.array(2.0),),
        (kit.array(1.0),),
    )[1]
    kit.close(forwards, np.array(32, "float32"), "of while_loop, forwards")  # n ** 4 at 2
    with raises(ArithmeticError):
        slope(lambda x: flow.while_loop(lambda n: n < 10, lambda n: n * n, x, lambda: ArithmeticError("backwards")))


def _check_calls_of_python(kit: Kit) -> None:
    callbacks = kit.backend.callbacks
    seen: list[Any] = []

    def function(x: object) -> list[Any]:
        seen.append(kit.host(x).tolist())
        return [kit.array(kit.host(x) * 2)]

    def differentiate(function: object, count: int) -> Any:
        return lambda *values: [values[0] * 2]

    def call(x: object) -> Any:
        return callbacks.callback(function, differentiate, lambda: [x], [x])[0]

    kit.close(call(kit.array([1.0, 2.0])), np.array([2, 4], "float32"), "a callback in eager code")
    heard: list[float] = []
    callbacks.effect(lambda x: heard.append(float(x)), [kit.array(3.0)])
    callbacks.settle()
    assert heard == [3.0], "an effect in eager code"
    if kit.backend.has("compiling"):
        run = kit.backend.compiling.compiled(lambda x: call(x) + 1)
        for value in (1.0, 5.0):
            kit.close(run(kit.array([value])), np.array([value * 2 + 1], "float32"), "a callback in a program")
        assert seen[-2:] == [[1.0], [5.0]], "a program calls Python each time it runs"


CHECKS = [
    *rows(
        "control_flow",
        branches=_check_branches,
        loops=_check_loops,
        staged=_check_staged,
        derivatives=_check_derivatives,
    ),
    *rows("callbacks", calls_of_Python=_check_calls_of_python),
]
