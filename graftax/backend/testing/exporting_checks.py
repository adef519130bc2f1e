"""Checks of exporting: sizes that are free, and programs as bytes."""

from __future__ import annotations

from typing import Any

from graftax.backend.testing.check import Kit, raises, rows
from graftax.core.errors import ExportError
from graftax.core.free_sizes import is_free


class _Cell:
    """State, as a tracer sees it."""

    def __init__(self, buffer: object) -> None:
        self.buffer = buffer


def _check_free_sizes(kit: Kit) -> None:
    exporting = kit.backend.exporting
    x, y = exporting.free_inputs([(("batch", 3), "float32"), (("2*batch",), "int32")], ["batch >= 2"])
    assert exporting.sizes_of(x) == ("batch", 3), f"sizes_of(x) is {exporting.sizes_of(x)}"
    assert exporting.sizes_of(y) == ("2*batch",), f"sizes_of(y) is {exporting.sizes_of(y)}"
    assert is_free(x.shape[0]), "a free size is not known to graftax.core.free_sizes"
    assert y.shape[0] == 2 * x.shape[0], "one name is two sizes"
    assert tuple(exporting.outline((2, 3), "float32").shape) == (2, 3)
    with raises(ExportError):
        exporting.free_inputs([(("batch",), "float32")], ["batch is large"])


def _check_programs(kit: Kit) -> None:
    exporting, numpy = kit.backend.exporting, kit.backend.arrays.numpy
    cell = _Cell(kit.array([1.0, 2.0, 3.0]))

    def function(lift: Any, leaves: list[Any]) -> Any:
        value = lift.read(cell)
        return [numpy.sum(leaves[0] * value, axis=1)], [(cell, value + 1)]

    leaves = exporting.free_inputs([(("batch", 3), "float32")], [])
    program = kit.backend.compiling.trace(function, leaves)
    for platforms in (("cpu",), ("cpu", "cuda")):
        written = exporting.export(program, leaves, 1, platforms, 0)
        assert [(tuple(one.shape), one.dtype) for one in written.results] == [(("batch",), "float32")]
        assert written.program, "the bytes of a program are empty"
        assert written.portable, "the portable bytes of a program are empty"
        assert __file__.encode() not in written.program + written.portable, "the lines of the source are in the bytes"


def _check_decisions(kit: Kit) -> None:
    leaves = kit.backend.exporting.free_inputs([(("batch",), "float32")], [])

    def decides(lift: object, leaves: list[Any]) -> Any:
        return [leaves[0] if leaves[0].shape[0] > 4 else -leaves[0]], []

    with raises(ExportError):
        kit.backend.compiling.trace(decides, leaves)


CHECKS = rows("exporting", free_sizes=_check_free_sizes, programs=_check_programs, decisions=_check_decisions)
