"""Checks of levels, nested containers, and functions of rows."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from graftax.backend.axis_origins import AxisQuestion
from graftax.backend.testing.check import Kit, raises, rows

X = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]], "float32")
_Pair = namedtuple("_Pair", "left right")


def _check_containers(kit: Kit) -> None:
    tracing = kit.backend.tracing
    tree = {"b": [1, (2, None)], "a": _Pair(3, {"z": 4, "c": 5}), "e": ()}
    leaves, structure = tracing.flatten(tree)
    assert leaves == [1, 2, 3, 4, 5], f"leaves in the order in which dicts were written, not {leaves}"
    other = tracing.unflatten(structure, ["v", "w", "x", "y", "z"])
    assert other == {"b": ["v", ("w", None)], "a": _Pair("x", {"z": "y", "c": "z"}), "e": ()}, (
        f"unflatten gives {other}"
    )
    assert type(other["a"]) is _Pair
    same = tracing.flatten({"b": [7, (8, None)], "a": _Pair(9, {"z": 0, "c": 1}), "e": ()})[1]
    assert structure == same, "structures of the same containers differ"
    assert hash(structure) == hash(same), "structures that are equal have different hashes"
    assert structure != tracing.flatten([1, 2, 3, 4, 5])[1], "structures of other containers are equal"
    x = kit.array(X)
    assert tracing.flatten(x)[0][0] is x, "an array is a leaf, and stays itself"
    ways = [way for way, _ in tracing.flatten_with_ways({"w": [1, _Pair(2, 3)]})[0]]
    assert ways == [("['w']", "[0]"), ("['w']", "[1]", ".left"), ("['w']", "[1]", ".right")], f"ways are {ways}"


def _check_memory(kit: Kit) -> None:
    source = np.ones(20_000, "float32")
    (leaf,), _ = kit.backend.tracing.flatten(source)
    source[:] = 7
    assert (np.asarray(leaf) == 1).all(), "flatten has to copy arrays of NumPy: their owner may write there"


def _check_eager_code(kit: Kit) -> None:
    tracing = kit.backend.tracing
    assert tracing.level() is tracing.level(), "the level of eager code is another object each time"
    assert tracing.eager()
    assert not tracing.staged_within(None)
    assert not tracing.is_tracer(kit.array(X))
    assert not tracing.is_tracer(X)
    assert not tracing.leaks(kit.array(X), tracing.level())
    with tracing.at(tracing.level()), tracing.named("a part"):
        kit.close(kit.array(X) + 1, X + 1, "computed at the level of eager code")


def _check_shapes(kit: Kit) -> None:
    tracing, arrays = kit.backend.tracing, kit.backend.arrays
    seen: list[bool] = []

    def function(x: Any) -> Any:
        seen.append(arrays.is_concrete(x))
        return {"sum": arrays.numpy.sum(x, axis=0), "half": x.astype("float16")}

    found = tracing.eval_shape(function, kit.array(X))
    assert seen == [False], "eval_shape runs the function once, with arrays that have no values"
    assert (tuple(found["sum"].shape), str(found["sum"].dtype)) == ((3,), "float32")
    assert (tuple(found["half"].shape), str(found["half"].dtype)) == ((2, 3), "float16")


def _check_axis_origins(kit: Kit) -> None:
    numpy, seen = kit.backend.arrays.numpy, []

    def function(given: list[Any]) -> AxisQuestion:
        x = given[0]
        seen.append(kit.backend.arrays.is_concrete(x))
        ended = x * 2
        asked = [x, x + 1, numpy.sum(x, axis=0), x[:, 0], numpy.ones((2, 3)), ended, ended + 1, ended + x]
        return AxisQuestion([(x, 2)], [ended], asked)

    found = kit.backend.tracing.axis_origins(function, [kit.array(X)])
    assert seen == [False], "axis_origins runs the function once, with arrays that have no values"
    has = [origin is not None for origin in found]
    assert has == [True, True, False, False, False, False, False, True], f"axis_origins finds {has}"
    named = [(origin.mark, bool(origin.op)) for origin in found[:2] if origin is not None]
    assert named == [(0, False), (0, True)], f"axis_origins names {found[:2]}"


def _checks_at_once(kit: Kit) -> None:
    tracing = kit.backend.tracing
    tracing.note_check(lambda value: ValueError(f"bad {value}"), kit.array(False), [kit.array(1.0)])
    with raises(ValueError):
        tracing.note_check(lambda value: ValueError(f"bad {value}"), kit.array(True), [kit.array(1.0)])


def _check_map_rows(kit: Kit) -> None:
    vectorizing, numpy = kit.backend.vectorizing, kit.backend.arrays.numpy
    expected = np.stack([row * row.sum() for row in X])
    for size in (None, 1, 2):
        found = vectorizing.map_rows(lambda row: row * numpy.sum(row), kit.array(X), size)
        kit.close(found, expected, f"map_rows in chunks of {size}")
    found = vectorizing.map_rows(lambda one: {"s": one["x"] + one["y"]}, {"x": kit.array(X), "y": kit.array(X[:, 0])})
    kit.close(found["s"], X + X[:, :1], "map_rows of nested containers")
    kit.close(vectorizing.map_rows(lambda row: kit.array(1.0), kit.array(X)), np.ones(2, "float32"), "a constant")


def _check_levels_of_rows(kit: Kit) -> None:
    vectorizing, outside = kit.backend.vectorizing, kit.backend.vectorizing.level()
    seen: list[Any] = []

    def row(x: object) -> Any:
        seen.append((vectorizing.is_tracer(x), kit.backend.arrays.is_concrete(x), vectorizing.leaks(x, outside)))
        return x

    vectorizing.map_rows(row, kit.array(X))
    assert seen[0] == (True, False, True), f"a row is traced, has no values and leaks outside: {seen[0]}"
    assert vectorizing.level() is outside, "the level after map_rows is not the one before"


def _check_named_axes(kit: Kit) -> None:
    vectorizing = kit.backend.vectorizing
    seen: list[Any] = []

    def row(x: Any) -> Any:
        seen.append(vectorizing.named_axes())
        return vectorizing.sum_over_axes(x, ())

    found = vectorizing.map_rows(row, kit.array(X))
    assert (seen[0], vectorizing.named_axes()) == ((), ()), "nobody has given the axis of map_rows a name"
    kit.close(found, X, "sum_over_axes without an axis")


CHECKS = [
    *rows(
        "tracing",
        containers=_check_containers,
        memory=_check_memory,
        eager_code=_check_eager_code,
        shapes=_check_shapes,
        axis_origins=_check_axis_origins,
        checks_at_once=_checks_at_once,
    ),
    *rows("vectorizing", map_rows=_check_map_rows, levels=_check_levels_of_rows, named_axes=_check_named_axes),
]
