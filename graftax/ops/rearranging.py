"""Axes split, ordered and merged by a pattern, written once over the NumPy namespace of any backend."""

from __future__ import annotations

import math
import re
from typing import Any

from graftax.backend.protocol import Arrays
from graftax.core.errors import ArgumentError, ShapeError
from graftax.core.typedefs import Array
from graftax.ops.functions import row

_GROUP = re.compile(r"\(([^()]*)\)|(\S+)")
_NAME = re.compile(r"[A-Za-z_]\w*|\.\.\.|1")
Side = list[list[str]]
"""The axes of one side, each as the names of its parts; none for an axis of 1."""


@row
def rearrange(a: Arrays, x: Array, pattern: str, sizes: tuple[tuple[str, int], ...]) -> Any:
    left, right = _sides(pattern, x)
    names = [name for group in left for name in group]
    known = _infer_sizes(x, pattern, left, dict(sizes))
    parts = a.numpy.reshape(x, tuple(known[name] for name in names))
    ordered = a.numpy.transpose(parts, tuple(names.index(name) for group in right for name in group))
    return a.numpy.reshape(ordered, tuple(math.prod(known[name] for name in group) for group in right))


def _pattern_error(pattern: str, reason: str) -> ArgumentError:
    return ArgumentError(f"rearrange: {pattern!r}", reason, "such as ops.rearrange(x, 'b (h p) c -> b h (p c)', p=2)")


def _sides(pattern: str, x: Array) -> tuple[Side, Side]:
    """Return both sides, with a name for each axis that ... stands for."""
    written = [_parse(pattern, side) for side in pattern.split("->")]
    if len(written) != 2:
        raise _pattern_error(
            pattern, "a pattern has one ->, with the axes of x before it and those of the result after it"
        )
    if any("..." in group and group != ["..."] for group in written[0]):
        raise _pattern_error(pattern, "before the ->, ... stands for whole axes, in no group")
    several = ["..."] in written[0]
    rest = [f"...{i}" for i in range(x.ndim - len(written[0]) + 1)] if several else []
    left, right = ([part for group in side for part in _spread(group, rest)] for side in written)
    if len(left) != x.ndim:
        raise ShapeError(
            f"rearrange: x {list(x.shape)}, {pattern!r}",
            f"x has {x.ndim} axes, and the pattern names {len(left)}",
            "one name or group for each axis, or ... for several",
        )
    names = [[name for group in side for name in group if name != "1"] for side in written]
    for name in dict.fromkeys([*names[0], *names[1]]):
        if names[0].count(name) != 1 or names[1].count(name) != 1:
            raise _pattern_error(pattern, f"{name} must stand once on each side of the ->")
    return left, right


def _parse(pattern: str, side: str) -> Side:
    """Return the groups as written; one in ( ) ends with a 1, which changes nothing and tells (...) from ... alone."""
    found = [[match[2]] if match[2] else [*match[1].split(), "1"] for match in _GROUP.finditer(side)]
    for name in (name for group in found for name in group):
        if not _NAME.fullmatch(name):
            raise _pattern_error(pattern, f"{name!r} is no axis: a name, 1, ..., or several in ( )")
    return found


def _spread(group: list[str], rest: list[str]) -> Side:
    if group == ["..."]:
        return [[name] for name in rest]
    return [[one for name in group for one in (rest if name == "..." else [] if name == "1" else [name])]]


def _infer_sizes(x: Array, pattern: str, left: Side, sizes: dict[str, int]) -> dict[str, int]:
    """Return the size of every name: given, or what is left of its axis."""
    if unused := [name for name in sizes if not any(name in group for group in left)]:
        raise _pattern_error(pattern, f"it has no {', '.join(unused)}")
    known = dict(sizes)
    for axis, group in enumerate(left):
        unknown = [name for name in group if name not in known]
        product = math.prod(known[name] for name in group if name in known)
        if len(unknown) == 1 and product and x.shape[axis] % product == 0:
            known[unknown[0]] = x.shape[axis] // product
        elif unknown or product != x.shape[axis]:
            shown = " x ".join(f"{name}={known.get(name, '?')}" for name in group) or "1"
            raise ShapeError(
                f"rearrange: axis {axis} of x {list(x.shape)}, {pattern!r}",
                f"{x.shape[axis]} is not to be split as {shown}",
                f"{unknown[0]}=..., a size that divides it" if unknown else "sizes whose product it is",
            )
    return known
