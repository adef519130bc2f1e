"""A function with the free variables that it has now: what is assigned to them later does not reach it."""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType
from typing import Any

from graftax.core.wrapping import carry_names

_ASSIGNING = ("STORE_DEREF", "DELETE_DEREF")


def frozen_closure(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with what its free variables hold now, as traced Python has it.

    Those that it assigns itself (``nonlocal``), and those that hold nothing yet, stay shared with what is around it.

    Example:
        >>> def scaling(k):
        ...     scale = frozen_closure(lambda x: k * x)
        ...     k = 3
        ...     return scale(1)
        >>> scaling(2)
        2
    """
    if not isinstance(fn, FunctionType) or not fn.__closure__:
        return fn
    assigned = set(_assigned(fn.__code__))
    cells = tuple(
        cell if name in assigned else _copied(cell)
        for name, cell in zip(fn.__code__.co_freevars, fn.__closure__, strict=True)
    )
    found = FunctionType(fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__, cells)
    found.__kwdefaults__ = fn.__kwdefaults__
    found = carry_names(found, fn)
    del found.__wrapped__  # type: ignore[attr-defined]  # it is the function, and nothing around it
    return found


def _assigned(code: CodeType) -> Iterator[str]:
    """Return the free variables that some code, or code inside of it, assigns."""
    for one in dis.get_instructions(code):
        if one.opname in _ASSIGNING and one.argval in code.co_freevars:
            yield one.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from (name for name in _assigned(constant) if name in code.co_freevars)


def _copied(cell: CellType) -> CellType:
    try:
        return CellType(cell.cell_contents)
    except ValueError:  # it holds nothing yet
        return cell
