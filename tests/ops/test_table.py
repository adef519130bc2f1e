"""The table says everything about an op: kinds of parameters, never their names; and its function has a source."""

import inspect
import linecache
import traceback
from functools import partial
from typing import Any

import numpy as np
import pytest

from graftax import ops
from graftax.backend.registry import use
from graftax.core.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError
from graftax.ops import checks
from graftax.ops.dispatch import build
from graftax.ops.functions import FUNCTIONS, import_function
from graftax.ops.parameter_kinds import KINDS
from graftax.ops.signatures import Op, parameters
from graftax.ops.table import OPS, SECTIONS, read_rows
from tests.architecture.rules import files_below, read_package


def made(monkeypatch: pytest.MonkeyPatch, signature: str, weak: bool = True) -> object:
    """An op of that signature which gives back what its function got."""
    op = Op("echo", signature, "Array", "What came.", "functions", False, weak)
    monkeypatch.setitem(FUNCTIONS, "echo", lambda arrays, *args, **options: (*args, *options.values()))
    return build(op)


@pytest.mark.parametrize("name", OPS)
def test_a_debugger_finds_the_source_of_every_op(name: str) -> None:
    function = getattr(ops, name)
    text = inspect.getsource(function)
    assert text.startswith(f"def {name.rpartition('.')[2]}(")
    assert "return target(" in text
    linecache.checkcache()  # as traceback does before it shows lines
    assert inspect.getsource(function) == text


def test_a_traceback_shows_the_lines_of_an_op() -> None:
    with use("numpy"), pytest.raises(ShapeError) as caught:
        ops.matmul(np.ones((2, 3), "float32"), np.ones((2, 3), "float32"))
    frames = [one for one in traceback.extract_tb(caught.tb) if one.filename == "<graftax.ops.matmul>"]
    assert [one.line for one in frames if one.line and one.line.startswith("return explain(")]


@pytest.mark.parametrize("names", [("x", "y", "axis"), ("axis", "mask", "x"), ("padding", "shape", "dtype")])
def test_names_of_parameters_mean_nothing(names: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = names
    function = made(monkeypatch, f"{first}, {second}: Operand | None = None, {third}: Axis = 0")
    rows = np.ones((2, 3), "float32")
    with use("numpy"):
        got = function(rows)  # type: ignore[operator]
        assert got[0] is rows
        assert got[1:] == (None, 0)
        assert function(rows, 2.0, -1)[1:] == (2.0, -1)  # type: ignore[operator]
        with pytest.raises(DTypeError, match=f"echo: {first} float32.*{second} int32"):
            function(rows, np.ones(3, "int32"))  # type: ignore[operator]
        with pytest.raises(ArgumentTypeError, match=f"{third} = 1.5"):
            function(rows, None, 1.5)  # type: ignore[operator]
        with pytest.raises(ShapeError, match="axis = 0 of an array with 0 axes"):
            function(np.ones((), "float32"))  # type: ignore[operator]


@pytest.mark.parametrize(
    ("kind", "good", "wrong", "error"),
    [
        ("Count", 0, -1, ArgumentError),
        ("Size", 1, 0, ArgumentError),
        ("Sizes", (2, 1), [2, 0], ArgumentError),
        ("NewShape", (-1, 2), [-2], ArgumentError),
        ("Borders", ((0, 1), (1, 0)), [[0, -1]], ArgumentError),
        ("NotNegative", 0.5, -0.5, ArgumentError),
        ("Reals", (0.5, 1.0), ["0.5"], ArgumentTypeError),
        ("Number", 3, True, ArgumentTypeError),
        ("Constant", True, "1", ArgumentTypeError),
        ("Flag", True, 1, ArgumentTypeError),
        ("Side", "left", "up", ArgumentError),
        ("Text", "up", 1, ArgumentTypeError),
        ("Ints", (1, -1), [[1]], ArgumentTypeError),
    ],
)
def test_a_kind_says_what_a_setting_may_be(
    kind: str, good: object, wrong: object, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    function = made(monkeypatch, f"x, anything: {kind}")
    with use("numpy"):
        assert function(np.ones(2, "float32"), good)[1] == good  # type: ignore[operator]
        with pytest.raises(error, match="anything"):
            function(np.ones(2, "float32"), wrong)  # type: ignore[operator]


def test_a_row_with_an_unknown_kind_is_refused_by_name() -> None:
    with pytest.raises(SyntaxError, match="echo: size: Sise"):
        parameters(Op("echo", "x, size: Sise", "Array", "What came.", "functions", True, False))


def test_a_line_that_is_no_row_is_refused() -> None:
    with pytest.raises(SyntaxError, match="not a row of the table of ops: twice the value"):
        read_rows("double(x): 2 * x.\ntwice the value", "functions", True, False)


def test_every_kind_is_used_and_every_function_and_check_has_a_row() -> None:
    used = {id(one.kind) for op in OPS.values() for one in parameters(op)}
    assert [name for name, kind in KINDS.items() if id(kind) not in used] == []
    assert sum(len(read_rows(*section)) for section in SECTIONS) == len(OPS), "a name is there twice"
    composed = {name for name, op in OPS.items() if import_function(op)}
    assert set(FUNCTIONS) == composed
    assert set(checks.CHECKS) <= set(OPS)


@pytest.mark.broad
def test_importing_the_file_that_a_row_names_brings_the_function_and_the_checks() -> None:
    """Else an op would depend on which other op was used before it."""
    package = read_package()
    for name, op in OPS.items():
        home = f"graftax.ops.{op.home}"
        imported = {home, *files_below(home, package)}
        assert {*map(defining_file, (import_function(op), checks.CHECKS.get(name)))} <= {*imported, None}, name


def defining_file(function: Any) -> str | None:
    while isinstance(function, partial):
        function = function.func
    return function and function.__module__


def test_arrays_that_may_be_left_out_need_no_preparation() -> None:
    assert "mask is None or" in inspect.getsource(ops.dot_product_attention)
