"""Checks of compiled functions: traced once, late inputs, one for each cell, what is written, failed calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax.backend.testing.check import Kit, raises, rows
from graftax.core.errors import CompileError

X = np.array([1.0, 2.0], "float32")


class _Cell:
    """State, as a tracer sees it."""

    def __init__(self, buffer: object) -> None:
        self.buffer = buffer


def _check_compiled(kit: Kit) -> None:
    compiling, numpy = kit.backend.compiling, kit.backend.arrays.numpy
    calls: list[bool] = []

    def function(x: Any) -> Any:
        calls.append(kit.backend.arrays.is_concrete(x))
        return numpy.sum(x * 2), x + 1

    run = compiling.compiled(function)
    for values in (X, X + 5):
        total, more = run(kit.array(values))
        kit.close(total, (values * 2).sum(), "a compiled function")
        kit.close(more, values + 1, "a compiled function")
    assert calls == [False], f"compiled runs a function once for arguments of one kind, with traced values: {calls}"


def _check_late_inputs(kit: Kit) -> None:
    shared = kit.array([1.0, 1.0])
    one, other, constant = _Cell(shared), _Cell(shared), kit.array([10.0, 10.0])
    calls: list[int] = []

    def function(lift: Any, leaves: list[Any]) -> Any:
        calls.append(1)
        a, b = lift.read(one), lift.read(other)
        return [a * 100 + b + leaves[0] + constant], [(one, a + 1)]

    program = kit.backend.compiling.trace(function, [kit.array(X)])
    assert calls == [1], f"trace ran the function {len(calls)} times, not once"
    assert list(program.donated) == [one], "donated has the cells that are read and written"
    assert list(program.read_only) == [other], "read_only has each cell that is only read"
    assert list(program.written) == [one]
    for a, b, x in ((1.0, 1.0, X), (2.0, 7.0, X + 3)):
        result, new = program.run([kit.array([a, a])], [kit.array([b, b])], [kit.array(x)])
        kit.close(result, (a * 100 + b + x + 10).astype("float32"), "a result")
        kit.close(new, np.array([a + 1, a + 1], "float32"), "what is written")
    result, new = program.run_donating([kit.array([3.0, 3.0])], [kit.array([0.0, 0.0])], [kit.array(X)])
    kit.close(result, 300 + X + 10, "a result of a run that gives buffers away")
    kit.close(new, np.array([4, 4], "float32"), "what such a run writes")
    kit.close(one.buffer, np.array([1, 1], "float32"), "the buffer, which only the caller changes")


def _check_inside_of_a_trace(kit: Kit) -> None:
    compiling = kit.backend.compiling
    outside = compiling.level()
    seen: list[Any] = []

    def function(lift: object, leaves: list[Any]) -> Any:
        (x,) = leaves
        seen.append(
            (compiling.is_tracer(x), compiling.staged_within(outside), compiling.eager(), compiling.leaks(x, outside))
        )
        with kit.backend.arrays.eager():
            kit.close(kit.array(X) + 1, X + 1, "computed at once while a function is traced")
        return [x], []

    compiling.trace(function, [kit.array(X)])
    assert seen == [(True, True, False, True)], f"is_tracer, staged_within, eager, leaks in a trace: {seen[0]}"
    assert compiling.level() is outside, "the level after a trace is not the one before"
    assert compiling.eager()


def _check_failures(kit: Kit) -> None:
    compiling = kit.backend.compiling
    outside = compiling.level()

    def fails(lift: object, leaves: list[Any]) -> Any:
        raise KeyError("a mistake of the user")

    def decides(lift: object, leaves: list[Any]) -> Any:
        return [leaves[0] if bool(leaves[0][0] > 0) else -leaves[0]], []

    with raises(KeyError):
        compiling.trace(fails, [kit.array(X)])
    with raises(CompileError):
        compiling.trace(decides, [kit.array(X)])
    assert compiling.level() is outside, "a trace that failed left its level behind"


def _check_several_in_a_row(kit: Kit) -> None:
    cells = [_Cell(kit.array([1.0, 2.0])), _Cell(kit.array([3.0]))]

    def function(lift: Any, leaves: list[Any]) -> Any:
        values = [lift.read(cell) for cell in cells]
        lift.groups.append(cells)
        return [], [(cell, value * 2) for cell, value in zip(cells, values, strict=True)]

    program = kit.backend.compiling.trace(function, [])
    buffers = []
    for place in program.donated_packed:
        several: Any = place if isinstance(place, list | tuple) else [place]
        buffers.append(kit.backend.arrays.join([one.buffer for one in several]))
    found = program.run_donating(buffers, [], [])
    for place, value in zip(program.written_packed, found, strict=True):
        several = place if isinstance(place, list | tuple) else [place]
        expected = np.concatenate(
            [np.array([2, 4], "float32") if one is cells[0] else np.array([6], "float32") for one in several]
        )
        kit.close(value, expected, "what cells in a group become")


def _check_gradients_of_programs(kit: Kit) -> None:
    if not kit.backend.has("gradients"):
        return
    numpy = kit.backend.arrays.numpy
    program = kit.backend.compiling.trace(lambda lift, leaves: ([numpy.sum(leaves[0] ** 3)], []), [kit.array(X)])
    found = kit.backend.gradients.value_and_grad(lambda x: (program.run([], [], [x])[0], None))(kit.array(X))[1]
    kit.close(found, 3 * X**2, "the gradient of a program")


def _check_kinds(kit: Kit) -> None:
    kind = kit.backend.compiling.kind
    one = kind(kit.array(X))
    assert kind(kit.array(X + 5)) == one, "arrays of one shape and dtype are of one kind"
    assert kind(kit.array(X[:1])) != one, "arrays of two shapes are not"
    assert kind(kit.array(X.astype("int32"))) != one, "nor are those of two dtypes"


CHECKS = rows(
    "compiling",
    compiled=_check_compiled,
    kinds=_check_kinds,
    late_inputs=_check_late_inputs,
    inside_of_a_trace=_check_inside_of_a_trace,
    failures=_check_failures,
    several_in_a_row=_check_several_in_a_row,
    gradients_of_programs=_check_gradients_of_programs,
)
