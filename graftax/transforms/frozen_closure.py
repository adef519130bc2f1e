"""A function with the free variables that it has now: what is assigned to them later does not reach it."""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from types import CellType, CodeType, FunctionType
from typing import Any

_ASSIGNING = ("STORE_DEREF", "DELETE_DEREF")


def frozen_closure(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with what its free variables hold now, as traced Python has it.

    So have the functions that they hold, those that it wraps, and that of a `functools.partial`. Variables that one of
    all these assigns itself (``nonlocal``), and those that hold nothing yet, stay shared with what is around it.

    Example:
        >>> def scaling(k):
        ...     scale = frozen_closure(lambda x: k * x)
        ...     k = 3
        ...     return scale(1)
        >>> scaling(2)
        2
    """
    found = list(_functions_in(fn, set()))
    shared = {id(cell) for one in found for cell in _assigned_cells(one)}
    return _Now(shared).copy_of(fn)  # type: ignore[no-any-return]


def _functions_in(value: object, seen: set[int]) -> Iterator[FunctionType]:
    """Yield the functions with free variables that a value is made of."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, partial):
        for one in (value.func, *value.args, *value.keywords.values()):
            yield from _functions_in(one, seen)
    elif isinstance(value, FunctionType) and value.__closure__:
        yield value
        for cell in value.__closure__:
            if not _is_empty(cell):
                yield from _functions_in(cell.cell_contents, seen)


class _Now:
    """Copies of functions, each made once: two that share a variable share it still, and one may call itself.

    Args:
        shared: The cells that stay as they are, by their ids.
    """

    def __init__(self, shared: set[int]) -> None:
        self._shared = shared
        self._cells: dict[int, CellType] = {}
        self._functions: dict[int, FunctionType] = {}

    def copy_of(self, value: Any) -> Any:
        """Return a function, or what is made of some, with copies of the variables; anything else as it is."""
        if type(value) is partial:
            keywords = {name: self.copy_of(one) for name, one in value.keywords.items()}
            return partial(self.copy_of(value.func), *map(self.copy_of, value.args), **keywords)
        if not isinstance(value, FunctionType) or not value.__closure__:
            return value
        if id(value) not in self._functions:
            cells = tuple(map(self._cell, value.__closure__))
            made = FunctionType(value.__code__, value.__globals__, value.__name__, value.__defaults__, cells)
            self._functions[id(value)] = made
            made.__dict__.update(value.__dict__)
            made.__kwdefaults__ = value.__kwdefaults__
            made.__qualname__, made.__doc__, made.__module__ = value.__qualname__, value.__doc__, value.__module__
            made.__annotations__ = value.__annotations__
            for cell, copy in zip(value.__closure__, cells, strict=True):  # last, since one may hold the function
                if copy is not cell and _is_empty(copy):
                    copy.cell_contents = self.copy_of(cell.cell_contents)
        return self._functions[id(value)]

    def _cell(self, cell: CellType) -> CellType:
        if id(cell) in self._shared or _is_empty(cell):
            return cell
        return self._cells.setdefault(id(cell), CellType())


def _assigned_cells(fn: FunctionType) -> list[CellType]:
    """Return the cells of the free variables that a function, or one inside of it, assigns."""
    assigned = _assigned_names(fn.__code__)
    cells = zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)
    return [cell for name, cell in cells if name in assigned]


@lru_cache(maxsize=1024)
def _assigned_names(code: CodeType) -> frozenset[str]:
    """Return the free variables that some code, or code inside of it, assigns."""
    steps = dis.get_instructions(code)
    found = {one.argval for one in steps if one.opname in _ASSIGNING}
    inner = [_assigned_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return frozenset(code.co_freevars).intersection(found.union(*inner))


def _is_empty(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return True
    return False
