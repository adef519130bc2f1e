"""Sizes of exported arrays as people write them: numbers, names that are free, and expressions of these."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from graftax.backend.exporting import Size
from graftax.core.errors import ArgumentError

_FUNCTIONS = ("max", "min", "floordiv", "mod")
_OPERATORS = (ast.Add, ast.Sub, ast.Mult)
_COMPARISONS = (">=", "<=", "==")


def parse(size: str | int, source: str) -> Size:
    """Return a size as a number if it is one, else as text without blanks.

    Args:
        size: The number or the expression.
        source: What the user wrote, for messages.

    Raises:
        ArgumentError: it is no size.
    """
    if isinstance(size, int) and not isinstance(size, bool):
        if size < 0:
            raise ArgumentError(f"{source}: the size {size}", "sizes are not below 0", _INSTEAD)
        return size
    text = str(size).strip()
    if text.isdigit():
        return int(text)
    names_in(text, source)
    return text.replace(" ", "")


def names_in(text: str, source: str) -> list[str]:
    """Return the names in an expression, in order, each once.

    Raises:
        ArgumentError: it is no expression of names and integers.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        raise _no_size(text, source) from None
    found: dict[str, None] = {}
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATORS):
            waiting += [node.right, node.left]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
            if len(node.args) != 2 or node.keywords:
                raise _no_size(text, source)
            waiting += node.args[::-1]
        elif isinstance(node, ast.Name) and node.id not in _FUNCTIONS:
            found[node.id] = None
        elif not (isinstance(node, ast.Constant) and type(node.value) is int):
            raise _no_size(text, source)
    return list(found)


def check_constraints(constraints: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return constraints that compare expressions of these names.

    Raises:
        ArgumentError: one is something else, or has a name that no input has.
    """
    for one in constraints:
        said = f"constraints={list(constraints)!r}"
        sign = next((sign for sign in _COMPARISONS if isinstance(one, str) and sign in one), None)
        if sign is None:
            raise ArgumentError(said, "a constraint compares two sizes with >=, <= or ==", 'constraints=["t >= 2"]')
        used = [name for side in one.split(sign) for name in names_in(side, said)]
        unknown = [name for name in used if name not in names]
        if unknown or not used:
            raise ArgumentError(
                f"{said}, {one!r} among them",
                f"no size of the inputs is called {', '.join(unknown)}" if unknown else "it has no name of a size",
                f"names of the inputs: {', '.join(names) or 'none is free'}",
            )
    return tuple(constraints)


_INSTEAD = 'Spec("batch 8"), with a name for a size that is free; Spec("batch 2*time"); Spec("") for a number'


def _no_size(text: str, source: str) -> ArgumentError:
    return ArgumentError(
        f"{source}: the size {text!r}",
        "a size is a number, a name, or an expression of these with +, -, *, max, min, floordiv and mod, no blanks",
        _INSTEAD,
    )
